"""Files of a repository of the Hugging Face hub, fetched into its local cache."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clew.errors import InputError, ProviderError
from clew.models.hub import TIMEOUT_SECONDS, connection_errors, is_cached
from clew.plugins.extras import import_package


def fetch_files(name: str, files: Sequence[str], kind: str) -> Path:
    """Return a folder with the files of a repository of the hub, `owner/name` or `owner/name@revision`.

    Files that are in the local cache are not fetched again. Raises InputError for a name without an owner, before the
    hub is asked, for one that the hub does not have, or that has not these files, MissingPackageError without
    huggingface_hub, and ProviderError where the hub cannot be reached.
    """
    hub = import_package("huggingface_hub", "huggingface_hub", f"a {kind} from the hub", "give a folder")
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repository, _, revision = name.partition("@")
    if not all(repository.partition("/")):
        raise InputError(
            f"the {kind} on the hub is called {name!r}; wanted OWNER/NAME: write hf:OWNER/NAME, or give a folder"
        )
    wanted = f"give a folder, or the name of a {kind} as hf:owner/name"
    try:
        with _without_warnings():
            are_cached = all(is_cached(repository, revision or None, file) for file in files)
            if not are_cached and not hub.constants.HF_HUB_OFFLINE:
                # One request, for a download repeats its own for half a minute where there is no network.
                hub.HfApi().model_info(repository, revision=revision or None, timeout=TIMEOUT_SECONDS)
            paths = [Path(hub.hf_hub_download(repository, file, revision=revision or None)) for file in files]
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise InputError(f"the hub has no {kind} called {name!r}: {wanted}") from error
    except RevisionNotFoundError as error:
        raise InputError(f"{repository!r} on the hub has no revision {revision!r}: {wanted}") from error
    except connection_errors() as error:
        reason = (str(error) or repr(error)).partition("\n")[0]
        message = f"the {kind} {name!r} is not in the local cache, and the hub cannot be reached ({reason})"
        raise ProviderError(f"{message}: check the network, or give a folder") from error
    except EntryNotFoundError as error:
        raise InputError(f"{name!r} on the hub lacks {' or '.join(files)}: {wanted}") from error
    return paths[0].parent


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide the warnings of the hub's library: what fails is raised as an error, of one line."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
