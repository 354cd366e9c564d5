"""Marks on the versions that this machine's processes read, which compaction keeps: shared kernel locks on files."""

import os
import sys
import weakref
from pathlib import Path

from clew.store.writer_lock import try_lock

if sys.platform != "win32":
    import fcntl

PINS_FOLDER = "pins"
_pins: "weakref.WeakKeyDictionary[object, weakref.finalize[..., object]]" = weakref.WeakKeyDictionary()


def pin(derived: Path, version: int, holder: object) -> None:
    """Mark a version as being read until `holder` pins another one, is collected, or the process ends.

    Nothing is marked where no file can be created (a read-only disk): compaction is impossible there too. Windows needs
    no mark, since it does not delete open files.
    """
    if sys.platform == "win32":
        return
    if release_previous := _pins.pop(holder, None):
        release_previous()
    try:
        (derived / PINS_FOLDER).mkdir(parents=True, exist_ok=True)
        descriptor = os.open(derived / PINS_FOLDER / str(version), os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # a compaction is checking the file, or the file system has no locks
        os.close(descriptor)
        return
    _pins[holder] = weakref.finalize(holder, os.close, descriptor)


def pinned_versions(derived: Path) -> set[int]:
    """Return the versions that objects on this machine are reading; unused marks are removed."""
    pinned: set[int] = set()
    for path in sorted((derived / PINS_FOLDER).glob("[0-9]*")):
        descriptor = os.open(path, os.O_RDWR)
        try:
            if try_lock(descriptor):
                path.unlink()
            else:
                pinned.add(int(path.name))
        finally:
            os.close(descriptor)
    return pinned
