"""Reading of files, folders and standard input into documents, and a failure for each input that cannot be used."""

import json
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO

from clew.errors import InputError, MissingPackageError
from clew.indexing.sources.discovery import (
    JSON_LINES_SUFFIXES,
    OFFICE_SUFFIXES,
    RECORD_SUFFIXES,
    TABLE_DELIMITERS,
    SourcedDocument,
    SourceFile,
    find_sources,
    printable_path,
)
from clew.indexing.sources.office_files import convert_document
from clew.indexing.sources.plain_text import decode_text, make_markdown_document, make_text_document
from clew.indexing.sources.records import read_json_lines, read_table_rows
from clew.indexing.sources.register import SourceRegister
from clew.store.document_ids import IdSet
from clew.text.sanitize import has_surrogate
from clew.types import Document, Failure


@dataclass(slots=True)
class ReadingProgress:
    """Bytes read so far, of the bytes that the sources have."""

    done: int = 0
    total: int = 0  # 0 where it is not known: standard input


@dataclass(frozen=True, slots=True)
class _Reading:
    """One pass over paths."""

    progress: ReadingProgress
    is_wanted: Callable[[str], bool]
    register: SourceRegister


def source_bytes(paths: Sequence[str | Path]) -> int:
    """Return the size of the files and folders that exist, 0 where standard input is among them."""
    if "-" in paths:
        return 0
    sources = (source for path in paths for source in find_sources(Path(path)))
    return sum(_file_size(source) for source in sources if isinstance(source, SourceFile))


def hash_sources(paths: Sequence[str | Path]) -> str:
    """Return a hash of the ids and sizes of the files of paths; standard input counts by its name alone."""
    listed = [("-", 0)] if "-" in paths else []
    sources = (source for path in paths if path != "-" for source in find_sources(Path(path)))
    listed += [(source.id, _file_size(source)) for source in sources if isinstance(source, SourceFile)]
    return blake2b(json.dumps(listed, ensure_ascii=True).encode(), digest_size=16).hexdigest()


def read_documents(
    paths: Sequence[str | Path],
    stdin: IO[bytes] | None = None,
    progress: ReadingProgress | None = None,
    is_wanted: Callable[[str], bool] | None = None,
    register: SourceRegister | None = None,
) -> Iterator[Document | Failure]:
    """Return an iterator over the documents of files and folders, which are read one at a time.

    Supported are `.txt .md .markdown`, records in `.jsonl .ndjson .csv .tsv`, and with the extra `files` `.pdf .docx
    .pptx .html .htm`. Folders are read recursively, hidden names skipped; "-" is `stdin`, by default that of the
    process: JSON lines if its first character is `{`, else one text with the id "stdin". A failure names the path, or
    `path:line`, and does not stop the rest. Ids are unique, as `register` gives them to files; a file that is given by
    several paths is read once. Paths keep their order, folders that of their relative paths. The call raises InputError
    before anything is read where no path is given, or one does not exist. Bytes are added to `progress` as they are
    read. A file that is one document is not read unless its id `is_wanted`; records of other ids come too.
    """
    sources = [paths] if isinstance(paths, str) else list(paths)
    check_paths(sources)
    counted = ReadingProgress() if progress is None else progress
    reading = _Reading(counted, is_wanted or (lambda _: True), SourceRegister() if register is None else register)
    return _check_documents(chain.from_iterable(_read_path(path, stdin, reading) for path in sources))


def read_sources(sources: Iterable[SourceFile]) -> Iterator[Document | Failure]:
    """Return an iterator over the documents of files that were found, as `read_documents`."""
    progress = ReadingProgress()
    items = (_catch_failures(source.item, _read_file(source, progress)) for source in sources)
    return _check_documents(chain.from_iterable(items))


def check_paths(paths: Sequence[str | Path]) -> None:
    """Raise an InputError where no path is given, or one does not exist."""
    if not paths:
        raise InputError('no path was given; give files, folders, or "-" for standard input')
    for path in paths:
        _check_exists(path)


def _check_exists(path: str | Path) -> None:
    if path == "-":
        return
    advice = 'give a file or folder that exists, or "-" for standard input'
    if path == "":  # an unset variable in a script, which pathlib would take for the working folder
        raise InputError(f'a path is ""; {advice}')
    try:
        Path(path).stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f'"{printable_path(path)}" cannot be opened: {reason}; {advice}') from error


def _check_documents(items: Iterable[SourcedDocument | Failure]) -> Iterator[Document | Failure]:
    """Replace documents that cannot be stored by failures: repeated ids, and lone surrogates."""
    seen = IdSet()
    for item in items:
        if isinstance(item, Failure):
            yield item
        elif part := _find_invalid_part(item.document):
            yield Failure(item.item, f"{part} holds a lone surrogate (such as \\ud800), which no text file can hold")
        elif not seen.add(item.document.id):
            yield Failure(item.item, f'the id "{item.document.id}" was already read; ids must be unique')
        else:
            yield item.document


def _find_invalid_part(document: Document) -> str:
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
        if any(map(has_surrogate, strings)):
            return name
    return ""


def _read_path(path: str | Path, stdin: IO[bytes] | None, reading: _Reading) -> Iterator[SourcedDocument | Failure]:
    if path == "-":
        yield from _catch_failures("stdin", _read_standard_input(sys.stdin.buffer if stdin is None else stdin))
        return
    for source in reading.register.find(Path(path)):
        if isinstance(source, Failure):
            yield source
        elif source is not None and (source.suffix in RECORD_SUFFIXES or reading.is_wanted(source.id)):
            yield from _read_registered(source, reading)
        elif source is not None:
            reading.progress.done += _file_size(source)


def _read_registered(source: SourceFile, reading: _Reading) -> Iterator[SourcedDocument | Failure]:
    has_failed = False
    for item in _catch_failures(source.item, _read_file(source, reading.progress)):
        if isinstance(item, Failure):
            has_failed = True
        else:
            reading.register.add(source, item.document.id)
        yield item
    if not has_failed:
        reading.register.note_complete(source)


def _file_size(source: SourceFile) -> int:
    try:
        return source.path.stat().st_size
    except OSError:
        return 0  # reading it reports why


def _count_lines(lines: Iterable[bytes], progress: ReadingProgress) -> Iterator[bytes]:
    for line in lines:
        progress.done += len(line)
        yield line


def _catch_failures(item: str, items: Iterator[SourcedDocument | Failure]) -> Iterator[SourcedDocument | Failure]:
    """End a file's documents with a failure when its bytes cannot be read or used."""
    try:
        yield from items
    except (InputError, MissingPackageError) as error:
        yield Failure(item, str(error))
    except OSError as error:
        yield Failure(item, f"cannot be read: {error.strerror or error}")


def _read_file(source: SourceFile, progress: ReadingProgress) -> Iterator[SourcedDocument | Failure]:
    if source.suffix in JSON_LINES_SUFFIXES:
        with source.path.open("rb") as lines:
            yield from read_json_lines(_count_lines(lines, progress), source.id, source.item)
    elif delimiter := TABLE_DELIMITERS.get(source.suffix):
        with source.path.open("rb") as raw:
            if b"\0" in raw.read(8192):
                raise InputError("binary content (a NUL byte), not a table; save it as CSV in UTF-8")
            raw.seek(0)
            before = 0
            # Bytes that are not UTF-8 become lone surrogates, so that only their row fails.
            text = TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
            for row in read_table_rows(text, delimiter, source.id, source.item):
                progress.done += raw.tell() - before
                before = raw.tell()
                yield row
    else:
        progress.done += _file_size(source)
        yield SourcedDocument(source.item, _read_document(source))


def _read_document(source: SourceFile) -> Document:
    data = source.path.read_bytes()
    if source.suffix in OFFICE_SUFFIXES:
        return convert_document(source.id, source.name, source.suffix, data)
    make = make_text_document if source.suffix == ".txt" else make_markdown_document
    return make(source.id, source.name, decode_text(data))


def _read_standard_input(stdin: IO[bytes]) -> Iterator[SourcedDocument | Failure]:
    opening: list[bytes] = []
    for line in stdin:
        opening.append(line)
        if line.removeprefix(BOM_UTF8).strip():
            break
    if opening and opening[-1].removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
        yield from read_json_lines(chain(opening, stdin), "stdin", "stdin")
    else:
        text = decode_text(b"".join(opening) + stdin.read())
        yield SourcedDocument("stdin", make_text_document("stdin", "", text))
