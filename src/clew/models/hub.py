"""Weights on the hub and on the disk: where they are, and whether they are the published ones."""

import hashlib
import importlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from clew.errors import InputError, ProviderError
from clew.plugins.folders import cache_folder

TIMEOUT_SECONDS = 10.0


@contextmanager
def hidden_loading_bars() -> Iterator[None]:
    """Hide the bars that transformers draws while it reads weights; those of downloads stay."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    bars = importlib.import_module("transformers.utils.logging")
    if not bars.is_progress_bar_enabled():
        yield
        return
    were_disabled = are_progress_bars_disabled()
    bars.disable_progress_bar()  # which hides those of downloads, too
    if not were_disabled:
        enable_progress_bars()
    try:
        yield
    finally:
        bars.enable_progress_bar()
        if were_disabled:
            disable_progress_bars()


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
        if any(is_cached(one, revision) for one in names) or constants.HF_HUB_OFFLINE:
            return
        for one in names:
            try:
                HfApi().model_info(one, revision=revision, timeout=TIMEOUT_SECONDS)
            except RepositoryNotFoundError:
                continue
            return
    except HFValidationError as error:
        raise InputError(f"no {kind} can be called {name!r}; {wanted}: {advice}") from error
    except RevisionNotFoundError as error:
        raise InputError(f"the {kind} {name!r} has no revision {revision!r} on the hub: give another one") from error
    except connection_errors() as error:
        raise ProviderError(
            f"the {kind} {name!r} is not a folder, and the hub cannot be reached ({str(error) or repr(error)}); "
            f"check the name and the network, or {advice}"
        ) from error
    raise InputError(f"no {kind} is called {name!r}; {wanted}: {advice}")


def is_cached(name: str, revision: str | None, file: str = "config.json") -> bool:
    """Return whether a file of a repository of the hub is in the local cache."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, file, revision=revision), str | os.PathLike)


def connection_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the hub's client: those of httpx, and from its second version on those of httpx2."""
    errors: list[type[Exception]] = [OSError]
    for module in ("httpx", "httpx2"):
        try:
            errors.append(importlib.import_module(module).HTTPError)
        except ImportError:
            continue
    return tuple(errors)


def hash_weights(digest: blake2b, state: Mapping[str, Any]) -> None:
    """Update a hash with PyTorch tensors by name, independently of the format of their files."""
    import torch

    for name, tensor in sorted(state.items()):
        values = tensor.detach().contiguous().flatten()
        digest.update(f"{name} {values.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(values.cpu().view(torch.uint8).numpy())


def check_weights(path: Path, sha256: str, cache: Path | None = None) -> None:
    """Raise a ProviderError unless a file of a model has the SHA-256 (in hexadecimal) of the published one.

    Hashing 90 MB takes up to a second, so a file that passed is remembered by its path, size and modification time in
    the folder `cache`, by default the user's; where that cannot be written, files are hashed again.
    """
    try:
        status = path.stat()
        identity = f"{path.resolve()}\n{status.st_size}\n{status.st_mtime_ns}\n{sha256}\n"
        note = (cache or cache_folder()) / f"weights-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
        if _read_note(note) == identity:
            return
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ProviderError(f"cannot read the model's file {path}: {error}; reinstall the model") from error
    if actual != sha256:
        raise ProviderError(
            f"the model's file {path} has SHA-256 {actual}; wanted {sha256}; the file is damaged or belongs to another "
            "model: reinstall it"
        )
    _write_note(note, identity)


def _read_note(note: Path) -> str:
    try:
        return note.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _write_note(note: Path, identity: str) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False, encoding="utf-8") as file:
            file.write(identity)
        Path(file.name).replace(note)
    except OSError:
        return  # the next run hashes again
