"""Ways to choose a part of a textual graph that nothing is learned for: each implements `SubgraphSelector`."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar, Protocol, final

import numpy as np

from clew.errors import InputError
from clew.graph.subgraphs.prizes import EDGE_COST, edge_prizes, grow_to_budget, node_prizes, prize_tree, prune_to_budget
from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph, full_subgraph, induced_subgraph
from clew.ranking import top_order

if TYPE_CHECKING:
    from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph
    from clew.types import FloatArray


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
    cost: float = EDGE_COST
    fill: bool = False
    name: ClassVar[str] = "steiner"

    @property
    def fingerprint(self) -> str:
        """The settings."""
        return repr(self)

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return a tree of each graph; of a graph without edges its likest nodes (see `SubgraphSelector`)."""
        check_budget(budget)
        return [self._select_one(one, budget) for one in queries]

    def _select_one(self, asked: GraphQuery, budget: int) -> Subgraph:
        graph, likeness = asked.graph.graph, node_similarity(asked)
        if not len(graph.edges):
            return _most_similar(asked, budget)
        of_nodes, of_edges = node_prizes(likeness, self.topk), edge_prizes(edge_similarity(asked), self.topk_e)
        tree = prune_to_budget(
            prize_tree(graph.edges, of_nodes, of_edges, self.cost), graph.edges, of_nodes, of_edges, budget
        )
        return grow_to_budget(tree, graph.edges, likeness, budget) if self.fill else tree


@final
@dataclass(frozen=True, slots=True)
class TopNodes:
    """The nodes whose texts are likest to the question, and all edges among them."""

    name: ClassVar[str] = "top-nodes"

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return the likest nodes of each graph, ties by position (see `SubgraphSelector`)."""
        check_budget(budget)
        return [_most_similar(one, budget) for one in queries]


@final
@dataclass(frozen=True, slots=True)
class EgoGraph:
    """What is around the nodes that the question names, or around the likest one where it names none.

    Attributes:
        hops: How far, at most.
    """

    hops: int = 2
    name: ClassVar[str] = "ego"

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return the nearest nodes of each graph, the likest of equally near ones first (see `SubgraphSelector`)."""
        check_budget(budget)
        return [self._select_one(one, budget) for one in queries]

    def _select_one(self, asked: GraphQuery, budget: int) -> Subgraph:
        graph, likeness = asked.graph.graph, node_similarity(asked)
        if not len(likeness):
            return induced_subgraph(graph, ())
        centres = asked.topics if len(asked.topics) else top_order(likeness, 1)
        hops = _hop_distances(graph.edges, np.asarray(centres, dtype=np.int64), len(likeness), self.hops)
        near = np.flatnonzero(hops <= self.hops)
        order = np.lexsort((near, -likeness[near], hops[near]))
        return induced_subgraph(graph, near[order[:budget]].astype(np.int32))


@final
@dataclass(frozen=True, slots=True)
class RandomNodes:
    """Nodes by chance, and all edges among them: what any choice has to be better than.

    Attributes:
        seed: With the question and the number of nodes it decides; where in a call a question stands does not.
    """

    seed: int = 0
    name: ClassVar[str] = "random"

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return nodes of each graph, each as likely (see `SubgraphSelector`)."""
        check_budget(budget)
        return [self._select_one(one, budget) for one in queries]

    def _select_one(self, asked: GraphQuery, budget: int) -> Subgraph:
        graph = asked.graph.graph
        question = np.ascontiguousarray(asked.question_vector, dtype="<f4").tobytes()
        words = np.frombuffer(blake2b(question, digest_size=16).digest(), dtype="<u4")
        chance = np.random.default_rng([self.seed, len(graph.nodes), *words.tolist()])
        return induced_subgraph(graph, chance.permutation(len(graph.nodes))[:budget].astype(np.int32))


@final
@dataclass(frozen=True, slots=True)
class WholeGraph:
    """All of a graph, whatever the budget says: what a reader without retrieval is given."""

    name: ClassVar[str] = "whole"

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return all of each graph, which may be more than `budget` nodes (see `SubgraphSelector`)."""
        check_budget(budget)
        return [full_subgraph(one.graph.graph) for one in queries]


def check_budget(budget: int) -> None:
    """Refuse a budget below 1.

    Raises:
        InputError: It is.
    """
    if budget < 1:
        raise InputError(f"a part of a graph of {budget} nodes: ask for at least 1")


def node_similarity(asked: GraphQuery) -> "FloatArray":
    """Return the cosine (n,) of every node's text with the question."""
    return _similarity(asked.graph.node_vectors, asked.question_vector)


def edge_similarity(asked: GraphQuery) -> "FloatArray":
    """Return the cosine (m,) of every edge's text with the question; equal texts have equal ones."""
    return _similarity(asked.graph.relation_vectors, asked.question_vector)[asked.graph.edge_relations]


def _similarity(vectors: "FloatArray", question: "FloatArray") -> "FloatArray":
    return np.asarray(vectors @ question if len(vectors) else np.zeros(0), dtype=np.float32)


def _most_similar(asked: GraphQuery, budget: int) -> Subgraph:
    return induced_subgraph(asked.graph.graph, top_order(node_similarity(asked), budget).astype(np.int32))


def _hop_distances(edges: "IntArray", centres: "IntArray", count: int, most: int) -> "IntArray":
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


class SubgraphSelector(Protocol):
    """Questions on textual graphs in, the part of each graph that a reader gets out."""

    def select(self, queries: Sequence["GraphQuery"], budget: int) -> "list[Subgraph]":
        """Return for each question a part of its graph of at most `budget` nodes, whose order means nothing.

        Raises:
            InputError: `budget` is below 1.
        """
        ...
