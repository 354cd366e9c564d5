"""The writer lock of an index, and marks on the versions that this machine's processes read: kernel locks on files.

The kernel releases a lock with its process; the text in the writer's file is for messages. Compaction keeps marked
versions.
"""

import errno
import json
import os
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from clew.errors import IndexLockedError, InputError
from clew.store.error_mapping import map_errors, to_clew_error
from clew.store.location import Location, locate

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = 1 << 30  # Windows locks bytes, not files: one beyond the text leaves the text readable
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
PINS_FOLDER = "pins"
_PIN_ATTEMPTS, _PIN_PAUSE_SECONDS = 20, 0.002
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_pins: "weakref.WeakKeyDictionary[object, weakref.finalize[..., object]]" = weakref.WeakKeyDictionary()


@contextmanager
def writer_lock(location: str | Path | Location) -> Iterator[None]:
    """Hold an index's writer lock during the block, creating its folder; IndexLockedError: it is held already.

    A place where no folder can be made, or an index with a symbolic link inside, is an InputError.
    """
    location = locate(location)
    location.check_links()
    with map_errors(location.name, "locking"):
        try:
            location.lock.parent.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError as error:  # a file system without folders of users, such as /proc
            raise InputError(
                f"no folder can be made at {location.lock.parent} ({error.strerror}): choose a place on a disk"
            ) from error
        descriptor = os.open(location.lock, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
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
    else:
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
    unpin(holder)
    mark = derived / PINS_FOLDER / str(version)
    for _ in range(_PIN_ATTEMPTS):
        try:
            mark.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(mark, os.O_RDONLY | os.O_CREAT | _NO_LINK, 0o644)
        except OSError as error:
            if error.errno in _NO_DESCRIPTORS:
                raise to_clew_error(error, str(derived.parent), "opening") from error
            return
        if _share(descriptor, mark):
            _pins[holder] = weakref.finalize(holder, os.close, descriptor)
            return
        os.close(descriptor)
        time.sleep(_PIN_PAUSE_SECONDS)  # a writer is just looking whether it is marked, or has removed the file


def unpin(holder: object) -> None:
    """Take back the mark of a holder, if it has one."""
    if release := _pins.pop(holder, None):
        release()


def _share(descriptor: int, mark: Path) -> bool:
    """Lock a mark that is open; return False where another process has it locked, or it was removed meanwhile."""
    if sys.platform == "win32":
        return False  # nothing is marked there
    else:  # noqa: RET505 - mypy looks for `fcntl` in the branch alone
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return os.fstat(descriptor).st_ino == mark.stat().st_ino
        except OSError:
            return False


def pinned_versions(derived: Path) -> set[int]:
    """Return the versions that objects on this machine are reading; unused marks are removed."""
    pinned: set[int] = set()
    for path in sorted((derived / PINS_FOLDER).glob("[0-9]*")):
        try:
            descriptor = os.open(path, os.O_RDWR | _NO_LINK)
        except FileNotFoundError:
            continue  # another process has removed it
        try:
            if try_lock(descriptor):
                path.unlink(missing_ok=True)
            else:
                pinned.add(int(path.name))
        finally:
            os.close(descriptor)
    return pinned
