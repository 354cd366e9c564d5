"""Files of graphs: what kind each is, how its bytes become text, and what it states, one statement after the other."""

import codecs
import gzip
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO, cast

from clew.errors import InputError
from clew.indexing.kg_formats.graphml import read_graphml
from clew.indexing.kg_formats.jsonl import read_json_statements
from clew.indexing.kg_formats.rdf import read_n_triples, read_turtle
from clew.indexing.kg_formats.statements import MalformedStatement, Statement, no_triples_message
from clew.indexing.kg_formats.tables import read_csv_rows, read_delimited_rows, read_name_rows, read_triple_rows
from clew.indexing.sources.discovery import printable_path

FILE_KINDS = {
    "tsv": (".tsv", ".tab", ".txt"),
    "csv": (".csv",),
    "jsonl": (".jsonl", ".ndjson"),
    "ntriples": (".nt", ".ntriples"),
    "turtle": (".ttl", ".turtle"),
    "graphml": (".graphml",),
}
"""The kinds of files, and the suffixes that tell them; each may be followed by `.gz`."""

UTF8 = "utf-8"
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MAX_LINE_CHARACTERS = 1 << 20  # characters: more than three of the longest names
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A file of a graph; made by `graph_file`, which checks it.

    Attributes:
        path: May end in `.gz`.
        kind: One of `KINDS`.
        encoding: Of its text.
        delimiter: Between cells.
        names: Files with names of its entities: id, label, further names.
    """

    path: Path
    kind: str
    encoding: str
    delimiter: str
    names: tuple[Path, ...] = ()

    def statements(self) -> Generator[Statement]:
        """Yield what the file states, and its names after that; what is malformed is told and skipped.

        Raises:
            InputError: A file cannot be read at all, breaks off, or is in another encoding.
        """
        with _open_bytes(self.path, self.encoding) as stream:
            yield from self._parse(stream, printable_path(self.path.name))
        for path in self.names:
            with _open_bytes(path, self.encoding) as stream:
                place = printable_path(path.name)
                lines = read_text_lines(stream, self.encoding)
                rows = (
                    read_csv_rows(lines, ",", place)
                    if _kind_of_suffix(path) == "csv"
                    else read_delimited_rows(lines, "\t", place)
                )
                yield from read_name_rows(rows, place)

    def check(self) -> None:
        """Read all of it, up to the first fault.

        Raises:
            InputError: Something in it is malformed.
        """
        with closing(self.statements()) as statements:
            for statement in statements:
                if isinstance(statement, MalformedStatement):
                    raise InputError(f"{statement}; nothing was imported: correct it, or leave --strict out to skip it")

    def require_triple(self) -> None:
        """Read it up to its first triple.

        Raises:
            InputError: There is none, or the file cannot be read so far.
        """
        first, count = None, 0
        with closing(self.statements()) as statements:
            for statement in statements:
                if isinstance(statement, tuple):
                    return
                if isinstance(statement, MalformedStatement):
                    first, count = first or statement, count + 1
        raise InputError(no_triples_message(printable_path(self.path.name), count, first))

    def _parse(self, stream: IO[bytes], file_name: str) -> Iterator[Statement]:
        if self.kind == "graphml":
            return read_graphml(stream, file_name, None if self.encoding == UTF8 else self.encoding)
        if self.kind == "turtle":
            return read_turtle("".join(read_text_lines(stream, self.encoding)), file_name)
        lines = read_text_lines(stream, self.encoding)
        if self.kind == "jsonl":
            return read_json_statements(lines, file_name)
        if self.kind == "ntriples":
            return read_n_triples(lines, file_name)
        cells = read_csv_rows if self.kind == "csv" else read_delimited_rows
        return read_triple_rows(cells(lines, self.delimiter, file_name), file_name)


def graph_file(
    path: str | Path,
    kind: str | None = None,
    encoding: str = UTF8,
    delimiter: str | None = None,
    names: Sequence[str | Path] = (),
) -> GraphFile:
    """Return a file of a graph, whose beginning and whose options were checked.

    Args:
        path: The file; `.gz` is unpacked.
        kind: One of `KINDS`; None to tell it from the suffix.
        encoding: A name of Python's.
        delimiter: Between cells; None for a tab, and a comma in CSV. A CSV file's is one character.
        names: Tables of names by tabs (`.csv`: by commas): entity, label, further names.

    Raises:
        InputError: A file does not exist or is not readable, its kind is not known, or an option does not fit.
    """
    given, tables = Path(path), tuple(map(Path, names))
    for file in (given, *tables):
        if not file.is_file():
            raise InputError(f'"{printable_path(file)}" is no file; give a file of triples (see clew kg import --help)')
    chosen = kind or _kind_of_suffix(given)
    if chosen not in FILE_KINDS:
        suffixes = " ".join(suffix for known in FILE_KINDS.values() for suffix in known)
        seen = f"--format is {kind!r}" if kind else f'"{printable_path(given.name)}" has no suffix that tells its kind'
        raise InputError(f"{seen}; wanted {', '.join(FILE_KINDS)} by --format, or a file of {suffixes}, also with .gz")
    if delimiter is not None and chosen not in ("tsv", "csv"):
        raise InputError(f"--delimiter is for tsv and csv, and this file is {chosen}; leave it out")
    if delimiter == "" or (chosen == "csv" and delimiter is not None and len(delimiter) != 1):
        raise InputError(f"--delimiter is {delimiter!r}; wanted one character, or more for tsv")
    if delimiter is not None and ("\n" in delimiter or "\r" in delimiter or (chosen == "csv" and delimiter == '"')):
        raise InputError(f"--delimiter is {delimiter!r}; wanted neither the end of a line nor the quotes of CSV")
    _check_encoding(encoding)
    for file in (given, *tables):
        with _open_bytes(file, encoding) as stream:
            stream.read(1)
    return GraphFile(given, chosen, encoding, delimiter or ("," if chosen == "csv" else "\t"), tables)


def read_text_lines(stream: IO[bytes], encoding: str) -> Iterator[str]:
    """Yield lines with their ends; bytes that are none of the encoding as lone surrogates.

    Of a line above `_LONGEST_LINE` characters only so much comes, with a NUL that makes it malformed.
    """
    name = "utf-8-sig" if codecs.lookup(encoding).name == UTF8 else encoding
    # A line ends at \n alone, so that numbers of lines are those that editors show.
    text = TextIOWrapper(cast("BufferedReader", stream), name, errors="surrogateescape", newline="\n")
    try:
        while line := text.readline(_MAX_LINE_CHARACTERS):
            if len(line) == _MAX_LINE_CHARACTERS and not line.endswith("\n"):
                line = f"{line[:100]}\0\n"
                while (rest := text.readline(_MAX_LINE_CHARACTERS)) and not rest.endswith("\n"):
                    pass
            yield line
    finally:
        text.detach()  # who opened the stream closes it


def _kind_of_suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = (suffixes[:-1] if suffixes[-1:] == [".gz"] else suffixes)[-1:]
    return next((kind for kind, known in FILE_KINDS.items() if suffix and suffix[0] in known), "")


def _check_encoding(encoding: str) -> None:
    try:
        if isinstance("".encode(encoding), bytes):
            return
    except (LookupError, ValueError):
        pass
    raise InputError(f"--encoding is {encoding!r}, which is none; wanted such as utf-8, utf-16, latin-1 or cp1252")


@contextmanager
def _open_bytes(path: Path, encoding: str) -> Iterator[IO[bytes]]:
    """Give a file's bytes, unpacked; what goes wrong while they are read is an InputError that names the file."""
    name = printable_path(path.name)
    try:
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw as unpacked:
            stream = BufferedReader(cast("IO[bytes]", unpacked), 1 << 16)  # type: ignore[type-var]
            try:
                _check_head(stream.peek(_HEAD_BYTES)[:_HEAD_BYTES], name, encoding)
                yield stream
            finally:
                stream.detach()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{name} is not whole, or no gzip file ({error}): get it again") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not in {encoding} ({error.reason}): say its --encoding") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror or error})") from error


def _check_head(head: bytes, name: str, encoding: str) -> None:
    """Refuse a file whose first bytes say that it is in another encoding, or no text.

    Raises:
        InputError: It is so.
    """
    if codecs.lookup(encoding).name != UTF8:
        return
    for mark, other in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise InputError(f"{name} is in {other.upper()}, as its first bytes say: give --encoding {other}")
    if head.count(0) * 8 > len(head):
        raise InputError(f"{name} is binary, or text in UTF-16 (NUL bytes): say --encoding, or convert it to UTF-8")
