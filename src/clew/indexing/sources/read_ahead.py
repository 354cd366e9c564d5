"""Reading of sources up to their first document, so that nothing is made of sources that hold none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from clew.indexing.sources.reader import ReadingProgress, read_documents
from clew.indexing.sources.reading_report import ReadingReport
from clew.indexing.sources.records import RecordColumns
from clew.types import Document, Failure

STANDARD_INPUT = "-"


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
    progress, failures = ReadingProgress(), list[Failure]()
    files = [source for source in sources if source != STANDARD_INPUT]
    if files and _skip_failures(read_documents(files, progress=progress, columns=columns), failures) is not None:
        return ReadAhead(sources, failures, has_document=True, reading=progress.report)
    if len(files) == len(sources):
        return ReadAhead(sources, failures, has_document=False, reading=progress.report)
    rest = read_documents([STANDARD_INPUT], columns=columns)
    first = _skip_failures(rest, failures)
    items = chain(failures, () if first is None else (first,), rest)
    return ReadAhead(items, failures, first is not None, progress.report)


def _skip_failures(items: Iterator[Document | Failure], failures: list[Failure]) -> Document | None:
    """Return the first document, None where there is none; the failures before it are added to a list."""
    for item in items:
        if not isinstance(item, Failure):
            return item
        failures.append(item)
    return None
