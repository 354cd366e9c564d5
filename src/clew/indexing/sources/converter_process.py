"""A child process that converts files, so that one that hangs, or takes all memory, costs nothing but itself.

One child converts many files; where it dies, another takes its place for the next one.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import IO, final

from clew.errors import InputError, MissingPackageError
from clew.indexing.sources.contents import FileContents
from clew.indexing.sources.conversion import KINDS
from clew.plugins.extras import require_extra
from clew.text.counts import MEBIBYTE

_START_SECONDS = 60.0  # of a child, whose imports take a second or two
_SECONDS_PER_MEBIBYTE = 60.0
_WAIT_SHARE = 4.0  # of the seconds of a processor, on a machine that is busy


@final
class ConverterProcess:
    """Converts files in a child process, which is started with the first one; threads take turns."""

    def __init__(self, seconds: float = 60.0, memory: int = 2048 * MEBIBYTE, file_size: int = 512 * MEBIBYTE) -> None:
        self._seconds = seconds  # of a processor for a file of no size; four times as many may pass
        self._memory = memory  # bytes, on Linux
        self._file_size = file_size  # bytes
        self._lock = Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started the child: its pipes are not those of a fork
        self._lines: SimpleQueue[bytes] = SimpleQueue()

    def convert(self, suffix: str, data: bytes) -> list[FileContents]:
        """Return the contents of a file, those of each message for a mailbox.

        Raises InputError where it cannot be converted within the limits, MissingPackageError where a package is
        missing.
        """
        size = len(data) / MEBIBYTE
        if len(data) > self._file_size:
            raise InputError(f"the {suffix} file has {size:.0f} MiB, more than {self._file_size // MEBIBYTE}")
        seconds = self._seconds + size * _SECONDS_PER_MEBIBYTE
        with self._lock:
            reply = json.loads(self._exchange(suffix, data, seconds))
            if reply.get("ends"):
                self._end()
        if "missing" in reply:
            raise MissingPackageError(reply["missing"])
        if "failure" in reply:
            raise InputError(reply["failure"])
        return [FileContents.from_json(record) for record in reply["contents"]]

    def close(self) -> None:
        """End the child; the next file starts another."""
        with self._lock:
            self._end()

    def _exchange(self, suffix: str, data: bytes, seconds: float) -> bytes:
        header = {"suffix": suffix, "bytes": len(data), "seconds": seconds}
        wait = _START_SECONDS + _WAIT_SHARE * seconds
        try:
            self._send(json.dumps(header).encode() + b"\n" + data)
            line = self._lines.get(timeout=wait)
        except Empty:
            self._end()
            raise self._too_long(suffix, seconds) from None
        if line:
            return line
        code = self._end()
        if hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU:
            raise self._too_long(suffix, seconds)
        if code == -signal.SIGABRT:  # as pdfium ends where it gets no memory
            raise InputError(f"the {suffix} file needs too much memory to be read; leave it out")
        raise InputError(f"the {suffix} file ended the converter (code {code}); save it again or leave it out")

    def _too_long(self, suffix: str, seconds: float) -> InputError:
        return InputError(f"the {suffix} file takes more than {seconds:.0f} seconds to be read; leave it out")

    def _send(self, task: bytes) -> None:
        for is_last in (False, True):
            child = self._started_child()
            assert child.stdin is not None
            try:
                child.stdin.write(task)
                child.stdin.flush()
            except OSError:  # it was ended from outside since the last file, or ends on this one
                if is_last:
                    return
                self._end()
            else:
                return

    def _started_child(self) -> "subprocess.Popen[bytes]":
        if self._child is not None and self._owner == os.getpid():
            return self._child
        search_path = os.pathsep.join(entry for entry in sys.path if entry)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "clew.indexing.sources.conversion", str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": search_path},
        )
        self._owner, self._lines = os.getpid(), SimpleQueue()
        assert self._child.stdout is not None
        Thread(target=_forward, args=(self._child.stdout, self._lines), daemon=True).start()
        atexit.register(self.close)
        return self._child

    def _end(self) -> int:
        """End the child if there is one, and return its exit code: its own where it has ended by itself."""
        child, self._child = self._child, None
        if child is None or self._owner != os.getpid():
            return 0
        atexit.unregister(self.close)
        with suppress(subprocess.TimeoutExpired):
            child.wait(0.1)  # one that closed its output is just ending
        child.kill()
        code = child.wait()
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        return code


def _forward(output: IO[bytes], lines: "SimpleQueue[bytes]") -> None:
    """Put the lines of a child's output into a queue, and b"" at its end."""
    with suppress(OSError, ValueError):  # closed meanwhile
        while line := output.readline():
            lines.put(line)
    lines.put(b"")


CONVERTER = ConverterProcess()
"""The converter of this process."""


def convert_file(suffix: str, data: bytes) -> list[FileContents]:
    """Return the contents of a file's bytes, those of each message for a mailbox; at least one.

    Raises InputError where it cannot be read within the limits, MissingPackageError where a package for it is missing.
    """
    if not data:
        raise InputError("empty: the file holds no bytes")
    if KINDS[suffix].packages:
        require_extra(KINDS[suffix].packages, "files", f"reading {suffix} files")
    contents = CONVERTER.convert(suffix, data)
    if not any(part.text.strip() for part in contents):
        notes = "; ".join(note for part in contents for note in part.notes)
        raise InputError(f"empty: the file has no text{f' ({notes})' if notes else ''}; leave it out")
    return contents
