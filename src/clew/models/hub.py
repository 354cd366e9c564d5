"""Check that a model exists, with one request, before a library searches for its files with many."""

import importlib
import os
from pathlib import Path

from clew.errors import InputError, ProviderError

_TIMEOUT_SECONDS = 10.0


def check_model(name: str, revision: str | None, kind: str, advice: str, owner: str = "") -> None:
    """Raise an error unless the name is a folder or a model of the hub, where `owner` is tried first; loads nothing.

    The hub is not asked for a model in its local cache, nor while HF_HUB_OFFLINE is set. An unknown name is an
    InputError ("no KIND is called NAME", with the advice at the end), a hub that cannot be reached a ProviderError.
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
        raise InputError(f"the {kind} {name!r} has no revision {revision!r} on the hub: give another one") from error
    except _connection_errors() as error:
        raise ProviderError(
            f"the {kind} {name!r} is not a folder, and the hub cannot be reached ({str(error) or repr(error)}); "
            f"check the name and the network, or {advice}"
        ) from error
    raise InputError(f"no {kind} is called {name!r}; {wanted}: {advice}")


def _is_cached(name: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json", revision=revision), str | os.PathLike)


def _connection_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the hub's client: those of httpx, and from its second version on those of httpx2."""
    errors: list[type[Exception]] = [OSError]
    for module in ("httpx", "httpx2"):
        try:
            errors.append(importlib.import_module(module).HTTPError)
        except ImportError:
            continue
    return tuple(errors)
