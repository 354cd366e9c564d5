"""The writer lock of an index: a kernel lock on a file, released with its process; the file's text is for messages."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from clew.errors import IndexLockedError
from clew.store.error_mapping import map_errors
from clew.store.location import Location, locate

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = 1 << 30  # Windows locks bytes, not files: one beyond the text leaves the text readable


@contextmanager
def writer_lock(location: str | Path | Location) -> Iterator[None]:
    """Hold an index's writer lock during the block, creating its folder; IndexLockedError: it is held already."""
    location = locate(location)
    with map_errors(location.name, "locking"):
        location.lock.parent.mkdir(parents=True, exist_ok=True)
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
