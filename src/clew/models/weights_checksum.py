"""SHA-256 checks of weights files, remembered between runs, and hashes of weights in memory."""

import hashlib
import tempfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from clew.errors import ProviderError
from clew.plugins.folders import cache_folder


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
