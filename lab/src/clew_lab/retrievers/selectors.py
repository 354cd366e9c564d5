"""Untrained selectors of subgraphs; each implements `SubgraphSelector`. `steiner` is G-Retriever's, on an index.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), section 5.3. Differs from the source: the tree is searched in the neighbourhood of the named entities; it has a
budget of nodes.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import ClassVar, Literal, final

import numpy as np

from clew.arrays import FloatArray, IntArray, top_order
from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph, induced_subgraph
from clew.plugins.records import Amount, WholeNumber, setting
from clew.query.context import IndexContext
from clew.retrievers.subgraph.encoding import PerGraphSelector, node_similarity, similarity
from clew.retrievers.subgraph.retriever import Neighbourhood, SubgraphRetriever
from clew_lab.graph.prizes import EDGE_COST, edge_prizes, grow_to_budget, node_prizes, prize_tree, prune_to_budget
from clew_lab.graph.reader_context import full_subgraph

TOP_NODES, TOP_EDGES = 3, 5
"""Values of G-Retriever for a knowledge graph (WebQSP in its code)."""


@final
@dataclass(frozen=True, slots=True)
class SteinerSelector(PerGraphSelector):
    """G-Retriever's tree (see `graph.subgraphs.pcst`), pruned to the budget."""

    topk: int = TOP_NODES  # number of nodes that have a prize
    topk_e: int = TOP_EDGES  # number of distinct similarities of edges that have a prize
    cost: float = EDGE_COST  # cost of an edge
    fill: bool = False  # whether a tree of fewer nodes than the budget is filled up with its most similar neighbours
    masked: bool = False  # whether the names of the topics are masked in the question; G-Retriever reads it whole
    name: ClassVar[str] = "steiner"

    @property
    def fingerprint(self) -> str:
        """The settings."""
        return repr(self)

    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return a tree, or the most similar nodes of a graph without edges."""
        query = query if self.masked else full_question_query(query)
        graph, similarity = query.graph.graph, node_similarity(query)
        if not len(graph.edges):
            return _most_similar(query, budget)
        prizes, edge_prize_values = node_prizes(similarity, self.topk), edge_prizes(edge_similarity(query), self.topk_e)
        tree = prune_to_budget(
            prize_tree(graph.edges, prizes, edge_prize_values, self.cost),
            graph.edges,
            prizes,
            edge_prize_values,
            budget,
        )
        return grow_to_budget(tree, graph.edges, similarity, budget) if self.fill else tree


@final
@dataclass(frozen=True, slots=True)
class TopNodes(PerGraphSelector):
    """Selects the nodes whose texts are most similar to the whole question, and all edges among them."""

    name: ClassVar[str] = "top-nodes"

    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return the most similar nodes, ties by position."""
        return _most_similar(full_question_query(query), budget)


@final
@dataclass(frozen=True, slots=True)
class EgoGraph(PerGraphSelector):
    """Selects the neighbourhood of the named nodes, or of the most similar node where none is named."""

    hops: int = 2  # maximum distance
    name: ClassVar[str] = "ego"

    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return the nearest nodes, ties by similarity."""
        graph, similarity = query.graph.graph, node_similarity(query)
        if not len(similarity):
            return induced_subgraph(graph, ())
        centres = query.topics if len(query.topics) else top_order(similarity, 1)
        hops = _hop_distances(graph.edges, np.asarray(centres, dtype=np.int64), len(similarity), self.hops)
        near = np.flatnonzero(hops <= self.hops)
        order = np.lexsort((near, -similarity[near], hops[near]))
        return induced_subgraph(graph, near[order[:budget]].astype(np.int32))


@final
@dataclass(frozen=True, slots=True)
class RandomNodes(PerGraphSelector):
    """Selects random nodes, and all edges among them: the baseline of any selector."""

    seed: int = 0  # random seed; the selection depends on it, the question and the number of nodes alone
    name: ClassVar[str] = "random"

    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return uniformly drawn nodes."""
        graph = query.graph.graph
        question = np.ascontiguousarray(query.question_vector, dtype="<f4").tobytes()
        words = np.frombuffer(blake2b(question, digest_size=16).digest(), dtype="<u4")
        generator = np.random.default_rng([self.seed, len(graph.nodes), *words.tolist()])
        return induced_subgraph(graph, generator.permutation(len(graph.nodes))[:budget].astype(np.int32))


@final
@dataclass(frozen=True, slots=True)
class WholeGraph(PerGraphSelector):
    """Selects the whole graph, whatever the budget: the input of a reader without retrieval."""

    name: ClassVar[str] = "whole"

    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return the whole graph, which may exceed the budget."""
        del budget
        return full_subgraph(query.graph.graph)


def full_question_query(query: GraphQuery) -> GraphQuery:
    """Return the query of the whole question, with the names of its topics."""
    vector = query.full_question_vector
    return query if vector is None else replace(query, question_vector=vector)


def edge_similarity(query: GraphQuery) -> FloatArray:
    """Return the cosine (m,) of every edge's text with the question; equal texts have equal cosines."""
    return similarity(query.graph.relation_vectors, query.question_vector)[query.graph.edge_relations]


def _most_similar(query: GraphQuery, budget: int) -> Subgraph:
    return induced_subgraph(query.graph.graph, top_order(node_similarity(query), budget).astype(np.int32))


def _hop_distances(edges: IntArray, centres: IntArray, count: int, limit: int) -> IntArray:
    """Return the distance (count,) of every node from the nearest centre, at most `limit + 1`."""
    hops = np.full(count, limit + 1, dtype=np.int32)
    hops[centres] = 0
    for hop in range(1, limit + 1 if len(edges) else 0):
        at_last_hop = hops == hop - 1
        reached = np.concatenate([edges[at_last_hop[edges[:, 0]], 1], edges[at_last_hop[edges[:, 1]], 0]])
        reached = reached[hops[reached] > hop]
        if not len(reached):
            break
        hops[reached] = hop
    return hops


_TREE = SteinerSelector()


class Steiner(Neighbourhood):
    """Settings of `steiner`."""

    label: ClassVar[str] = "steiner"

    topk: WholeNumber = setting(_TREE.topk, "nodes that have a prize", "G-Retriever")
    topk_e: WholeNumber = setting(_TREE.topk_e, "similarity values of edges that have a prize", "G-Retriever")
    cost: Amount = setting(_TREE.cost, "cost of an edge", "G-Retriever")
    fill: bool = setting(
        default=False, description="whether a tree below the budget is filled with its most similar neighbours"
    )
    question: Literal["whole", "masked"] = setting(
        "whole", "the question that names are compared with: masked is without the names it asks about", "G-Retriever"
    )


def build_steiner(context: IndexContext, settings: Steiner) -> SubgraphRetriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    masked = settings.question == "masked"
    selector = SteinerSelector(settings.topk, settings.topk_e, settings.cost, settings.fill, masked)
    method = f"a tree that collects the {selector.topk} most similar names and {selector.topk_e} most similar relations"
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    return SubgraphRetriever(context.scope, context.lexical, graph, context.text_vectors, selector, method, settings)
