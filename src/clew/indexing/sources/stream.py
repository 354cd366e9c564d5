"""Documents and paths, as users give them, as one stream of documents; and reading ahead to its first document."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from clew.errors import InputError
from clew.indexing.sources.discovery import SourceFile, find_sources
from clew.indexing.sources.reader import check_paths, read_documents, source_bytes
from clew.indexing.sources.reading_report import ReadingReport
from clew.indexing.sources.records import STANDARD_COLUMNS, RecordColumns
from clew.indexing.sources.register import SourceRegister
from clew.plugins.arguments import check_string, check_strings
from clew.types import Document, Failure, Progress

Source = Document | Failure | str | Path
_STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A stream of documents, and how its files were read so far."""

    documents: Iterable[Document | Failure]
    report: ReadingReport
    register: SourceRegister

    def count_bytes(self, progress: Progress) -> Progress:
        """Return a callback that reports the bytes read in place of the characters indexed, where files are read."""

        def show(stage: str, done: int, total: int) -> None:
            total_bytes = self.report.bytes_total
            if stage == "indexing" and total_bytes:
                progress(stage, min(self.report.bytes_read, total_bytes), total_bytes)
            else:
                progress(stage, done, total)

        return show


def open_source(
    items: Iterable[Source],
    is_wanted: Callable[[str], bool] | None = None,
    register: Path | None = None,
    columns: RecordColumns = STANDARD_COLUMNS,
) -> DocumentSource:
    """Return the documents of items: first those of paths, then those given, where the items are a sequence.

    InputError: a path of a sequence does not exist, or an item is neither a document nor a path. Items of an iterator
    are looked at one by one, so that the error comes when their turn does. `is_wanted` and `columns` are as of
    `read_documents`, and `register` is the file of a `SourceRegister`.
    """
    report, sources = ReadingReport(), SourceRegister(register)
    if not isinstance(items, Sequence):
        return DocumentSource(_read_each(items, report, sources, columns), report, sources)
    paths = [item for item in items if isinstance(item, str | Path)]
    for item in items:
        _check(item)
    found = read_documents(paths, None, report, is_wanted, sources, columns) if paths else iter(())
    report.bytes_total = source_bytes(paths)
    given = (item for item in items if isinstance(item, Document | Failure))
    return DocumentSource(chain(found, given), report, sources)


def check_ids(paths: Sequence[str | Path], register: Path) -> None:
    """Raise an InputError where a file of a part would not have the id that the register gives it.

    Machines that read parts do not see the register, and name files by the paths alone.
    """
    check_paths(paths)
    known, alone = SourceRegister(register, is_frozen=True), SourceRegister()
    for path in (Path(path) for path in paths if path != "-"):
        sources = [source for source in find_sources(path) if isinstance(source, SourceFile)]
        for wanted, given in zip(known.name(path, sources), alone.name(path, sources), strict=True):
            if isinstance(given, Failure):
                continue
            if isinstance(wanted, Failure):
                raise InputError(f"{wanted.item}: {wanted.reason}")
            if wanted.id != given.id:
                raise InputError(
                    f"{given.item} would have the id {given.id!r} in a part, and has {wanted.id!r} beside what was "
                    "indexed before: rename the file, or index it without --shard"
                )


def _read_each(
    items: Iterable[Source], report: ReadingReport, register: SourceRegister, columns: RecordColumns
) -> Iterator[Document | Failure]:
    for item in items:
        _check(item)
        if isinstance(item, str | Path):
            yield from read_documents([item], report=report, register=register, columns=columns)
        else:
            yield item


def _check(item: object) -> None:
    if not isinstance(item, str | Path | Document | Failure):
        raise InputError(f"{type(item).__name__} {item!r:.80} cannot be indexed; give a Document or a path")
    if isinstance(item, Document):
        _check_document(item)


def _check_document(document: Document) -> None:
    """Raise an InputError where a part of a document is of another type: a string is no list of its letters."""
    for name in ("id", "title", "text"):
        check_string(getattr(document, name), f"{name} of a document")
    for name in ("aliases", "links"):
        check_strings(getattr(document, name), f"{name} of the document {document.id!r:.80}")
    if not isinstance(document.metadata, Mapping):
        raise InputError(f"metadata of the document {document.id!r:.80} is no mapping; give a dictionary")
    if not document.id.strip():
        raise InputError(f"id of a document is {document.id!r:.80}, which is empty; give one")
    for key, value in document.metadata.items():
        parts = value if isinstance(value, list | tuple) else [value]
        if any(isinstance(part, Mapping | list | tuple) for part in parts):
            raise InputError(
                f"metadata {key!r:.80} of the document {document.id!r:.80} is nested; "
                "use strings, finite numbers, booleans and lists of them"
            )


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """Sources, what failed before their first document, and whether there is one.

    Attributes:
        items: For `Index.add`: the sources; where standard input was read, which can be done but once, the failures of
            the files, and the documents and failures of standard input.
        failures: Before the first document, or all where there is none.
        has_document: Whether there is a document.
        reading: How the files were read so far.
    """

    items: Sequence[str] | Iterator[Document | Failure]
    failures: list[Failure]
    has_document: bool
    reading: ReadingReport


def read_ahead(sources: Sequence[str], columns: RecordColumns) -> ReadAhead:
    """Read sources, paths or "-" for standard input, until the first document, files before standard input.

    Raises InputError where a path does not exist.
    """
    report, failures = ReadingReport(), list[Failure]()
    files = [source for source in sources if source != _STANDARD_INPUT]
    if files and _skip_failures(read_documents(files, report=report, columns=columns), failures) is not None:
        return ReadAhead(sources, failures, has_document=True, reading=report)
    if len(files) == len(sources):
        return ReadAhead(sources, failures, has_document=False, reading=report)
    rest = read_documents([_STANDARD_INPUT], columns=columns)
    first = _skip_failures(rest, failures)
    items = chain(failures, () if first is None else (first,), rest)
    return ReadAhead(items, failures, first is not None, report)


def _skip_failures(items: Iterator[Document | Failure], failures: list[Failure]) -> Document | None:
    """Return the first document, None where there is none; the failures before it are added to a list."""
    for item in items:
        if not isinstance(item, Failure):
            return item
        failures.append(item)
    return None
