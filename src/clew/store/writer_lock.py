"""The writer lock of an index, and marks on the versions that this machine's processes read: kernel locks on files.

The kernel releases a lock with its process; the text in the writer's file is for messages. Compaction keeps marked
versions.
"""

import json
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from clew.errors import IndexLockedError, InputError
from clew.store.error_mapping import map_errors
from clew.store.location import Location, locate

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = 1 << 30  # Windows locks bytes, not files: one beyond the text leaves the text readable
PINS_FOLDER = "pins"
_pins: "weakref.WeakKeyDictionary[object, weakref.finalize[..., object]]" = weakref.WeakKeyDictionary()


@contextmanager
def writer_lock(location: str | Path | Location) -> Iterator[None]:
    """Hold an index's writer lock during the block, creating its folder; IndexLockedError: it is held already.

    A place where no folder can be made is an InputError.
    """
    location = locate(location)
    with map_errors(location.name, "locking"):
        try:
            location.lock.parent.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError as error:  # a file system without folders of users, such as /proc
            raise InputError(
                f"no folder can be made at {location.lock.parent} ({error.strerror}): choose a place on a disk"
            ) from error
        descriptor = os.open(location.lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not try_lock(descriptor):
            message = f"{location.name} is being written by {_describe_holder(location.lock)}"
            raise IndexLockedError(f"{message}: wait until it has finished, then run the same command again")
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        _write_holder(descriptor, {"pid": os.getpid(), "since": since})
        try:
            yield
        finally:
            _write_holder(descriptor, None)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this descriptor without waiting; return False when another descriptor holds it."""
    if sys.platform == "win32":
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_holder(descriptor: int, holder: dict[str, object] | None) -> None:
    with suppress(OSError):  # a full disk: the lock holds without the text
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        if holder is not None:
            os.write(descriptor, json.dumps(holder).encode())


def _describe_holder(lock: Path) -> str:
    try:
        holder = json.loads(lock.read_text())
        return f"process {holder['pid']}, since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"  # it has the lock but has not yet written its id


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
