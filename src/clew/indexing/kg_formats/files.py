"""Graph files: detection of the format, decoding, and iteration over their statements."""

import codecs
import gzip
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO, cast

from clew.errors import InputError
from clew.indexing.kg_formats.json_records import read_json_file, read_json_statements
from clew.indexing.kg_formats.rdf import read_n_triples, read_turtle
from clew.indexing.kg_formats.tables import (
    CUT,
    MAX_LINE_CHARACTERS,
    MAX_RECORD_CHARACTERS,
    CellRow,
    EntityMention,
    EntityNames,
    MalformedStatement,
    Statement,
    drop_relations,
    read_csv_rows,
    read_delimited_rows,
    read_mention_rows,
    read_name_rows,
    read_triple_rows,
    require_statement,
)
from clew.indexing.sources.discovery import printable_path

# File formats and their suffixes; each suffix may be followed by `.gz`.
FILE_KINDS = {
    "tsv": (".tsv", ".tab", ".txt"),
    "csv": (".csv",),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "ntriples": (".nt", ".ntriples"),
    "turtle": (".ttl", ".turtle"),
}
UTF8 = "utf-8"
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_HEAD_BYTES = 4096

_RowReader = Callable[[Iterator[CellRow | MalformedStatement], str], Iterator[Statement]]


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A graph file, created and checked by `graph_file`."""

    path: Path  # path of the file, which may end in `.gz`
    kind: str  # one of `FILE_KINDS`
    encoding: str  # encoding of the text
    delimiter: str  # delimiter between cells
    names: tuple[Path, ...] = ()  # files with names of its entities: id, label, further names
    mentions: tuple[Path, ...] = ()  # files with mentions of its entities: entity, document or passage
    dropped: tuple[str, ...] = ()  # prefixes of relations whose triples are left out

    def statements(self, *, strict: bool = False) -> Generator[Statement]:
        """Yield the statements of the file, then of its tables.

        InputError: it is unreadable, cut off or in another encoding, or a table has no row that can be used. With
        `strict` so is the first malformed statement.
        """
        with closing(self._all_statements()) as statements:
            for statement in statements:
                if strict and isinstance(statement, MalformedStatement):
                    raise InputError(f"{statement}; nothing was imported: correct it, or leave --strict out to skip it")
                yield statement

    def _all_statements(self) -> Generator[Statement]:
        with _open_bytes(self.path, self.encoding) as stream:
            statements = self._parse(stream, printable_path(self.path.name))
            yield from drop_relations(statements, self.dropped) if self.dropped else statements
        for path in self.names:
            yield from self._table_statements(path, read_name_rows, EntityNames, "name")
        for path in self.mentions:
            yield from self._table_statements(path, read_mention_rows, EntityMention, "mention")

    def _table_statements(self, path: Path, read_rows: _RowReader, kind: type, noun: str) -> Generator[Statement]:
        file_name = printable_path(path.name)
        with (
            _open_bytes(path, self.encoding) as stream,
            closing(read_text_lines(stream, self.encoding)) as lines,  # before the stream, if not read whole
        ):
            is_csv = _kind_of_suffix(path) == "csv"
            rows = (read_csv_rows if is_csv else read_delimited_rows)(lines, "," if is_csv else "\t", file_name)
            yield from require_statement(read_rows(rows, file_name), kind, f"the file {file_name!r} of --{noun}s", noun)

    def _parse(self, stream: IO[bytes], file_name: str) -> Iterator[Statement]:
        if self.kind == "turtle":
            return read_turtle(_read_text(stream, self.encoding), file_name)
        if self.kind == "json":
            return read_json_file(_read_text(stream, self.encoding), file_name)
        if self.kind == "jsonl":
            return read_json_statements(read_text_lines(stream, self.encoding, MAX_RECORD_CHARACTERS), file_name)
        lines = read_text_lines(stream, self.encoding)
        if self.kind == "ntriples":
            return read_n_triples(lines, file_name)
        rows = (read_csv_rows if self.kind == "csv" else read_delimited_rows)(lines, self.delimiter, file_name)
        return read_triple_rows(rows, file_name)


def graph_file(
    path: str | Path,
    kind: str | None = None,
    encoding: str = UTF8,
    delimiter: str | None = None,
    names: Sequence[str | Path] = (),
    mentions: Sequence[str | Path] = (),
) -> GraphFile:
    """Return a graph file (`.gz` too) after checking options and first bytes; InputError else.

    The kind is one of `FILE_KINDS`, None for that of the suffix; `encoding` a Python codec; the delimiter of cells a
    tab by default, and in CSV a comma or another character. `names` are tables by tabs (`.csv`: commas) of entity,
    label, further names; `mentions` tables of entity, and document or passage.
    """
    graph_path, tables, places = Path(path), tuple(map(Path, names)), tuple(map(Path, mentions))
    for option, files in (("", (graph_path,)), ("--names", tables), ("--mentions", places)):
        for file in files:
            if not file.is_file():
                wanted = f"for {option} give a table" if option else "give a graph file"
                raise InputError(f'"{printable_path(file)}" is no file; {wanted} (see clew kg import --help)')
    file_kind = kind or _kind_of_suffix(graph_path)
    if file_kind not in FILE_KINDS:
        suffixes = " ".join(suffix for kind_suffixes in FILE_KINDS.values() for suffix in kind_suffixes)
        without_suffix = f'"{printable_path(graph_path.name)}" has no suffix of a known format'
        problem = f"--format is {kind!r}" if kind else without_suffix
        wanted = f"{', '.join(FILE_KINDS)} by --format, or a file of {suffixes}, also with .gz"
        raise InputError(f"{problem}; wanted {wanted}")
    if delimiter is not None and file_kind not in ("tsv", "csv"):
        raise InputError(f"--delimiter is for tsv and csv, and this file is {file_kind}; leave it out")
    is_no_separator = file_kind == "csv" and (len(delimiter or ",") != 1 or delimiter == '"')
    if delimiter is not None and (not delimiter or is_no_separator or {*delimiter} & {"\n", "\r"}):
        wanted = "one character, or more for tsv, neither the end of a line nor the quotes of CSV"
        raise InputError(f"--delimiter is {delimiter!r}; wanted {wanted}")
    _check_encoding(encoding)
    for file in (graph_path, *tables, *places):
        with _open_bytes(file, encoding) as stream:
            stream.read(1)
    return GraphFile(
        graph_path, file_kind, encoding, delimiter or ("," if file_kind == "csv" else "\t"), tables, places
    )


def read_text_lines(stream: IO[bytes], encoding: str, longest: int = MAX_LINE_CHARACTERS) -> Generator[str]:
    """Yield lines with their ends, undecodable bytes as lone surrogates.

    A line of more than `longest` characters is not held: its beginning ends with `CUT`, which makes it malformed.
    """
    text = _decode(stream, encoding)
    try:
        while line := text.readline(longest):
            if len(line) == longest and not line.endswith("\n"):
                line = f"{line[:99]}{CUT}\n"
                while (rest := text.readline(MAX_LINE_CHARACTERS)) and not rest.endswith("\n"):
                    pass
            yield line
    finally:
        text.detach()  # the caller closes the stream


def _read_text(stream: IO[bytes], encoding: str) -> str:
    """Return a text whole, undecodable bytes as lone surrogates; its lines may have any length."""
    text = _decode(stream, encoding)
    try:
        return text.read()
    finally:
        text.detach()  # the caller closes the stream


def _decode(stream: IO[bytes], encoding: str) -> TextIOWrapper:
    name = "utf-8-sig" if codecs.lookup(encoding).name == UTF8 else encoding
    # A line ends only at \n, so that line numbers are those that editors show.
    return TextIOWrapper(cast("BufferedReader", stream), name, errors="surrogateescape", newline="\n")


def _kind_of_suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = (suffixes[:-1] if suffixes[-1:] == [".gz"] else suffixes)[-1:]
    return next((kind for kind, suffixes in FILE_KINDS.items() if suffix and suffix[0] in suffixes), "")


def _check_encoding(encoding: str) -> None:
    try:
        if isinstance("".encode(encoding), bytes):
            return
    except (LookupError, ValueError):
        pass
    raise InputError(f"--encoding is {encoding!r}; wanted an encoding such as utf-8, utf-16, latin-1 or cp1252")


@contextmanager
def _open_bytes(path: Path, encoding: str) -> Iterator[IO[bytes]]:
    """Yield a file's decompressed bytes; errors while reading are raised as an InputError that names the file."""
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
        raise InputError(f"{name} is incomplete, or no gzip file ({error}): get it again") from error
    except UnicodeError as error:  # some codecs raise others than UnicodeDecodeError
        reason = getattr(error, "reason", error)
        raise InputError(f"{name} is not in {encoding} ({reason}): give its --encoding") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror or error})") from error


def _check_head(head: bytes, name: str, encoding: str) -> None:
    if codecs.lookup(encoding).name != UTF8:
        return
    for mark, actual in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise InputError(f"{name} is in {actual.upper()}, as its first bytes show: give --encoding {actual}")
    if head.count(0) * 8 > len(head):
        raise InputError(f"{name} is binary, or text in UTF-16 (NUL bytes): give --encoding, or convert it to UTF-8")
