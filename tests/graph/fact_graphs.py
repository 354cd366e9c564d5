"""Random multigraphs for properties: loops, self-edges, parallel facts, hubs, isolated entities, nothing at all."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from clew.graph.subgraphs.fact_graph import FactGraph, fact_graph
from clew.graph.subgraphs.induced import LocalGraph
from tests.oracles.facts import Fact, Step

if TYPE_CHECKING:
    from clew.types import BoolArray, IntArray


@dataclass(frozen=True)
class Facts:
    """Facts of some entities, of which some are closed."""

    facts: list[Fact]
    entities: int
    closed: set[int]

    @property
    def triples(self) -> "IntArray":
        return np.array(self.facts, dtype=np.int32).reshape(-1, 3)

    @property
    def graph(self) -> FactGraph:
        return fact_graph(self.triples, self.entities)

    @property
    def mask(self) -> "BoolArray | None":
        """Closed triples (T,), None where none is."""
        if not self.closed:
            return None
        mask = np.zeros(len(self.facts), dtype=np.bool_)
        mask[list(self.closed)] = True
        return mask


@st.composite
def facts(draw: st.DrawFn, entities: int = 9, most: int = 24, least: int = 0) -> Facts:
    """Draw facts; half of the time one entity is a hub, and often a fact is told twice."""
    count = draw(st.integers(least, entities))
    if not count:
        return Facts([], 0, set())
    node = st.integers(0, count - 1)
    found = draw(st.lists(st.tuples(node, st.integers(0, 3), node), max_size=most))
    if draw(st.booleans()):
        hub = draw(node)
        found = [
            (hub, relation, tail) if i % 2 else (tail, relation, hub) for i, (_, relation, tail) in enumerate(found)
        ]
    closed = draw(st.sets(st.integers(0, len(found) - 1), max_size=3)) if found else set()
    return Facts(found, count, closed)


def some_nodes(facts: Facts, *, least: int = 0) -> st.SearchStrategy[list[int]]:
    """Entities, each once, in any order."""
    if not facts.entities:
        return st.just([])
    return st.lists(st.integers(0, facts.entities - 1), min_size=least, max_size=facts.entities, unique=True)


def rows(graph: FactGraph | LocalGraph) -> list[list[Step]]:
    """The rows of a graph as lists of (neighbour, code)."""
    pairs = list(zip(graph.neighbours.tolist(), graph.edges.tolist(), strict=True))
    bounds = graph.indptr.tolist()
    return [pairs[first:last] for first, last in pairwise(bounds)]
