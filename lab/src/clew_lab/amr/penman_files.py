"""Files of AMR graphs in PENMAN notation: metadata lines `# ::key value`, then a graph, then an empty line.

The graph of a question-passage pair is identified by `::question` (the question's text) and `::passage` (the passage's
id or text), or by `::snt` (the parsed text). A line may hold several keys, but `snt`, `question` and `passage` take the
rest of theirs. Comments without a key are ignored. A graph starts at a line that starts with a bracket.

Source: the guidelines of AMR (Banarescu et al., 2013), for metadata in comments before a graph; Dong et al., "Don't
Forget to Connect!" (2024), for one graph per question-passage pair. Differs from the source: the keys of a pair are our
own; a malformed graph is kept as written, with its fault.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from clew.errors import InputError
from clew.store.atomic import write_text
from clew.types import Failure
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.penman_notation import format_penman, parse_penman

TEXT_KEYS = ("snt", "question", "passage")
_KEY = re.compile(r"(?:^|(?<=\s))::(\S+)")


@dataclass(frozen=True, slots=True)
class AMREntry:
    """An entry of a file."""

    metadata: tuple[tuple[str, str], ...]  # keys and values, in order; a key may repeat
    notation: str  # the graph as written; "" for metadata without a graph
    graph: AMRGraph | Failure = field(compare=False)  # the parsed graph, or a failure whose `item` is the file and line
    line: int = field(default=1, compare=False)  # number of its first line in the file

    def value(self, key: str) -> str:
        """Return the first value of a key, "" without one."""
        return next((value for name, value in self.metadata if name == key), "")


def amr_entry(notation: str, metadata: Sequence[tuple[str, str]] = ()) -> AMREntry:
    """Return an entry to write, with the notation reformatted and each value on one line.

    Raises InputError where the notation is malformed; MissingPackageError where the package `penman` is not installed.
    """
    notation = format_penman(notation)
    values = tuple((key, " ".join(value.split())) for key, value in metadata)
    return AMREntry(values, notation, parse_penman(notation))


def read_amr(path: str | Path) -> list[AMREntry]:
    """Return the entries of a UTF-8 file, in order; the `graph` of a malformed one is a `Failure`.

    Raises InputError where the file cannot be read; MissingPackageError where the package `penman` is not installed.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: holds a byte that is not UTF-8 ({error.reason}); save the file as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a file of AMR graphs") from error
    return list(_parse_entries(text, str(path)))


def write_amr(path: str | Path, entries: Sequence[AMREntry]) -> None:
    """Write entries atomically, after checking that they are read back equal.

    Raises InputError where an entry would be read back differently: a value holds a line break, or a graph an empty
    line; ProviderError where the file cannot be written, MissingPackageError where `penman` is not installed.
    """
    path = Path(path)
    text = "\n".join(_format_entry(entry) for entry in entries)
    for number, (entry, again) in enumerate(zip_longest(entries, _parse_entries(text, ""))):
        if entry != again:
            message = f"entry {number} of {len(entries)} would be read back differently"
            raise InputError(f"{message}: make it with amr_entry, which normalizes values and graphs")
    write_text(path, text)


def _format_entry(entry: AMREntry) -> str:
    lines = [f"# ::{key} {value}".rstrip(" ") for key, value in entry.metadata]
    return "\n".join([*lines, *([entry.notation] if entry.notation else []), ""])


def _parse_entries(text: str, place: str) -> Iterator[AMREntry]:
    for comments, graph in _split_blocks(text):
        metadata = tuple(pair for _, line in comments for pair in _parse_metadata(line))
        if not (metadata or graph):
            continue
        first = (graph or comments)[0][0]
        notation = "\n".join(line for _, line in graph)
        yield AMREntry(metadata, notation, _parse_graph(notation, place, first), (comments or graph)[0][0])


def _parse_graph(notation: str, place: str, line: int) -> AMRGraph | Failure:
    if not notation:
        return Failure(f"{place}:{line}", f"line {line}: metadata without a graph: add the graph after it")
    try:
        return parse_penman(notation, line)
    except InputError as error:
        return Failure(f"{place}:{line}", str(error))


_Lines = list[tuple[int, str]]


def _split_blocks(text: str) -> Iterator[tuple[_Lines, _Lines]]:
    """Yield the numbered comments before each graph, and the graph's lines; either may be empty."""
    comments: _Lines = []
    graph: _Lines = []
    ended = False  # whether the line before was empty
    for number, line in enumerate(text.split("\n"), 1):
        content = line.rstrip()
        comment = content.startswith("#")
        opens = comment or content.startswith("(")
        if content and ((graph and (ended or opens)) or (comments and comment and ended)):
            yield comments, graph
            comments, graph = [], []
        if content:
            (comments if comment else graph).append((number, content))
        ended = not content
    yield comments, graph


def _parse_metadata(line: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    rest = line.lstrip("#").strip()
    keys = list(_KEY.finditer(rest))
    for key, after in zip_longest(keys, keys[1:]):
        if key[1] in TEXT_KEYS:
            return [*pairs, (key[1], rest[key.end() :].strip())]
        pairs.append((key[1], rest[key.end() : after.start() if after else None].strip()))
    return pairs
