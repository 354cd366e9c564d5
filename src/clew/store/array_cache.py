"""Large arrays that are costly to make, kept beside an index: mapped when whole, made again when not.

They lie in a folder of each version of the index; those of older versions go, so a disk does not fill.
"""

from collections.abc import Callable
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.store.atomic import atomic_folder, discard, remove_leftovers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ARRAY_FILE, _CHECKSUM_FILE = "array.npy", "checksum"


def load_or_compute(folder: Path, compute: "Callable[[], NDArray[Any]]") -> "NDArray[Any]":
    """Return the array of a folder, mapped into memory; it is made when the folder is absent or damaged.

    Args:
        folder: Its name and its parent's, which is that of the version, stand for everything the array depends on.
            Versions beside the parent, but the newest, are dropped.
        compute: Makes the array.

    Raises:
        ProviderError: The disk refused.
    """
    if not _is_intact(folder):
        array = compute()
        with atomic_folder(folder) as temporary:
            np.save(temporary / _ARRAY_FILE, array, allow_pickle=False)
            (temporary / _CHECKSUM_FILE).write_text(_checksum(temporary / _ARRAY_FILE), encoding="ascii")
        versions = sorted(
            folder.parent.parent.glob("[0-9a-z]*"), key=lambda other: (other.stat().st_mtime_ns, other.name)
        )
        for version in versions[:-2]:
            if version != folder.parent:
                discard(version)
        for place in (folder.parent, folder.parent.parent):
            remove_leftovers(place)  # what killed runs left
    return np.asarray(np.load(folder / _ARRAY_FILE, mmap_mode="r", allow_pickle=False))


def _is_intact(folder: Path) -> bool:
    try:
        return (folder / _CHECKSUM_FILE).read_text(encoding="ascii") == _checksum(folder / _ARRAY_FILE)
    except (OSError, ValueError):
        return False


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, lambda: blake2b(digest_size=16)).hexdigest()
