"""Question graphs over passages: the nodes near a question's walk, their edges, and their features.

The walk selects the nodes, so the cost does not depend on the size of the graph. Everything else that is known before
learning is a feature of a node, and the walk's own ranking is the prior that the scores start from: fusing rankings
afterwards loses what both know (docs/decisions/index.md).

Source: none; measured in docs/benchmarks.md. Differs from the source: nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, top_order
from clew.graph.paths.sentence_chains import SentenceChains
from clew.graph.snapshot.relational_edges import RelationalEdges, induced_edges, stated_edge_mask
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.chain_search import (
    CHAIN_FEATURES,
    ChainSearch,
    QuestionChains,
    best_by_chains,
    chain_shares,
    describe_passages,
    texts_to_encode,
)
from clew.query.graph_walk import GraphWalk, QuestionWalk
from clew.query.linking import NO_NAME_NOTE, LinkedQuestion
from clew.query.question_vectors import SimilarPassages
from clew.retrievers.coverage import PassageWords

FEATURES = ("matching", "remaining", "value", "similarity", "passage", "degree", "named")
"""Features of a node, in order; all between about -1 and 1. Those of chains follow where the network reads them."""

FALLBACK_NOTE = "the question names nothing in the index: the passages nearest in meaning stand in for names"
FALLBACK_SEED_COUNT = 10
_MIN_SHARE = 1e-6  # as a share of the best value; the walk separates no nodes below it
_SCALE = float(-np.log(_MIN_SHARE))
_CHAIN_PRIOR = 10.0  # weight of a passage's share of the best chain in the prior
_CHAIN_NODES, _SENTENCE_NODES = 20, 10  # further nodes: passages of the best chains, and of the best sentences


def add_fallback_note(notes: Sequence[str]) -> tuple[str, ...]:
    """Return notes with that of similar passages in place of names, which says what `NO_NAME_NOTE` does."""
    return (*(note for note in notes if note != NO_NAME_NOTE), FALLBACK_NOTE)


@dataclass(frozen=True, slots=True, eq=False)
class QuestionGraph:
    """The part of a graph near a question: n nodes, m edges."""

    nodes: IntArray  # (n,) in the whole graph, ascending
    senders: IntArray  # (m,) positions in `nodes`
    receivers: IntArray  # (m,) positions in `nodes`
    edges: LongArray  # (m,) positions in the whole graph's edges
    seeds: FloatArray  # (n,) weights of the named nodes, the greatest 1
    features: FloatArray  # (n, len(FEATURES)), or with those of chains
    # (n,) log of the walk's score as a share of the best, and that of the passage's chain with a weight; for passages
    prior: FloatArray
    targets: BoolArray  # (n,) whether a node is ranked
    # passages near the walk, ascending, and their values; empty where there was no walk
    walk_passages: tuple[IntArray, FloatArray]
    notes: tuple[str, ...]  # explanations for the user
    chains: SentenceChains | None = None  # chains near the question, where the builder searches them
    words: PassageWords | None = None  # the question's words in those that are ranked, where the builder looks


class NodeFeatures(NamedTuple):
    """Inputs of the network for n nodes; see `QuestionGraph`."""

    seeds: FloatArray
    features: FloatArray
    prior: FloatArray
    targets: BoolArray


class QuestionGraphBuilder(Protocol):
    """Builds question graphs over one index."""

    @property
    def edges(self) -> RelationalEdges:
        """The whole graph."""

    def texts(self, linked: LinkedQuestion) -> list[str]:
        """Return the texts of a question that `build` wants vectors of: the question, and it may be its remainder."""

    def build(self, linked: LinkedQuestion, vector: Callable[[int], FloatArray], allowed: BoolArray) -> QuestionGraph:
        """Build the graph of a question from the passages (P,) that may be ranked, or state edges.

        `vector` returns that (d,) of a text of `texts`, by its number; it is called as late as possible, since another
        thread may be computing it.
        """

    def describe_nodes(
        self, nodes: IntArray, values: FloatArray, seed_weights: Mapping[int, float], vector: Callable[[], FloatArray]
    ) -> NodeFeatures:
        """Return the inputs of the network for nodes (n,), ascending, given the walk's values (n,) and seeds' weights.

        `vector` returns that of the question (d,).
        """


def allowed_edges(
    whole: RelationalEdges, nodes: IntArray, snapshot: Snapshot, allowed: BoolArray | None
) -> tuple[IntArray, IntArray, LongArray]:
    """Return senders, receivers and positions (m,) of the edges among nodes (n,) that passages state.

    `allowed` (P,) are the passages that count, None for all.
    """
    senders, receivers, edges = induced_edges(whole, nodes)
    if allowed is None:
        return senders, receivers, edges
    usable = stated_edge_mask(whole, edges, snapshot, allowed)
    return senders[usable], receivers[usable], edges[usable]


class PassageGraphBuilder:
    """Builds graphs of passages, the first nodes of the whole, and entities that link them; size None for all nodes.

    `similar` finds the passages that stand in for names, by a scan of all vectors if None. With `chains` the walk is
    that of the search of chains, whose best passages are nodes too, with further features and another prior.
    """

    def __init__(
        self,
        edges: RelationalEdges,
        graph_walk: GraphWalk,
        size: int | None,
        similar: SimilarPassages | None = None,
        chains: ChainSearch | None = None,
    ) -> None:
        self.edges = edges
        self._graph_walk = graph_walk
        self._snapshot = graph_walk.scope.snapshot
        self._vectors = self._snapshot.vectors
        self._similar = SimilarPassages(graph_walk.scope) if similar is None else similar
        self._size = size
        self._chains = chains
        self._highest_degree = max(float(np.log1p(np.float32(np.diff(edges.indptr).max(initial=0)))), 1.0)

    def texts(self, linked: LinkedQuestion) -> list[str]:
        """Return the question, and with chains its remainder (see `QuestionGraphBuilder`)."""
        return [linked.text] if self._chains is None else texts_to_encode(linked)

    def build(self, linked: LinkedQuestion, vector: Callable[[int], FloatArray], allowed: BoolArray) -> QuestionGraph:
        """Build the graph of a question, from allowed passages (P,) alone (see `QuestionGraphBuilder`)."""
        found, further = None, np.zeros(0, dtype=np.int32)
        if self._chains is None:
            walk = self._graph_walk.walk_linked(linked, allowed)
        else:
            found = self._chains.search_vectors(linked, vector, allowed)
            walk, further = found.walk, best_by_chains(found, _CHAIN_NODES, _SENTENCE_NODES)
        some = self._graph_walk.scope.restriction(allowed)
        fallback = {} if walk.named_nodes else self._fallback_seeds(vector(0), allowed)
        nodes, values = self._select_nodes(walk, np.union1d(further, list(fallback)).astype(np.int32), allowed)
        senders, receivers, edges = allowed_edges(self.edges, nodes, self._snapshot, some)
        passages = nodes[nodes < len(allowed)]
        seeds = fallback or walk.named_nodes
        inputs = self.describe_nodes(nodes, values, seeds, lambda: vector(0))
        inputs.features[: len(passages), :2] = walk.shares(passages)
        if fallback:
            inputs.features[:, 6] = 0.0  # similar passages are not named
        if found is not None:
            self._add_chains(found, passages, inputs)
        notes = (walk if found is None else found).notes
        notes = add_fallback_note(notes) if fallback else notes
        return QuestionGraph(
            nodes,
            senders,
            receivers,
            edges,
            *inputs,
            (walk.nodes, walk.scores),
            notes,
            None if found is None else found.chains,
            PassageWords.find(walk.matches.lexical, walk.matches.full_query, passages),
        )

    def _add_chains(self, found: QuestionChains, passages: IntArray, inputs: NodeFeatures) -> None:
        assert self._chains is not None
        described = describe_passages(self._chains.sentences, self._snapshot.title_entities, found, passages)
        inputs.features[: len(passages), len(FEATURES) :] = described
        inputs.prior[: len(passages)] += _CHAIN_PRIOR * (chain_shares(found, passages) - 1.0)

    def describe_nodes(
        self, nodes: IntArray, values: FloatArray, seed_weights: Mapping[int, float], vector: Callable[[], FloatArray]
    ) -> NodeFeatures:
        """Return the network's inputs for nodes (n,) of values (n,) (see `QuestionGraphBuilder` and `FEATURES`)."""
        is_passage = nodes < len(self._vectors)
        passages = nodes[is_passage]
        of_chains = len(CHAIN_FEATURES) if self._chains is not None else 0
        features = np.zeros((len(nodes), len(FEATURES) + of_chains), dtype=np.float32)
        shares = np.maximum(values / max(float(values.max(initial=0.0)), 1e-30), _MIN_SHARE)
        features[:, 2] = 1.0 + np.log(shares) / _SCALE
        features[:, 4] = is_passage
        degrees = (self.edges.indptr[nodes + 1] - self.edges.indptr[nodes]).astype(np.float32)
        features[:, 5] = np.log1p(degrees) / self._highest_degree
        seeds = np.zeros(len(nodes), dtype=np.float32)
        for node, weight in seed_weights.items():
            position = int(nodes.searchsorted(node))
            if position < len(nodes) and nodes[position] == node:
                seeds[position] = weight
        seeds /= max(float(seeds.max(initial=0.0)), 1e-30)
        features[:, 6] = seeds
        prior = np.full(len(nodes), np.log(_MIN_SHARE), dtype=np.float32)
        best = max(float(values[is_passage].max(initial=0.0)), 1e-30)
        prior[is_passage] = np.log(np.maximum(values[is_passage] / best, _MIN_SHARE))
        features[is_passage, 3] = self._vectors.rows(passages) @ vector()
        return NodeFeatures(seeds, features, prior, is_passage)

    def _fallback_seeds(self, vector: FloatArray, allowed: BoolArray) -> dict[int, float]:
        if not len(self._vectors):
            return {}
        best, _ = self._similar.rank(vector, FALLBACK_SEED_COUNT, allowed)
        return {passage: similarity for passage, similarity in best if similarity > 0}

    def _select_nodes(self, walk: QuestionWalk, further: IntArray, allowed: BoolArray) -> tuple[IntArray, FloatArray]:
        """Return the nodes (n,) of the graph, ascending, `further` ones among them, and the walk's values for them."""
        near, values = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        if walk.walk is not None:
            near, values = walk.walk.nodes, walk.walk.values.copy()
            values[: len(walk.nodes)] = walk.scores  # the passages come first
            near, values = near[values > 0], values[values > 0]
        if self._size is None:
            is_allowed = np.ones(self.edges.node_count, dtype=bool)
            is_allowed[: len(allowed)] = allowed
            chosen = np.flatnonzero(is_allowed).astype(np.int32)
        else:
            kept = near[top_order(values, self._size)] if len(near) > self._size else near
            chosen = np.unique(np.concatenate([kept, further]))
        chosen_values = np.zeros(len(chosen), dtype=np.float32)
        places = np.minimum(near.searchsorted(chosen), max(len(near) - 1, 0))
        known = near[places] == chosen if len(near) else np.zeros(len(chosen), dtype=bool)
        chosen_values[known] = values[places[known]]
        return chosen, chosen_values
