"""Files of AMR graphs in PENMAN notation: lines `# ::key value`, then a graph, then an empty line.

A graph of a question and a passage says so by `::question`, the question's text, and `::passage`, the passage's id or
text; or by `::snt`, the text that was parsed. Several keys may share a line, but `snt`, `question` and `passage` take
the rest of theirs. Comments without a key are passed over. A graph begins where a line begins with a bracket.

Source: the guidelines of AMR (Banarescu et al., 2013), for metadata in comments before a graph; Dong et al., "Don't
Forget to Connect!" (2024), for one graph a question-passage pair. Differs from the source: the keys of a pair are
Clew's own; a malformed graph is kept as it stands, with what is wrong with it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from clew.errors import InputError
from clew.rerankers.amr.graph import AMRGraph
from clew.rerankers.amr.penman_notation import format_penman, parse_penman
from clew.store.atomic import write_text
from clew.types import Failure

TEXT_KEYS = ("snt", "question", "passage")
_KEY = re.compile(r"(?:^|(?<=\s))::(\S+)")


@dataclass(frozen=True, slots=True)
class AMREntry:
    """A graph of a file.

    Attributes:
        metadata: Keys with their values, in order; a key may stand there twice.
        notation: The graph as written; "" where metadata stand alone.
        graph: What the notation stands for, or why it stands for nothing: the `item` is the file and the line.
        line: The number of its first line in the file.
    """

    metadata: tuple[tuple[str, str], ...]
    notation: str
    graph: AMRGraph | Failure = field(compare=False)
    line: int = field(default=1, compare=False)

    def value(self, key: str) -> str:
        """Return the first value of a key, "" when there is none."""
        return next((value for known, value in self.metadata if known == key), "")


def amr_entry(notation: str, metadata: Sequence[tuple[str, str]] = ()) -> AMREntry:
    """Return an entry to be written: the notation laid out anew, each value on one line.

    Raises:
        InputError: The notation is malformed.
        ProviderError: The package `penman` is not installed.
    """
    laid_out = format_penman(notation)
    return AMREntry(tuple((key, " ".join(value.split())) for key, value in metadata), laid_out, parse_penman(laid_out))


def read_amr(path: str | Path) -> list[AMREntry]:
    """Return the entries of a file, in order; a malformed graph is one whose `graph` is a `Failure`.

    Args:
        path: UTF-8.

    Raises:
        InputError: The file cannot be read.
        ProviderError: The package `penman` is not installed.
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
    """Write entries that are read back equal, in one step: a file that is there stays as it is until then.

    Raises:
        InputError: An entry would be read back otherwise: a value holds a line's end, or a graph is cut in two.
        ProviderError: The disk refused, or the package `penman` is not installed.
    """
    path = Path(path)
    text = "\n".join(_format_entry(entry) for entry in entries)
    for number, (entry, again) in enumerate(zip_longest(entries, _parse_entries(text, ""))):
        if entry != again:
            message = f"entry {number} of {len(entries)} would be read back otherwise"
            raise InputError(f"{message}: make it with amr_entry, which puts values and graphs in order")
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
        return Failure(f"{place}:{line}", f"line {line}: metadata without a graph: add the graph after them")
    try:
        return parse_penman(notation, line)
    except InputError as error:
        return Failure(f"{place}:{line}", str(error))


_Lines = list[tuple[int, str]]


def _split_blocks(text: str) -> Iterator[tuple[_Lines, _Lines]]:
    """Yield the numbered comments before each graph, and the graph's own lines; either may be missing."""
    comments: _Lines = []
    graph: _Lines = []
    ended = False  # by an empty line
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
    """Return the keys and values of a comment."""
    found: list[tuple[str, str]] = []
    rest = line.lstrip("#").strip()
    keys = list(_KEY.finditer(rest))
    for key, after in zip_longest(keys, keys[1:]):
        if key[1] in TEXT_KEYS:
            return [*found, (key[1], rest[key.end() :].strip())]
        found.append((key[1], rest[key.end() : after.start() if after else None].strip()))
    return found
