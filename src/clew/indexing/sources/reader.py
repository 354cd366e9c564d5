"""Reading: paths, folders and standard input, to documents one after the other, and a failure for all that is none."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO

from clew.errors import InputError
from clew.indexing.sources.discovery import (
    JSON_LINES_SUFFIXES,
    OFFICE_SUFFIXES,
    TABLE_DELIMITERS,
    SourcedDocument,
    SourceFile,
    find_sources,
    printable_path,
)
from clew.indexing.sources.office_files import convert_document
from clew.indexing.sources.plain_text import decode_text, make_markdown_document, make_text_document
from clew.indexing.sources.records import read_json_lines, read_table_rows
from clew.types import Document, Failure

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_documents(paths: Sequence[str | Path], stdin: IO[bytes] | None = None) -> Iterator[Document | Failure]:
    """Return an iterator over the documents of files and folders; each is read when it is asked for.

    Read are `.txt .md .markdown`, records in `.jsonl .ndjson .csv .tsv`, and with the extra `files`
    `.pdf .docx .pptx .html .htm`. A failure names the path, or `path:line`, and never stops the rest.

    Args:
        paths: Files, folders (read through, hidden names skipped), and "-" for standard input: lines of JSON if its
            first character is `{`, else one text with the id "stdin".
        stdin: What "-" reads; the process's standard input if None.

    Returns:
        Documents with unique ids: paths in the order given, folders in the order of their relative paths.

    Raises:
        InputError: A path does not exist or none is given; raised by this call, before anything is read.
    """
    given = [paths] if isinstance(paths, str) else list(paths)
    if not given:
        raise InputError('no path was given; give files, folders, or "-" for standard input')
    for path in given:
        _check_exists(path)
    return _check_documents(chain.from_iterable(_read_path(path, stdin) for path in given))


def _check_exists(path: str | Path) -> None:
    if path == "-":
        return
    if path == "":  # an unset variable in a script: pathlib takes it for the working folder
        raise InputError('a path is ""; give a file or folder that exists, or "-" for standard input')
    try:
        Path(path).stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f'"{printable_path(path)}" cannot be opened: {why}; give a file or folder that exists, or "-" for '
            "standard input"
        ) from error


def _check_documents(found: Iterable[SourcedDocument | Failure]) -> Iterator[Document | Failure]:
    """Let pass only documents that can be stored: unique ids, and no half of a surrogate pair."""
    seen: set[str] = set()
    for one in found:
        if isinstance(one, Failure):
            yield one
        elif broken := _find_invalid_part(one.document):
            yield Failure(one.item, f"{broken} holds a lone surrogate (such as \\ud800), which no text file can hold")
        elif one.document.id in seen:
            yield Failure(one.item, f'the id "{one.document.id}" was already read; ids must be unique')
        else:
            seen.add(one.document.id)
            yield one.document


def _find_invalid_part(document: Document) -> str:
    """Return the name of the first part that UTF-8 cannot hold, "" if there is none."""
    metadata = list(document.metadata)
    for value in document.metadata.values():
        metadata.extend(value if isinstance(value, list) else [str(value)])
    parts = {
        "id": [document.id],
        "title": [document.title],
        "text": [document.text],
        "metadata": metadata,
        "aliases": document.aliases,
        "links": document.links,
    }
    for name, strings in parts.items():
        try:
            for string in strings:
                string.encode("utf-8")
        except UnicodeEncodeError:
            return name
    return ""


def _read_path(path: str | Path, stdin: IO[bytes] | None) -> Iterator[SourcedDocument | Failure]:
    if path == "-":
        yield from _catch_failures("stdin", _read_standard_input(sys.stdin.buffer if stdin is None else stdin))
        return
    for source in find_sources(Path(path)):
        if isinstance(source, Failure):
            yield source
        else:
            yield from _catch_failures(source.item, _read_file(source))


def _catch_failures(item: str, found: Iterator[SourcedDocument | Failure]) -> Iterator[SourcedDocument | Failure]:
    """End one file's documents with a failure where its bytes cannot be had or used."""
    try:
        yield from found
    except InputError as error:
        yield Failure(item, str(error))
    except OSError as error:
        yield Failure(item, f"cannot be read: {error.strerror or error}")


def _read_file(source: SourceFile) -> Iterator[SourcedDocument | Failure]:
    if source.suffix in JSON_LINES_SUFFIXES:
        with source.path.open("rb") as lines:
            yield from read_json_lines(lines, source.id, source.item)
    elif delimiter := TABLE_DELIMITERS.get(source.suffix):
        with source.path.open("rb") as raw:
            if b"\0" in raw.read(8192):
                raise InputError("binary content (a NUL byte), not a table; save it as CSV in UTF-8")
            raw.seek(0)
            # Lone surrogates carry bytes that are no UTF-8 to their row, so that only that row fails.
            text = TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
            yield from read_table_rows(text, delimiter, source.id, source.item)
    else:
        data = source.path.read_bytes()
        yield SourcedDocument(source.item, _read_document(source, data))


def _read_document(source: SourceFile, data: bytes) -> Document:
    if source.suffix in OFFICE_SUFFIXES:
        return convert_document(source.id, source.name, source.suffix, data)
    make = make_text_document if source.suffix == ".txt" else make_markdown_document
    return make(source.id, source.name, decode_text(data))


def _read_standard_input(stdin: IO[bytes]) -> Iterator[SourcedDocument | Failure]:
    opening: list[bytes] = []
    for line in stdin:
        opening.append(line)
        if line.removeprefix(_BYTE_ORDER_MARK).strip():
            break
    if opening and opening[-1].removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        yield from read_json_lines(chain(opening, stdin), "stdin", "stdin")
    else:
        text = decode_text(b"".join(opening) + stdin.read())
        yield SourcedDocument("stdin", make_text_document("stdin", "", text))
