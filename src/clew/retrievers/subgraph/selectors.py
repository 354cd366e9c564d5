"""Ways to choose a part of a textual graph that nothing is learned for: each implements `SubgraphSelector`."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from clew.errors import InputError
from clew.graph.subgraphs.prizes import COST, edge_prizes, grown, node_prizes, prize_tree, within
from clew.graph.subgraphs.textual_graph import AskedGraph, Subgraph, induced, whole
from clew.ranking import top_order

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray

TOP_NODES, TOP_EDGES = 3, 5
"""G-Retriever's, for a knowledge graph (WebQSP in its code)."""


@final
@dataclass(frozen=True, slots=True)
class SteinerSelector:
    """G-Retriever's tree (see `graph.prize_trees`); of one with more nodes than the budget the best are kept.

    Attributes:
        topk: Nodes that have a prize.
        topk_e: Values of similarity of edges that have one.
        cost: Of an edge.
        fill: Whether a tree of fewer nodes than the budget is filled up with its likest neighbours.
    """

    topk: int = TOP_NODES
    topk_e: int = TOP_EDGES
    cost: float = COST
    fill: bool = False
    name: ClassVar[str] = "steiner"

    @property
    def fingerprint(self) -> str:
        """The settings."""
        return repr(self)

    def select(self, asked: Sequence[AskedGraph], budget: int) -> list[Subgraph]:
        """Return a tree of each graph; of a graph without edges its likest nodes (see `SubgraphSelector`)."""
        check_budget(budget)
        return [self._selected(one, budget) for one in asked]

    def _selected(self, asked: AskedGraph, budget: int) -> Subgraph:
        graph, likeness = asked.graph.graph, node_likeness(asked)
        if not len(graph.edges):
            return _likest(asked, budget)
        of_nodes, of_edges = node_prizes(likeness, self.topk), edge_prizes(edge_likeness(asked), self.topk_e)
        tree = within(prize_tree(graph.edges, of_nodes, of_edges, self.cost), graph.edges, of_nodes, of_edges, budget)
        return grown(tree, graph.edges, likeness, budget) if self.fill else tree


@final
@dataclass(frozen=True, slots=True)
class TopNodes:
    """The nodes whose texts are likest to the question, and all edges among them."""

    name: ClassVar[str] = "top-nodes"

    def select(self, asked: Sequence[AskedGraph], budget: int) -> list[Subgraph]:
        """Return the likest nodes of each graph, ties by position (see `SubgraphSelector`)."""
        check_budget(budget)
        return [_likest(one, budget) for one in asked]


@final
@dataclass(frozen=True, slots=True)
class EgoGraph:
    """What is around the nodes that the question names, or around the likest one where it names none.

    Attributes:
        hops: How far, at most.
    """

    hops: int = 2
    name: ClassVar[str] = "ego"

    def select(self, asked: Sequence[AskedGraph], budget: int) -> list[Subgraph]:
        """Return the nearest nodes of each graph, the likest of equally near ones first (see `SubgraphSelector`)."""
        check_budget(budget)
        return [self._selected(one, budget) for one in asked]

    def _selected(self, asked: AskedGraph, budget: int) -> Subgraph:
        graph, likeness = asked.graph.graph, node_likeness(asked)
        if not len(likeness):
            return induced(graph, ())
        centres = asked.topics if len(asked.topics) else top_order(likeness, 1)
        hops = _hops(graph.edges, np.asarray(centres, dtype=np.int64), len(likeness), self.hops)
        near = np.flatnonzero(hops <= self.hops)
        order = np.lexsort((near, -likeness[near], hops[near]))
        return induced(graph, near[order[:budget]].astype(np.int32))


@final
@dataclass(frozen=True, slots=True)
class RandomNodes:
    """Nodes by chance, and all edges among them: what any choice has to be better than.

    Attributes:
        seed: With the question and the number of nodes it decides; where in a call a question stands does not.
    """

    seed: int = 0
    name: ClassVar[str] = "random"

    def select(self, asked: Sequence[AskedGraph], budget: int) -> list[Subgraph]:
        """Return nodes of each graph, each as likely (see `SubgraphSelector`)."""
        check_budget(budget)
        return [self._selected(one, budget) for one in asked]

    def _selected(self, asked: AskedGraph, budget: int) -> Subgraph:
        graph = asked.graph.graph
        question = np.ascontiguousarray(asked.question, dtype="<f4").tobytes()
        words = np.frombuffer(blake2b(question, digest_size=16).digest(), dtype="<u4")
        chance = np.random.default_rng([self.seed, len(graph.nodes), *words.tolist()])
        return induced(graph, chance.permutation(len(graph.nodes))[:budget].astype(np.int32))


@final
@dataclass(frozen=True, slots=True)
class WholeGraph:
    """All of a graph, whatever the budget says: what a reader without retrieval is given."""

    name: ClassVar[str] = "whole"

    def select(self, asked: Sequence[AskedGraph], budget: int) -> list[Subgraph]:
        """Return all of each graph, which may be more than `budget` nodes (see `SubgraphSelector`)."""
        check_budget(budget)
        return [whole(one.graph.graph) for one in asked]


def check_budget(budget: int) -> None:
    """Refuse a budget below 1.

    Raises:
        InputError: It is.
    """
    if budget < 1:
        raise InputError(f"a part of a graph of {budget} nodes: ask for at least 1")


def node_likeness(asked: AskedGraph) -> "FloatArray":
    """Return the cosine (n,) of every node's text with the question."""
    return _likeness(asked.graph.nodes, asked.question)


def edge_likeness(asked: AskedGraph) -> "FloatArray":
    """Return the cosine (m,) of every edge's text with the question; equal texts have equal ones."""
    return _likeness(asked.graph.relations, asked.question)[asked.graph.relation_of]


def _likeness(vectors: "FloatArray", question: "FloatArray") -> "FloatArray":
    return np.asarray(vectors @ question if len(vectors) else np.zeros(0), dtype=np.float32)


def _likest(asked: AskedGraph, budget: int) -> Subgraph:
    return induced(asked.graph.graph, top_order(node_likeness(asked), budget).astype(np.int32))


def _hops(edges: "IntArray", centres: "IntArray", count: int, most: int) -> "IntArray":
    """Return the distance (count,) of every node from the nearest centre, `most + 1` for what is farther."""
    hops = np.full(count, most + 1, dtype=np.int32)
    hops[centres] = 0
    for hop in range(1, most + 1 if len(edges) else 0):
        last = hops == hop - 1
        found = np.concatenate([edges[last[edges[:, 0]], 1], edges[last[edges[:, 1]], 0]])
        found = found[hops[found] > hop]
        if not len(found):
            break
        hops[found] = hop
    return hops
