"""AMR graphs: the words on shortest paths from the question, and the parts that graphs have in common.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), section 3, for the word
sequence of a question-passage pair and for common nodes and edges as features of the edge between two passages.
Differs from the source: edges are traversed in both directions; among equally short paths the lexicographically smaller
positions win, and shorter paths come first, both unspecified in the source; `ignored` concepts are not counted, since
all graphs of one question share the question's concepts, which the source counts.
"""

import re
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from clew.arrays import IntArray, LongArray
from clew.errors import InputError

QUESTION = "question"
VARIABLE = re.compile(r"[a-z]\d*")  # the name of a node in a text form
_SENSE = re.compile(r"(.*[^\W\d_].*)-\d{2,3}")
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class AMRGraph:
    """Concepts and the relations between them; parallel edges are allowed."""

    concepts: tuple[str, ...]  # (n,) as written: `win-01` with its sense, constants and names in quotes
    # (m,) position of the source concept, relation, position of the target
    edges: tuple[tuple[int, str, int], ...] = ()
    top: int = 0  # position of the root concept; 0 in an empty graph

    def __post_init__(self) -> None:
        size = len(self.concepts)
        for edge in self.edges:
            if not (0 <= edge[0] < size and 0 <= edge[2] < size):
                raise InputError(f"the edge {edge} of a graph of {size} concepts: wanted positions below {size}")
        if not (0 <= self.top < size or self.top == size == 0):
            raise InputError(f"the top {self.top} of a graph of {size} concepts: wanted a position below {size}")


@lru_cache(maxsize=1 << 16)
def plain_word(concept: str) -> str:
    """Return a concept without its sense (`win` for `win-01`), a constant or name without its quotes."""
    if len(concept) > 1 and concept[0] == concept[-1] == '"':
        return _ESCAPED.sub(r"\1", concept[1:-1])
    sense = _SENSE.fullmatch(concept)
    return sense[1] if sense else concept


def path_words(graph: AMRGraph, start: str = QUESTION) -> tuple[str, ...]:
    """Return the words on shortest paths from the concepts that mean `start`, each once, in path order; () for none.

    Each reachable concept has one path, over edges in either direction: the shortest, ties broken by smaller positions
    from the start on. A path that is a prefix of another is dropped; the rest are ordered by length, then by positions.
    """
    neighbours = _neighbours(graph)
    level = [place for place, concept in enumerate(graph.concepts) if plain_word(concept) == start]
    parents = dict.fromkeys(level, -1)
    ends: list[int] = []
    while level:
        # Nodes are in the order of their paths, so the first to reach a concept has the smaller path to it.
        next_level: list[int] = []
        for node in level:
            new = [other for other in neighbours.get(node, ()) if other not in parents]
            parents.update(dict.fromkeys(new, node))
            next_level += new
            if not new:
                ends.append(node)
        level = next_level
    visited: dict[int, None] = {}
    for end in ends:
        visited.update(dict.fromkeys(_path_to(parents, end, visited)))
    words = (plain_word(graph.concepts[node]) for node in visited)
    return tuple(dict.fromkeys(filter(None, words)))


def path_lengths(graph: AMRGraph, start: str = QUESTION) -> tuple[int, ...]:
    """Return for each concept (n,) the edges on its shortest path from those that mean `start`; -1 where there is none.

    Edges are passed in either direction, as in `path_words`.
    """
    neighbours = _neighbours(graph)
    level = [place for place, concept in enumerate(graph.concepts) if plain_word(concept) == start]
    lengths = dict.fromkeys(level, 0)
    while level:
        length = lengths[level[0]] + 1
        level = [other for node in level for other in neighbours.get(node, ()) if other not in lengths]
        lengths.update(dict.fromkeys(level, length))
        level = list(dict.fromkeys(level))
    return tuple(lengths.get(place, -1) for place in range(len(graph.concepts)))


def count_common_parts(graphs: Sequence[AMRGraph], ignored: Collection[str] = ()) -> IntArray:
    """Count the common concepts and edges of each pair of graphs.

    `ignored` concepts, as written, are not counted, nor their edges. Returns (n, n, 2), symmetric, 0 on the diagonal:
    the number of distinct common concepts, and of distinct common edges (concept, relation, concept).
    """
    concept_ids: dict[str, int] = {}
    relation_ids: dict[str, int] = {}
    nodes: list[LongArray] = []
    edges: list[LongArray] = []
    for graph in graphs:
        ids = np.array([concept_ids.setdefault(c, len(concept_ids)) for c in graph.concepts], dtype=np.int64)
        heads, names, tails = zip(*graph.edges, strict=True) if graph.edges else ((), (), ())
        relations = np.array([relation_ids.setdefault(name, len(relation_ids)) for name in names], dtype=np.int64)
        nodes.append(ids)
        edges.append(np.stack([ids[np.array(heads, dtype=np.int64)], relations, ids[np.array(tails, dtype=np.int64)]]))
    ignored_ids = [concept_ids[concept] for concept in ignored if concept in concept_ids]
    nodes = [ids[~np.isin(ids, ignored_ids)] for ids in nodes]
    edges = [e[:, ~(np.isin(e[0], ignored_ids) | np.isin(e[2], ignored_ids))] for e in edges]
    edge_ids = [(e[0] * len(relation_ids) + e[1]) * len(concept_ids) + e[2] for e in edges]
    return np.stack([_count_shared(nodes), _count_shared(edge_ids)], axis=-1)


def _count_shared(parts: Sequence[LongArray]) -> IntArray:
    """Return the number of distinct ids that each pair of arrays shares (n, n), 0 on the diagonal."""
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    _, columns, counts = np.unique(flat, return_inverse=True, return_counts=True)
    # Most ids are in one array only and need no column.
    repeated = counts > 1
    column_of = np.cumsum(repeated) - 1
    in_column = repeated[columns]
    incidence = np.zeros((len(parts), int(repeated.sum())), dtype=np.float32)
    incidence[owners[in_column], column_of[columns[in_column]]] = 1.0
    shared: IntArray = (incidence @ incidence.T).astype(np.int32)
    np.fill_diagonal(shared, 0)
    return shared


def _neighbours(graph: AMRGraph) -> dict[int, list[int]]:
    """Return each concept's neighbours over edges in either direction, ascending."""
    neighbours: dict[int, list[int]] = {}
    directed = [(head, tail) for head, _, tail in graph.edges]
    for head, tail in sorted({*directed, *((tail, head) for head, tail in directed)}):
        neighbours.setdefault(head, []).append(tail)
    return neighbours


def _path_to(parents: dict[int, int], end: int, visited: Container[int]) -> list[int]:
    """Return the positions on the path to `end`, without its visited prefix."""
    path: list[int] = []
    while end >= 0 and end not in visited:
        path.append(end)
        end = parents[end]
    return path[::-1]
