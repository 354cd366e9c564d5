"""Graphs of meaning (AMR): the words on the ways from the question, and what graphs have in common.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), section 3, for the word
sequence of a question-passage pair and for common nodes and edges as features of the edge between two passages.
Differs from the source: edges are walked in both directions; of equally short ways the one with the smaller positions
counts, and shorter ways come first, where the source says neither; `without` leaves concepts out of the counts, since
all graphs of one question share what the question says, which the source counts.
"""

import re
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import IntArray, LongArray

QUESTION = "question"
_SENSE = re.compile(r"(.*[^\W\d_].*)-\d{2,3}")
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class AMRGraph:
    """Concepts and the relations between them; parallel edges are allowed.

    Attributes:
        concepts: (n,) as written: `win-01` with its sense, constants and names in their quotes.
        edges: (m,) the position of a concept, a relation, the position of another.
        top: The position of what the graph is mainly about; 0 in an empty graph.
    """

    concepts: tuple[str, ...]
    edges: tuple[tuple[int, str, int], ...] = ()
    top: int = 0

    def __post_init__(self) -> None:
        size = len(self.concepts)
        for edge in self.edges:
            if not (0 <= edge[0] < size and 0 <= edge[2] < size):
                raise InputError(f"the edge {edge} of a graph of {size} concepts: wanted positions below {size}")
        if not (0 <= self.top < size or self.top == size == 0):
            raise InputError(f"the top {self.top} of a graph of {size} concepts: wanted a position below {size}")


@lru_cache(maxsize=1 << 16)
def plain_word(concept: str) -> str:
    """Return a concept in plain words: `win` for `win-01`, a constant or a name without its quotes."""
    if len(concept) > 1 and concept[0] == concept[-1] == '"':
        return _ESCAPED.sub(r"\1", concept[1:-1])
    sense = _SENSE.fullmatch(concept)
    return sense[1] if sense else concept


def path_words(graph: AMRGraph, start: str = QUESTION) -> tuple[str, ...]:
    """Return the words on the shortest paths from the concepts that mean `start`, each once, in the order of the paths.

    To every concept that can be reached there is one path, over edges in either direction: of those with the fewest
    edges the one whose positions are smaller from the start on. A path that is the beginning of another is left out;
    the others come shortest first, then by their positions.

    Args:
        graph: Of a question and a passage.
        start: A word, as `word` returns it; several concepts may mean it.

    Returns:
        Beginning with `start`; () where no concept means it.
    """
    neighbours = _neighbours(graph)
    level = [place for place, concept in enumerate(graph.concepts) if plain_word(concept) == start]
    parents = dict.fromkeys(level, -1)
    ends: list[int] = []
    while level:
        # In the order of their own paths, so that the first to reach a concept has the smaller path to it.
        below: list[int] = []
        for node in level:
            reached = len(below)
            for other in neighbours.get(node, ()):
                if other not in parents:
                    parents[other] = node
                    below.append(other)
            if len(below) == reached:
                ends.append(node)
        level = below
    walked: dict[int, None] = {}
    for end in ends:
        walked.update(dict.fromkeys(_path_to(parents, end, walked)))
    words = (plain_word(graph.concepts[node]) for node in walked)
    return tuple(dict.fromkeys(found for found in words if found))


def count_common_parts(graphs: Sequence[AMRGraph], ignored: Collection[str] = ()) -> "IntArray":
    """Count what each two graphs have in common.

    Args:
        graphs: n of them.
        ignored: Concepts, as written, that count for nothing, nor do edges at them: for example the question's.

    Returns:
        (n, n, 2), symmetric, 0 on the diagonal: the different concepts that both hold, and the different edges
        (concept, relation, concept) that both hold.
    """
    numbers: dict[str, int] = {}
    relations: dict[str, int] = {}
    nodes: list[LongArray] = []
    edges: list[LongArray] = []
    for graph in graphs:
        own = np.array([numbers.setdefault(c, len(numbers)) for c in graph.concepts], dtype=np.int64)
        heads, names, tails = zip(*graph.edges, strict=True) if graph.edges else ((), (), ())
        kinds = np.array([relations.setdefault(name, len(relations)) for name in names], dtype=np.int64)
        nodes.append(own)
        edges.append(np.stack([own[np.array(heads, dtype=np.int64)], kinds, own[np.array(tails, dtype=np.int64)]]))
    left_out = [numbers[concept] for concept in ignored if concept in numbers]
    kept = [own[~np.isin(own, left_out)] for own in nodes] if left_out else nodes
    if left_out:
        edges = [e[:, ~(np.isin(e[0], left_out) | np.isin(e[2], left_out))] for e in edges]
    stated = [(e[0] * len(relations) + e[1]) * len(numbers) + e[2] for e in edges]
    return np.stack([_count_shared(kept), _count_shared(stated)], axis=-1)


def _count_shared(parts: "Sequence[LongArray]") -> "IntArray":
    """Return how many different numbers each two arrays share (n, n), 0 on the diagonal."""
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    _, columns, counts = np.unique(flat, return_inverse=True, return_counts=True)
    # Most stand in one array alone, and say nothing of two.
    repeated = counts > 1
    column_of = np.cumsum(repeated) - 1
    chosen = repeated[columns]
    held = np.zeros((len(parts), int(repeated.sum())), dtype=np.float32)
    held[owners[chosen], column_of[columns[chosen]]] = 1.0
    shared: IntArray = (held @ held.T).astype(np.int32)
    np.fill_diagonal(shared, 0)
    return shared


def _neighbours(graph: AMRGraph) -> dict[int, list[int]]:
    """Return the ends of each concept's edges in either direction, ascending."""
    found: dict[int, list[int]] = {}
    directed = [(head, tail) for head, _, tail in graph.edges]
    for head, tail in sorted({*directed, *((tail, head) for head, tail in directed)}):
        found.setdefault(head, []).append(tail)
    return found


def _path_to(parents: dict[int, int], end: int, visited: Container[int]) -> list[int]:
    """Return the positions on the path to `end`, without its beginning where that is known."""
    walk: list[int] = []
    while end >= 0 and end not in visited:
        walk.append(end)
        end = parents[end]
    return walk[::-1]
