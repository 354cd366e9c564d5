"""The log of turns that no version of the index has yet, and of removals that are under way: one JSON line each.

A line is `["CHECKSUM", RECORD]`. It is acknowledged when it is flushed to disk; a last line that a killed process did
not finish is dropped. After a merge the log is replaced by one rename. One object holds a log, by a kernel lock.
"""

import json
import logging
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

from clew.errors import IndexFormatError, IndexLockedError, ProviderError
from clew.store.atomic import atomic_file, flush_folder, remove_leftovers
from clew.store.writer_lock import try_lock

LOG_FILE, LOCK_FILE = "memory.jsonl", "memory.lock"
Record = dict[str, Any]
_logger = logging.getLogger(__name__)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


@final
class TurnLog:
    """The log in the folder of an index.

    Attributes:
        records: What the log held when it was opened.

    Raises:
        IndexLockedError: Another object holds it, in this process or another one.
        IndexFormatError: A line before the last is damaged.
        ProviderError: The disk failed.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG_FILE
        with ExitStack() as opened:
            try:
                self._lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
                opened.callback(os.close, self._lock)
                if not try_lock(self._lock):
                    raise IndexLockedError(
                        f"{folder} is open as a memory already: close that one, or ask it, as by the server that has it"
                    )
                remove_leftovers(folder)
                self.records, self._length = self._read()
                self._open()
                flush_folder(folder, below=False)
            except OSError as error:
                raise ProviderError(
                    f"{self._path} cannot be opened ({error}): check the disk and its rights"
                ) from error
            opened.pop_all()

    def append(self, record: Record) -> None:
        """Write a record, and return when it is on disk; a ProviderError if it is not, and the log is as before."""
        line = _to_line(record)
        try:
            if os.fstat(self._descriptor).st_size != self._length:  # a write failed before, and so did its undoing
                os.ftruncate(self._descriptor, self._length)
            _write(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._length)
            raise ProviderError(
                f"{self._path} could not be written ({error}), and nothing was stored: free some space, then try again"
            ) from error
        self._length += len(line)

    def replace(self, records: Sequence[Record]) -> None:
        """Put other records in the place of all; if the process is killed, all are the old ones or the new ones."""
        data = b"".join(map(_to_line, records))
        os.close(self._descriptor)  # Windows replaces no file that is open
        try:
            with atomic_file(self._path) as temporary:
                temporary.write_bytes(data)
                temporary.chmod(0o600)
            self._length = len(data)
        finally:
            self._open()

    def close(self) -> None:
        """Let the log go, so that it can be opened again."""
        os.close(self._descriptor)
        os.close(self._lock)

    def _open(self) -> None:
        """Open the file to append; what stands behind its records goes."""
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_LINK, 0o600)
        if os.fstat(self._descriptor).st_size > self._length:
            os.ftruncate(self._descriptor, self._length)
            os.fsync(self._descriptor)

    def _read(self) -> tuple[list[Record], int]:
        """Return the records, and the number of bytes that they take."""
        data = self._path.read_bytes() if self._path.exists() else b""
        records: list[Record] = []
        length = 0
        for number, line in enumerate(data.splitlines(keepends=True), 1):
            record = _parse_line(line)
            if record is None:
                if length + len(line) < len(data):
                    raise IndexFormatError(
                        f"line {number} of {self._path} is damaged: remove the line, or restore the file from a backup"
                    )
                _logger.warning("the last line of %s was not finished, and is dropped", self._path)
                break
            records.append(record)
            length += len(line)
        return records, length


def _to_line(record: Record) -> bytes:
    text = json.dumps(record)
    return f"[{json.dumps(_checksum(text))}, {text}]\n".encode("ascii")


def _parse_line(line: bytes) -> Record | None:
    """Return the record of a line, None where it is not as it was written."""
    try:
        checksum, record = json.loads(line)
    except ValueError:
        return None
    if not line.endswith(b"\n") or not isinstance(record, dict) or checksum != _checksum(json.dumps(record)):
        return None
    return record


def _checksum(text: str) -> str:
    return blake2b(text.encode("ascii"), digest_size=8).hexdigest()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
