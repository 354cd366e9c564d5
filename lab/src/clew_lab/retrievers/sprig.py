"""SPRIG: PageRank over passages and the entities that they mention, from names and the first passages of a ranking.

An edge between a passage and an entity weighs tf idf: the entity's occurrences in the passage, and
idf = log((P + 1) / (df + 1)) + 1 for an entity of df among P passages. A step from a passage prefers rare entities, by
df^-p. The walk restarts with probability 0.15: at each entity that the question names with weight df^-q, and at the
passage of rank r in a ranking with weight 1 / r.

Source: Wang, "Democratizing GraphRAG: Linear, CPU-Only Graph Retrieval for Multi-Hop QA" (2025, arXiv 2602.23372), and
its published code (Icemap/SPRIG); the defaults are its best form on HotpotQA, `graph_rrf`.
Differs from the source: names are those of the index's extractor and linked as in other retrievers, where spaCy finds
them there and they have to be equal; an entity occurs in a passage at least once where its name is written in another
form; the push (`walk=push`) goes on while a node has more than `epsilon` for each of its edges, where the code's limit
is 1e-4 a node; in the power iteration a step from a passage without entities leads back to the restart, where the code
loses it; passages that the walk does not reach are not returned.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray
from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.ppr.forward_push import NodeAttraction, push_pagerank
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.records import MAX_AMOUNT, Amount, SettingsRecord, WholeNumber, setting
from clew.protocols import Retriever
from clew.query.context import IndexContext
from clew.query.graph_walk import NO_MATCH
from clew.query.linking import describe_links
from clew.query.scope import Scope
from clew.retrievers.evidence import check_k, empty_question_evidence, make_evidence
from clew.retrievers.fused import FusedRetriever
from clew.retrievers.spec import OpenRetriever
from clew.types import Evidence, Filter
from clew_lab.graph.mention_counts import count_mentions
from clew_lab.graph.power_iteration import PowerWalk

FUSED_DEPTH = 10
"""Passages of each ranking that are fused, as in the published code."""
_HOTPOTQA = "published code: README, HotpotQA"


class Sprig(SettingsRecord):
    """Settings of `sprig`; the defaults are the authors' for HotpotQA."""

    label: ClassVar[str] = "sprig"

    seeds: Literal["fused", "bm25", "dense", "names"] = setting(
        "fused", "ranking whose first passages the walk restarts at, or only names", "SPRIG: the best of its forms"
    )
    seed_passages: WholeNumber = setting(10, "number of those passages", f"{_HOTPOTQA}; 5 for 2WikiMultiHopQA")
    name_power: Amount = setting(
        0.5, "power of df that a name's weight is divided by", f"{_HOTPOTQA}; 1 for 2WikiMultiHopQA"
    )
    hub_power: Amount = setting(0.5, "power of df that a step to an entity is divided by", _HOTPOTQA)
    restart: Annotated[float, Field(ge=0.01, le=1.0)] = setting(0.15, "probability that the walk restarts", _HOTPOTQA)
    walk: Literal["push", "power"] = setting(
        "push", "forward push, or power iteration", f"{_HOTPOTQA}; power for 2WikiMultiHopQA"
    )
    steps: WholeNumber = setting(5, "steps of the power iteration", "published code: README")
    epsilon: Annotated[float, Field(ge=1e-9, le=MAX_AMOUNT, allow_inf_nan=False)] = setting(
        1e-5, "probability an edge at which the push stops"
    )


@dataclass(frozen=True, eq=False)
class SprigRetriever:
    """Ranks passages by PageRank from names and from the first passages of a ranking."""

    scope: Scope
    base: Retriever | None  # ranks the passages that the walk restarts at
    count_occurrences: Callable[[], IntArray]  # returns `count_mentions` of the index
    settings: Sprig

    @cached_property
    def _graph(self) -> Adjacency:
        return build_weighted_graph(self.scope.snapshot, self.count_occurrences())

    @cached_property
    def _attraction(self) -> FloatArray:
        """1 for passages, df^-p for entities (P + E,)."""
        degrees = np.maximum(self.scope.snapshot.mentioned_in.degrees(), 1).astype(np.float64)
        values = np.concatenate([np.ones(len(self.scope)), degrees**-self.settings.hub_power])
        return values.astype(np.float32)

    @cached_property
    def _walk(self) -> PowerWalk:
        return self._make_walk(np.ones(len(self.scope), dtype=bool))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` of the passages that a question's walk reaches."""
        check_k(k, questions)
        allowed = self.scope.mask(where)
        some, given = self.scope.restriction(allowed), self.settings
        walk = None
        if given.walk == "power":
            walk = self._walk if some is None else self._make_walk(allowed)
        bases = (
            [None] * len(questions) if self.base is None else self.base.retrieve(questions, given.seed_passages, where)
        )
        return [
            self._retrieve_one(question, base, k, allowed, walk)
            for question, base in zip(questions, bases, strict=True)
        ]

    def _make_walk(self, allowed: BoolArray) -> PowerWalk:
        graph, count = self._graph, len(allowed)
        rows = graph.row_indices()
        is_open = np.concatenate([allowed, np.ones(graph.row_count - count, dtype=bool)])
        some = is_open[rows] & is_open[graph.indices]
        weights = graph.weights[some] * self._attraction[graph.indices[some]]
        return PowerWalk(build_adjacency(rows[some], graph.indices[some], weights, graph.row_count))

    def _retrieve_one(
        self, question: str, base: Evidence | None, k: int, allowed: BoolArray, walk: PowerWalk | None
    ) -> Evidence:
        started = time.perf_counter() - (base.usage.seconds if base else 0.0)
        if not question.strip():
            return empty_question_evidence(started)
        restart, notes = self._restart(question, base, allowed)
        if not len(restart[0]):
            return make_evidence((), (), (*notes, NO_MATCH), started)
        values = self._push(restart, allowed) if walk is None else self._iterate(restart, walk)
        ranked = self.scope.rank(values, k, allowed)
        return make_evidence(self.scope.scored_passages(ranked), (), notes, started)

    def _restart(
        self, question: str, base: Evidence | None, allowed: BoolArray
    ) -> tuple[tuple[IntArray, FloatArray], tuple[str, ...]]:
        """Return the nodes that the walk restarts at, ascending, with probabilities, and notes."""
        snapshot, count = self.scope.snapshot, len(self.scope)
        linked, names = self.scope.linker_among(allowed).link(question), self.scope.names(allowed).entities
        entities = dict.fromkeys(entity for name in linked.linked_names for entity in name.entities)
        weights = {
            count + entity: float(max(len(snapshot.mentioned_in.row(entity)), 1)) ** -self.settings.name_power
            for entity in entities
        }
        for rank, scored in enumerate(base.passages if base else (), 1):
            weights[snapshot.position(scored.item.id)] = 1.0 / rank
        nodes = np.array(sorted(weights), dtype=np.int32)
        total = sum(weights.values())
        shares = np.array([weights[int(node)] / total for node in nodes], dtype=np.float32)
        return (nodes, shares), describe_links(linked, names.__getitem__)

    def _push(self, restart: tuple[IntArray, FloatArray], allowed: BoolArray) -> FloatArray:
        some = self.scope.restriction(allowed)
        open_ = np.zeros(0, dtype=bool) if some is None else some
        attraction = NodeAttraction(given=self._attraction)
        result = push_pagerank(
            self._graph, restart, attraction, open_, 1.0 - self.settings.restart, self.settings.epsilon
        )
        count = int(result.nodes.searchsorted(len(allowed)))
        values = np.zeros(len(allowed), dtype=np.float32)
        # At a passage without entities the push ends; the source's walk has the restart's share there, and no more.
        ends = result.open_weights[:count] <= 0.0
        values[result.nodes[:count]] = np.where(ends, self.settings.restart, 1.0) * result.values[:count]
        return values

    def _iterate(self, restart: tuple[IntArray, FloatArray], walk: PowerWalk) -> FloatArray:
        start: DoubleArray = np.zeros(self._graph.row_count)
        start[restart[0]] = restart[1]
        values = walk.values(start, 1.0 - self.settings.restart, self.settings.steps)
        return values[: len(self.scope)].astype(np.float32)


def build_weighted_graph(snapshot: Snapshot, counts: IntArray) -> Adjacency:
    """Return passages 0 to P - 1 and entities P to P + E - 1, joined by mentions that weigh tf idf, both ways.

    `counts` (m,) are those of `count_mentions`.
    """
    count, entities = len(snapshot.passage_ids), len(snapshot.entities)
    passages = snapshot.mentions.row_indices()
    mentioned = snapshot.mentions.indices.astype(np.int64)
    idf = np.log((count + 1.0) / (snapshot.mentioned_in.degrees() + 1.0)) + 1.0
    weights = (counts * idf[mentioned]).astype(np.float32)
    one, two = passages, mentioned + count
    return build_adjacency(
        np.concatenate([one, two]), np.concatenate([two, one]), np.tile(weights, 2), count + entities
    )


def build_sprig(context: IndexContext, settings: Sprig, open_retriever: OpenRetriever) -> SprigRetriever:
    """Return the retriever over one index; raises InputError where it has no vectors and the seeds need them."""
    snapshot = context.scope.snapshot
    base: Retriever | None = None
    if settings.seeds == "fused":
        rankings = open_retriever("bm25", context), open_retriever("dense", context)
        base = FusedRetriever(rankings, FUSED_DEPTH)
    elif settings.seeds != "names":
        base = open_retriever(settings.seeds, context)
    return SprigRetriever(
        context.scope, base, lambda: context.cached_array("mention-counts", lambda: count_mentions(snapshot)), settings
    )
