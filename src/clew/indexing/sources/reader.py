"""Reading of files, folders and standard input into documents, and a failure for each input that cannot be used."""

import json
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import IO

from clew.errors import InputError, MissingPackageError
from clew.indexing.sources.archives import unpack_archive
from clew.indexing.sources.conversion import KINDS, convert_file
from clew.indexing.sources.discovery import (
    ARCHIVE_SUFFIXES,
    CODE_SUFFIXES,
    JSON_LINES_SUFFIXES,
    MARKDOWN_SUFFIXES,
    RECORD_SUFFIXES,
    TABLE_SUFFIXES,
    SourcedDocument,
    SourceFile,
    find_sources,
    printable_path,
)
from clew.indexing.sources.markdown import read_front_matter
from clew.indexing.sources.plain_text import (
    UTF_8,
    check_text,
    decode_bytes,
    make_code_document,
    make_contents_document,
    make_markdown_document,
    make_text_document,
)
from clew.indexing.sources.reading_report import ReadingReport
from clew.indexing.sources.record_files import open_lines, read_json_file, read_table_file
from clew.indexing.sources.records import STANDARD_COLUMNS, RecordColumns, read_json_lines
from clew.indexing.sources.register import SourceRegister
from clew.store.document_ids import IdSet
from clew.text.display import has_surrogate
from clew.types import Document, Failure


@dataclass(frozen=True, slots=True)
class _Reading:
    """One pass over paths."""

    report: ReadingReport
    is_wanted: Callable[[str], bool] | None
    register: SourceRegister
    columns: RecordColumns = STANDARD_COLUMNS


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
    report: ReadingReport | None = None,
    is_wanted: Callable[[str], bool] | None = None,
    register: SourceRegister | None = None,
    columns: RecordColumns = STANDARD_COLUMNS,
) -> Iterator[Document | Failure]:
    """Return an iterator over the documents of files and folders, which are read one at a time.

    Supported are texts, Markdown and source code, records in `.jsonl .ndjson .json .csv .tsv`, mail and notebooks, and
    with the extra `files` `.pdf .docx .pptx .xlsx .html .htm .epub .rst`. Folders are read recursively, hidden names
    skipped; "-" is `stdin`, by default that of the process: JSON lines if its first character is `{`, else one text
    with the id "stdin". A failure names the path, or `path:line`, and does not stop the rest. Links out of
    a folder and its files of no bytes are skipped, which `report` counts. Ids are unique, as
    `register` gives them to files; a file that is given by several paths is read once. Paths keep their order, folders
    that of their relative paths. The call raises InputError before anything is read where no path is given, or one does
    not exist. `report` tells how files were read, and how many bytes so far. With `is_wanted` come only
    documents of the ids that it accepts, and failures of accepted ids, or of accepted items where no id is known.
    `columns` names the text, title and id of records.
    """
    sources = [paths] if isinstance(paths, str) else list(paths)
    check_paths(sources)
    reading = _Reading(report or ReadingReport(), is_wanted, register or SourceRegister(), columns)
    return _check_documents(chain.from_iterable(_read_path(path, stdin, reading) for path in sources))


def read_sources(sources: Iterable[SourceFile]) -> Iterator[Document | Failure]:
    """Return an iterator over the documents of files that were found, as `read_documents`."""
    reading = _Reading(ReadingReport(), None, SourceRegister())
    items = (_catch_failures(source.item, _read_file(source, reading)) for source in sources)
    return _check_documents(chain.from_iterable(items))


def check_paths(paths: Sequence[str | Path]) -> None:
    """Raise an InputError where no path is given, or one does not exist."""
    if not paths:
        raise InputError('no path was given; give files, folders, or "-" for standard input')
    advice = 'give a file or folder that exists, or "-" for standard input'
    for path in paths:
        if path == "":  # an unset variable in a script, which pathlib would take for the working folder
            raise InputError(f'a path is ""; {advice}')
        try:
            if path != "-":
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
    for name in ("id", "title", "text", "metadata", "aliases", "links"):
        value = getattr(document, name)
        if has_surrogate(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)):
            return name
    return ""


def _read_path(path: str | Path, stdin: IO[bytes] | None, reading: _Reading) -> Iterator[SourcedDocument | Failure]:
    if path == "-":
        source = sys.stdin.buffer if stdin is None else stdin
        items = _catch_failures("stdin", _read_standard_input(source, reading.columns))
        yield from _select(items, reading.is_wanted)
        return
    is_folder = Path(path).is_dir()
    for found in reading.register.find(Path(path), reading.report.outer_links):
        if isinstance(found, Failure):
            yield from _select(iter([found]), reading.is_wanted)
        elif found is not None and is_folder and is_empty_file(found):
            reading.report.empty_files.append(found.item)
        elif found is not None and (
            found.suffix in RECORD_SUFFIXES or reading.is_wanted is None or reading.is_wanted(found.id)
        ):
            yield from _read_registered(found, reading)
        elif found is not None:
            reading.report.bytes_read += _file_size(found)


def _read_registered(source: SourceFile, reading: _Reading) -> Iterator[SourcedDocument | Failure]:
    is_wanted = reading.is_wanted if source.suffix in RECORD_SUFFIXES else None
    is_whole = is_wanted is None
    for item in _select(_catch_failures(source.item, _read_file(source, reading)), is_wanted):
        if isinstance(item, Failure):
            is_whole = False
        else:
            reading.register.add(source, item.document.id)
        yield item
    if is_whole:
        reading.register.note_complete(source)


def _select(
    items: Iterator[SourcedDocument | Failure], is_wanted: Callable[[str], bool] | None
) -> Iterator[SourcedDocument | Failure]:
    """Yield documents of accepted ids, and failures of accepted items."""
    for item in items:
        if is_wanted is None or is_wanted(item.item if isinstance(item, Failure) else item.document.id):
            yield item


def is_empty_file(source: SourceFile) -> bool:
    """Return whether a file has no bytes, as a package's `__init__.py`; of lines of records that is no failure."""
    try:
        return source.suffix not in JSON_LINES_SUFFIXES and not source.path.stat().st_size
    except OSError:
        return False  # reading it reports why


def _file_size(source: SourceFile) -> int:
    try:
        return source.path.stat().st_size
    except OSError:
        return 0  # reading it reports why


def _count_lines(lines: Iterable[bytes], report: ReadingReport) -> Iterator[bytes]:
    for line in lines:
        report.bytes_read += len(line)
        yield line


def _catch_failures(item: str, items: Iterator[SourcedDocument | Failure]) -> Iterator[SourcedDocument | Failure]:
    """End a file's documents with a failure when its bytes cannot be read or used."""
    try:
        yield from items
    except (InputError, MissingPackageError) as error:
        yield Failure(item, str(error))
    except OSError as error:
        yield Failure(item, f"cannot be read: {error.strerror or error}")


def _read_file(source: SourceFile, reading: _Reading) -> Iterator[SourcedDocument | Failure]:
    report, kind = reading.report, source.suffix or "no suffix"
    for item in _read_items(source, reading):
        if isinstance(item, SourcedDocument):
            report.documents[kind] += 1
        yield item
    report.files[kind] += 1


def _read_items(source: SourceFile, reading: _Reading) -> Iterator[SourcedDocument | Failure]:
    report, columns = reading.report, reading.columns
    if source.suffix in ARCHIVE_SUFFIXES:
        yield from _read_archive(source, reading)
    elif source.suffix in JSON_LINES_SUFFIXES:
        with open_lines(source.path) as (lines, encoding):
            if encoding != UTF_8:
                report.encodings[source.item] = encoding
            yield from read_json_lines(_count_lines(lines, report), source.id, source.item, columns)
    elif source.suffix in TABLE_SUFFIXES:
        before = 0
        for row, position in read_table_file(source, columns, report):
            report.bytes_read += position - before
            before = position
            yield row
    else:
        report.bytes_read += _file_size(source)
        if source.suffix == ".json":
            yield from read_json_file(source, columns, report)
        elif source.suffix in KINDS:
            yield from _read_contents(source, report)
        else:
            yield SourcedDocument(source.item, _with_origin(_read_document(source, report), source))


def _read_archive(source: SourceFile, reading: _Reading) -> Iterator[SourcedDocument | Failure]:
    """Yield the documents of the files in an archive, with the ids that a folder of its name would give them."""
    with unpack_archive(source.path) as folder:
        for found in find_sources(folder):
            if isinstance(found, Failure):
                yield replace(found, item=source.item + found.item.removeprefix(str(folder)))
            elif is_empty_file(found):
                reading.report.empty_files.append(f"{source.item}/{found.id}")
            else:
                item, id_ = f"{source.item}/{found.id}", f"{source.id}/{found.id}"
                inner = replace(found, id=id_, item=item, label=found.path.stem)
                yield from _catch_failures(item, _read_items(inner, reading))


def _read_document(source: SourceFile, report: ReadingReport) -> Document:
    text, encoding = decode_bytes(source.path.read_bytes())
    check_text(text)
    if encoding != UTF_8:
        report.encodings[source.item] = encoding
    if source.suffix in MARKDOWN_SUFFIXES:
        matter = read_front_matter(text)
        if matter.fault:
            report.notes.append(f"{source.item}: {matter.fault}; its entries are read one by one")
        return make_markdown_document(source.id, source.name, text, matter)
    if source.suffix in CODE_SUFFIXES:
        return make_code_document(source.id, source.file_name, text)
    return make_text_document(source.id, source.name, text)


def _read_contents(source: SourceFile, report: ReadingReport) -> Iterator[SourcedDocument]:
    contents = convert_file(source.suffix, source.path.read_bytes())
    is_many = source.suffix in RECORD_SUFFIXES
    for number, part in enumerate(contents, 1):
        mark = f":{number}" if is_many else ""
        report.notes += [f"{source.item}{mark}: {note}" for note in part.notes]
        if part.text.strip():
            document = make_contents_document(f"{source.id}{mark}", "" if is_many else source.name, part)
            yield SourcedDocument(f"{source.item}{mark}", _with_origin(document, source))


def _with_origin(document: Document, source: SourceFile) -> Document:
    """Return a document with the path of its file and the time of its last change, which no hash knows."""
    origin = {"path": source.id}
    if not source.label:  # a file that was sent has the time of its arrival
        time = datetime.fromtimestamp(int(source.path.stat().st_mtime), UTC)
        origin["modified"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    return replace(document, origin=origin)


def _read_standard_input(stdin: IO[bytes], columns: RecordColumns) -> Iterator[SourcedDocument | Failure]:
    opening: list[bytes] = []
    for line in stdin:
        opening.append(line)
        if line.removeprefix(BOM_UTF8).strip():
            break
    if opening and opening[-1].removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
        yield from read_json_lines(chain(opening, stdin), "stdin", "stdin", columns)
    else:
        text, _ = decode_bytes(b"".join(opening) + stdin.read())
        check_text(text)
        if text.lstrip().startswith("{"):  # lines of UTF-16 or UTF-32
            yield from read_json_lines(map(str.encode, text.split("\n")), "stdin", "stdin", columns)
        else:
            yield SourcedDocument("stdin", make_text_document("stdin", "", text))
