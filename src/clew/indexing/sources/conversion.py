"""Conversion of one file after the other to Markdown by `markitdown`, in a process that is limited and may die.

    python -m clew.indexing.sources.conversion MEMORY_BYTES

The process reads a line of JSON (`suffix`, `bytes`, `seconds`) and the bytes of a file, and answers with a line of
JSON: `markdown` and `title`, or `failure`, or `missing` for a package that is not installed; `ends` is true where it
needs another process in its place. A file that takes more processor time than `seconds` ends it.
"""

import io
import json
import os
import sys
import warnings
import zipfile
from functools import cache
from typing import IO, TYPE_CHECKING, Any

from clew.errors import ClewError, InputError, MissingPackageError
from clew.plugins.extras import import_extra, missing_package

if TYPE_CHECKING:
    from markitdown import MarkItDown, MarkItDownException

MEBIBYTE = 1 << 20
_MAX_RATIO, _RATIO_FROM_BYTES = 200, 16 * MEBIBYTE  # a document of real tables packs to a fiftieth
_MAX_INFLATED_BYTES = 1024 * MEBIBYTE  # with pictures and films
_MAX_CHARACTERS = 64 * MEBIBYTE


def convert(suffix: str, data: bytes) -> tuple[str, str]:
    """Return a file as Markdown, and its title, "" for none.

    Raises InputError where it cannot be converted, MissingPackageError where a package for it is missing, and
    MemoryError where it needs more memory than there is.
    """
    _check_archive(suffix, data)
    import_extra("markitdown", "files", f"reading {suffix} files")
    from markitdown import MarkItDownException, StreamInfo

    try:
        # Warnings of the parsers (fonts, deep nesting) do not concern the caller.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = _make_converter().convert_stream(io.BytesIO(data), stream_info=StreamInfo(extension=suffix))
    except MarkItDownException as error:
        raise _conversion_error(error, suffix) from error
    if len(result.markdown) > _MAX_CHARACTERS:
        raise InputError(f"the {suffix} file has {len(result.markdown)} characters of text; split it, or leave it out")
    return result.markdown, " ".join((result.title or "").split())


def _check_archive(suffix: str, data: bytes) -> None:
    """Raise an InputError for an archive that inflates to far more than its size."""
    if not zipfile.is_zipfile(io.BytesIO(data)):  # bytes may stand before an archive
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return  # the converter says what is wrong with it
    if size > _MAX_INFLATED_BYTES or (size > _RATIO_FROM_BYTES and size > _MAX_RATIO * len(data)):
        raise InputError(
            f"the {suffix} file of {len(data)} bytes inflates to {size}, which no document needs; leave it out"
        )


@cache
def _make_converter() -> "MarkItDown":
    """Return a converter for these four formats only, without plugins, network, archives and guessing."""
    from markitdown import DocumentConverter, MarkItDown
    from markitdown.converters import DocxConverter, HtmlConverter, PdfConverter, PptxConverter

    converter = MarkItDown(enable_builtins=False, enable_plugins=False)
    kinds: tuple[type[DocumentConverter], ...] = (PdfConverter, DocxConverter, PptxConverter, HtmlConverter)
    for kind in kinds:
        converter.register_converter(kind())
    return converter


def _conversion_error(error: "MarkItDownException", suffix: str) -> ClewError | MemoryError:
    from markitdown import FileConversionException, MissingDependencyException

    attempts = error.attempts if isinstance(error, FileConversionException) else None
    causes = [attempt.exc_info[1] for attempt in attempts or () if attempt.exc_info]
    for cause in causes:
        if isinstance(cause, MemoryError):
            return cause
        if isinstance(cause, MissingDependencyException):
            part = cause.__cause__
            absent = part if isinstance(part, ImportError) else ImportError("a part of it is not installed")
            return MissingPackageError(
                missing_package(f"reading {suffix} files", absent, "markitdown", "'clew[files]'")
            )
    reason = " ".join((f"{type(causes[0]).__name__}: {causes[0]}" if causes else str(error)).split())
    return InputError(f"the {suffix} file is damaged or locked ({reason[:200]}); save it again or leave it out")


def limit_memory(extra: int) -> None:
    """Let this process have so many bytes more of memory than it has; on Windows, and on macOS, nothing is done."""
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
        markdown, title = convert(suffix, data)
    except MissingPackageError as error:
        return {"missing": str(error)}
    except InputError as error:
        return {"failure": str(error)}
    except MemoryError:
        return {"failure": f"the {suffix} file needs too much memory to be converted; leave it out", "ends": True}
    return {"markdown": markdown, "title": title}


def serve(tasks: IO[bytes], replies: IO[bytes], memory: int) -> None:
    """Answer tasks until they end, or one leaves this process without memory."""
    is_limited = False
    while header := tasks.readline():
        task = json.loads(header)
        data = tasks.read(task["bytes"])
        if not is_limited:
            _reply(".html", b"<p>a</p>")  # imports the converters, whose memory does not count
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
