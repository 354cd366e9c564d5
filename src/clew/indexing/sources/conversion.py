"""Reading of one file after the other, of kinds that are no plain text, in a process that is limited and may die.

    python -m clew.indexing.sources.conversion MEMORY_BYTES

The process reads a line of JSON (`suffix`, `bytes`, `seconds`) and the bytes of a file, and answers with a line of
JSON: `contents`, a list of those of `FileContents.to_json`, or `failure`, or `missing` for a package that is not
installed; `ends` is true where it needs another process in its place. A file that takes more processor time than
`seconds` ends it, and another takes its place for the next one.
"""

import atexit
import io
import json
import os
import signal
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import IO, Any, NamedTuple, final

from clew.errors import InputError, MissingPackageError
from clew.indexing.sources.contents import FileContents
from clew.indexing.sources.plain_text import decode_bytes
from clew.plugins.extras import import_extra, require_extra
from clew.text.display import MEBIBYTE
from clew.types import Place, PlaceStart

_MAX_RATIO, _RATIO_FROM_BYTES = 200, 16 * MEBIBYTE  # a document of real tables packs to a fiftieth
_MAX_INFLATED_BYTES = 1024 * MEBIBYTE  # with pictures and films
_MAX_CHARACTERS = 64 * MEBIBYTE


_READERS = "clew.indexing.sources.readers"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"  # Office files before 2007, and newer ones that are encrypted
_OFFICE_PART = "[Content_Types].xml"
_PDF_BEGINNING = 1024  # bytes in which the mark of a PDF may stand
_MAX_ATTACHMENT_DEPTH = 3
# What parsers raise on bytes that are no file of their kind.
_FAULTS: tuple[type[Exception], ...] = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError, RuntimeError, SyntaxError),
    *(TypeError, ValueError, struct.error, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile),
)


class Kind(NamedTuple):
    """The reader of a kind of file, as the places of its function and of the exception that its library raises."""

    module: str
    function: str
    packages: tuple[str, ...] = ()  # what has to be installed
    error: str = ""  # module:class of an exception that is none of the usual ones
    reads_attachments: bool = False


KINDS = {
    ".pdf": Kind("pdf", "read_pdf", ("pypdfium2",)),
    ".docx": Kind("word", "read_word", ("docx",), "docx.exceptions:PythonDocxError"),
    ".pptx": Kind("slides", "read_slides", ("pptx",), "pptx.exc:PythonPptxError"),
    ".xlsx": Kind(
        "spreadsheet", "read_spreadsheet", ("openpyxl", "lxml"), "openpyxl.utils.exceptions:InvalidFileException"
    ),
    ".odt": Kind("open_document", "read_text_document", ("bs4", "lxml")),
    ".ods": Kind("open_document", "read_sheets", ("lxml",)),
    ".odp": Kind("open_document", "read_presentation", ("bs4", "lxml")),
    ".rtf": Kind("older", "read_rich_text", ("striprtf",)),
    ".doc": Kind(
        "older", "read_old_word", ("office_oxide", "striprtf", "bs4", "lxml"), "office_oxide:OfficeOxideError"
    ),
    ".html": Kind("web", "read_html", ("bs4", "lxml")),
    ".htm": Kind("web", "read_html", ("bs4", "lxml")),
    ".xhtml": Kind("web", "read_html", ("bs4", "lxml")),
    ".epub": Kind("epub", "read_epub", ("bs4", "lxml")),
    ".rst": Kind("rst", "read_restructured_text", ("docutils",), "docutils:ApplicationError"),
    ".eml": Kind("mail", "read_message", reads_attachments=True),
    ".mbox": Kind("mail", "read_mailbox", reads_attachments=True),
    ".ipynb": Kind("notebook", "read_notebook"),
}
"""The kinds of files that are read in the limited process, by suffix."""
_TEXT_ATTACHMENTS = frozenset({".txt", ".md", ".markdown", ".csv", ".tsv", ".json", ".log", ".xml", ".py", ".ics"})


def convert(suffix: str, data: bytes) -> list[FileContents]:
    """Return the contents of a file: one, but for a mailbox, which has one for each message.

    Raises InputError where it cannot be read, MissingPackageError where a package for it is missing, and MemoryError
    where it needs more memory than there is.
    """
    contents = _read(suffix, data, 1)
    if (size := sum(len(part.text) for part in contents)) > _MAX_CHARACTERS:
        raise InputError(f"the {suffix} file has {size} characters of text; split it, or leave it out")
    return contents


def _read(suffix: str, data: bytes, depth: int) -> list[FileContents]:
    kind = KINDS[suffix]
    members = _archive_members(data)
    size = sum(member.file_size for member in members or ())
    if size > _MAX_INFLATED_BYTES or (size > _RATIO_FROM_BYTES and size > _MAX_RATIO * len(data)):
        raise InputError(
            f"the {suffix} file of {len(data)} bytes inflates to {size}, which no document needs; leave it out"
        )
    is_office = suffix in (".docx", ".pptx", ".xlsx")
    if is_office and data.startswith(_OLD_OFFICE):
        raise InputError(
            f"the {suffix} file is damaged or locked (it is encrypted, or of Office before 2007); save it again, "
            "without a password, or leave it out"
        )
    if is_office and members is not None and _OFFICE_PART not in {member.filename for member in members}:
        raise InputError(
            f"the {suffix} file is damaged or locked (it is an archive without {_OFFICE_PART}, so no file of Office); "
            "save it again or leave it out"
        )
    if suffix == ".pdf" and b"%PDF" not in data[:_PDF_BEGINNING]:
        raise InputError(
            'the .pdf file is damaged or locked (it does not begin with "%PDF", so it may be of another kind); give it '
            "the suffix of its kind, or leave it out"
        )
    for package in kind.packages:
        import_extra(package, "files", f"reading {suffix} files")
    read = getattr(import_module(f"{_READERS}.{kind.module}"), kind.function)
    more = (lambda own, part: _read_attachment(own, part, depth),) if kind.reads_attachments else ()
    faults = _FAULTS + _own_faults(kind)
    try:
        # Warnings of the parsers (fonts, deep nesting) do not concern the caller.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            contents = read(data, *more)
    except InputError:
        raise
    except faults as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(f"the {suffix} file is damaged or locked ({reason}); save it again or leave it out") from error
    return [contents] if isinstance(contents, FileContents) else contents


def _own_faults(kind: Kind) -> tuple[type[Exception], ...]:
    module, _, name = kind.error.partition(":")
    return (getattr(import_module(module), name),) if name else ()


def _read_attachment(suffix: str, data: bytes, depth: int) -> FileContents:
    """Return the contents of a part of a message, which may be a message again."""
    if suffix in _TEXT_ATTACHMENTS:
        text, _ = decode_bytes(data)
        return FileContents(text, places=(PlaceStart(0, Place(line=1)),))
    if suffix not in KINDS or suffix == ".mbox":
        raise InputError(f"not a kind of file that can be read: {suffix or 'no suffix'}")
    if depth >= _MAX_ATTACHMENT_DEPTH:
        raise InputError(f"it lies in more than {_MAX_ATTACHMENT_DEPTH} messages")
    return _read(suffix, data, depth + 1)[0]


def _archive_members(data: bytes) -> list[zipfile.ZipInfo] | None:
    """Return the files in an archive, None where it is none that can be read; bytes may stand before it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return None  # the reader says what is wrong with it


def limit_memory(extra: int) -> None:
    """Limit this process to a number of bytes above its present memory; does nothing on Windows and macOS."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a file of the kernel
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def limit_seconds(seconds: float) -> None:
    """End this process when it has used so much more processor time; on Windows nothing is done."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _reply(suffix: str, data: bytes) -> dict[str, Any]:
    try:
        contents = convert(suffix, data)
    except MissingPackageError as error:
        return {"missing": str(error)}
    except InputError as error:
        return {"failure": str(error)}
    except MemoryError:
        return {"failure": f"the {suffix} file needs too much memory to be read; leave it out", "ends": True}
    return {"contents": [part.to_json() for part in contents]}


def serve(tasks: IO[bytes], replies: IO[bytes], memory: int) -> None:
    """Answer tasks until they end, or one leaves this process without memory."""
    is_limited = False
    while header := tasks.readline():
        task = json.loads(header)
        data = tasks.read(task["bytes"])
        if not is_limited:
            _reply(".html", b"<p>a</p>")  # imports a reader, whose memory does not count
            limit_memory(memory)
            is_limited = True
        limit_seconds(task["seconds"])
        reply = _reply(task["suffix"], data)
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()
        if reply.get("ends"):
            return


def main() -> None:
    """Serve standard input and output; what the converters print goes nowhere."""
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    serve(sys.stdin.buffer, replies, int(sys.argv[1]))


if __name__ == "__main__":
    main()


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
