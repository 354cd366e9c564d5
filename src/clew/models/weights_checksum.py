"""A weights file is what its SHA-256 says; a file checked once is remembered."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import ProviderError

if TYPE_CHECKING:
    from hashlib import blake2b


def hash_weights(digest: "blake2b", state: Mapping[str, Any]) -> None:
    """Let a hash run over tensors as they lie in memory, so that the way their files were written does not count.

    Args:
        digest: Any hash.
        state: Tensors of PyTorch by name.
    """
    import torch

    for name, tensor in sorted(state.items()):
        values = tensor.detach().contiguous().flatten()
        digest.update(f"{name} {values.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(values.cpu().view(torch.uint8).numpy())


def check_weights(path: Path, sha256: str, cache: Path | None = None) -> None:
    """Refuse a weights file that is not the published one.

    Hashing 90 MB takes up to a second, so a file that passed is remembered by its place, size and time of change.

    Args:
        path: The file.
        sha256: Its SHA-256 in hexadecimal.
        cache: Folder in which passed files are remembered; by default one in the user's cache folder. A folder that
            cannot be written costs time, not correctness.

    Raises:
        ProviderError: The file cannot be read, or its hash is another.
    """
    try:
        status = path.stat()
        identity = f"{path.resolve()}\n{status.st_size}\n{status.st_mtime_ns}\n{sha256}\n"
        note = (cache or user_cache()) / f"weights-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
        if _read_note(note) == identity:
            return
        with path.open("rb") as file:
            seen = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ProviderError(f"cannot read the weights {path}: {error}; reinstall the model") from error
    if seen != sha256:
        raise ProviderError(
            f"the weights {path} have SHA-256 {seen}; wanted {sha256}; the file is damaged or another model's: "
            "reinstall it"
        )
    _write_note(note, identity)


def user_cache() -> Path:
    """Return the folder in which Clew may keep what it can make again, by the platform's custom."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "clew"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "clew"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clew"


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
