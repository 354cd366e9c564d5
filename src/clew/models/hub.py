"""Whether there is a model of some name, asked once before a library looks for its files again and again."""

import importlib
import os
from pathlib import Path

from clew.errors import InputError, ProviderError

_TIMEOUT_SECONDS = 10.0


def check_model(name: str, revision: str | None, kind: str, advice: str, owner: str = "") -> None:
    """Refuse what is neither a folder nor a model of the hub, as far as that can be told; loads nothing.

    A model that was fetched before is not asked for, nor is any while HF_HUB_OFFLINE is set.

    Args:
        name: A folder, or a name on the hub.
        revision: On the hub; None for its main branch.
        kind: What is wanted, as in "no KIND is called NAME".
        advice: What to do, to end a message with.
        owner: Whose model a name without an owner is, where there is one of that name.

    Raises:
        InputError: No model can have this name, or the hub has none.
        ProviderError: The hub cannot be reached.
    """
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    if name.strip() and Path(name).exists():
        return
    names = [f"{owner}/{name}", name] if owner and "/" not in name else [name]
    wanted = "wanted a folder or a name on the Hugging Face hub"
    try:
        if any(_is_cached(one, revision) for one in names) or constants.HF_HUB_OFFLINE:
            return
        for one in names:
            try:
                HfApi().model_info(one, revision=revision, timeout=_TIMEOUT_SECONDS)
            except RepositoryNotFoundError:
                continue
            return
    except HFValidationError as error:
        raise InputError(f"no {kind} can be called {name!r}; {wanted}: {advice}") from error
    except RevisionNotFoundError as error:
        raise InputError(f"the {kind} {name!r} has no revision {revision!r} on the hub: give one of its own") from error
    except _connection_errors() as error:
        raise ProviderError(
            f"the {kind} {name!r} is no folder, and the hub cannot be asked for it ({str(error) or repr(error)}); "
            f"check the name and the network, or {advice}"
        ) from error
    raise InputError(f"no {kind} is called {name!r}; {wanted}: {advice}")


def _is_cached(name: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json", revision=revision), str | os.PathLike)


def _connection_errors() -> tuple[type[Exception], ...]:
    """Return what the hub's client raises: its errors are those of httpx, and of httpx2 from its second version on."""
    found: list[type[Exception]] = [OSError]
    for module in ("httpx", "httpx2"):
        try:
            found.append(importlib.import_module(module).HTTPError)
        except ImportError:
            continue
    return tuple(found)
