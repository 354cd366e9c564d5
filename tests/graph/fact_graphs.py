"""Random multigraphs for property tests: cycles, self-edges, parallel facts, hubs, isolated entities, empty graphs."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from clew.graph.subgraphs.k_hop import LocalGraph
from clew.graph.subgraphs.textual_graph import FactGraph, fact_graph
from tests.oracles.facts import Fact, Step

if TYPE_CHECKING:
    from clew.types import BoolArray, IntArray


@dataclass(frozen=True)
class FactSet:
    """Facts of some entities, some of them blocked."""

    facts: list[Fact]
    entity_count: int
    blocked: set[int]

    @property
    def triples(self) -> "IntArray":
        return np.array(self.facts, dtype=np.int32).reshape(-1, 3)

    @property
    def graph(self) -> FactGraph:
        return fact_graph(self.triples, self.entity_count)

    @property
    def blocked_mask(self) -> "BoolArray | None":
        """Blocked triples (T,), None if there are none."""
        if not self.blocked:
            return None
        mask = np.zeros(len(self.facts), dtype=np.bool_)
        mask[list(self.blocked)] = True
        return mask


@st.composite
def fact_sets(draw: st.DrawFn, max_entities: int = 9, max_facts: int = 24, min_entities: int = 0) -> FactSet:
    """Draw facts; half of the time one entity is a hub, and often a fact is repeated."""
    count = draw(st.integers(min_entities, max_entities))
    if not count:
        return FactSet([], 0, set())
    node = st.integers(0, count - 1)
    facts = draw(st.lists(st.tuples(node, st.integers(0, 3), node), max_size=max_facts))
    if draw(st.booleans()):
        hub = draw(node)
        facts = [
            (hub, relation, tail) if i % 2 else (tail, relation, hub) for i, (_, relation, tail) in enumerate(facts)
        ]
    blocked = draw(st.sets(st.integers(0, len(facts) - 1), max_size=3)) if facts else set()
    return FactSet(facts, count, blocked)


def draw_entities(facts: FactSet, *, min_size: int = 0) -> st.SearchStrategy[list[int]]:
    """Return a strategy for distinct entities in any order."""
    if not facts.entity_count:
        return st.just([])
    return st.lists(st.integers(0, facts.entity_count - 1), min_size=min_size, max_size=facts.entity_count, unique=True)


def rows(graph: FactGraph | LocalGraph) -> list[list[Step]]:
    """Return the rows of a graph as lists of (neighbour, code)."""
    pairs = list(zip(graph.neighbours.tolist(), graph.edges.tolist(), strict=True))
    bounds = graph.indptr.tolist()
    return [pairs[first:last] for first, last in pairwise(bounds)]
