"""Disk cache of large arrays that are slow to compute; each index version has a folder of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.store.atomic import atomic_folder, discard_older, file_hash, remove_leftovers

_ARRAY_FILE, _CHECKSUM_FILE = "array.npy", "checksum"


def load_or_compute(folder: Path, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return a folder's array, memory-mapped; compute and store it when absent or damaged, or raise a ProviderError.

    The folder `.../VERSION/NAME` names all that the array depends on; of other versions only the newest stays.
    """
    if not _is_intact(folder):
        array = compute()
        with atomic_folder(folder) as temporary:
            np.save(temporary / _ARRAY_FILE, array, allow_pickle=False)
            (temporary / _CHECKSUM_FILE).write_text(file_hash(temporary / _ARRAY_FILE), encoding="ascii")
        discard_older(folder.parent, "[0-9a-z]*")
        for parent in (folder.parent, folder.parent.parent):
            remove_leftovers(parent)
    return np.asarray(np.load(folder / _ARRAY_FILE, mmap_mode="r", allow_pickle=False))


def _is_intact(folder: Path) -> bool:
    try:
        return (folder / _CHECKSUM_FILE).read_text(encoding="ascii") == file_hash(folder / _ARRAY_FILE)
    except (OSError, ValueError):
        return False
