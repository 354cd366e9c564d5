"""Disk cache of large arrays that are slow to compute; each index version has a folder of its own."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays.mapped_files import map_array
from clew.errors import ProviderError
from clew.store.atomic import (
    atomic_folder,
    discard_older,
    file_hash,
    file_stamp,
    read_note,
    remove_leftovers,
    write_note,
)
from clew.store.error_mapping import is_unwritable

_logger = logging.getLogger(__name__)
_ARRAY_FILE, _CHECKSUM_FILE, _CHECKED_FILE = "array.npy", "checksum", "checked.json"


def load_or_compute(folder: Path, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return a folder's array (...,), memory-mapped; compute and store it when absent or damaged.

    Where the place is full or may not be written it stays in memory; another failure to write is a
    ProviderError. The folder `.../VERSION/NAME` names all that the array depends on; of other versions only the newest
    stays. A file is hashed once, and again when its size or time of modification has changed; `array_problems` always
    hashes.
    """
    if not _is_intact(folder):
        array = compute()
        try:
            _store(folder, array)
        except ProviderError as error:
            if not is_unwritable(error):
                raise
            _logger.info("%s is computed in each process: %s", folder, error)
            return array
        discard_older(folder.parent, "[0-9a-z]*")
        for parent in (folder.parent, folder.parent.parent):
            remove_leftovers(parent)
    return map_array(folder / _ARRAY_FILE)


def _store(folder: Path, array: NDArray[Any]) -> None:
    with atomic_folder(folder, replace=lambda other: not _is_intact(other)) as temporary:
        np.save(temporary / _ARRAY_FILE, array, allow_pickle=False)
        (temporary / _CHECKSUM_FILE).write_text(file_hash(temporary / _ARRAY_FILE), encoding="ascii")
        write_note(temporary / _CHECKED_FILE, file_stamp(temporary / _ARRAY_FILE))


def array_problems(version: Path) -> list[str]:
    """Return a line for each array of a version, `.../VERSION`, that is not as it was written; every file is hashed."""
    folders = sorted(path.parent for path in version.glob(f"[!.]*/{_ARRAY_FILE}"))
    damaged = [folder for folder in folders if not _has_checksum(folder)]
    return [f"arrays/{version.name}/{folder.name} is not as it was written: run `clew repair`" for folder in damaged]


def _is_intact(folder: Path) -> bool:
    stamp = file_stamp(folder / _ARRAY_FILE)
    if stamp is not None and read_note(folder / _CHECKED_FILE) == stamp:
        return True
    if not _has_checksum(folder):
        return False
    write_note(folder / _CHECKED_FILE, stamp)
    return True


def _has_checksum(folder: Path) -> bool:
    try:
        return (folder / _CHECKSUM_FILE).read_text(encoding="ascii") == file_hash(folder / _ARRAY_FILE)
    except (OSError, ValueError):
        return False
