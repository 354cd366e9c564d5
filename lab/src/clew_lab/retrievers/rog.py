"""RoG's form of retrieval: relation paths are planned for a question, and all paths that follow them are evidence.

Source: Luo et al., "Reasoning on Graphs: Faithful and Interpretable Large Language Model Reasoning" (RoG, 2024),
section 4, a baseline of Gao et al., "FRAG" (2025), table 1.
Differs from the source: the path ranker of `frag` plans, in place of a fine-tuned language model, among the relation
paths that the graph has; the numbers of paths that follow one, and of those that are returned, are bounded.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray, expand_ranges, top_order
from clew.graph.paths.relation_paths import relation_codes
from clew.graph.subgraphs.k_hop import LocalGraph
from clew.graph.subgraphs.textual_graph import FactGraph
from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.protocols import fingerprint_of
from clew.query.context import IndexContext
from clew.query.linking import mask_names
from clew.query.relation_matching import (
    Mediators,
    PathScorer,
    RelationPath,
    mediators_fingerprint,
    mediators_setting,
    open_mediators,
)
from clew.query.scope import Scope
from clew.retrievers.evidence import empty_question_evidence
from clew.retrievers.frag.path_ranking import RelationPathRanker
from clew.retrievers.frag.settings import Frag, make_path_ranker
from clew.retrievers.supporting_passages import PathRetriever, path_evidence
from clew.text.bm25 import BM25Index
from clew.types import Evidence
from clew_lab.retrievers.topic_start import explore, find_start

MAX_WALKS = 1_000
"""Paths that follow one relation path, at most; the first in the order of edges."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedPaths:
    """A relation path of h relations, its score, and the w simple paths that follow it."""

    relation_path: RelationPath
    score: float
    positions: LongArray  # (w, h + 1) positions of the entities
    edges: LongArray  # (w, h) edge codes


def plan_paths(
    local: LocalGraph, codes: IntArray, starts: LongArray, score_paths: PathScorer, hops: int, beam_width: int
) -> tuple[list[PlannedPaths], bool]:
    """Return all scored relation paths of at most `hops` relations, best first, and whether paths were left out.

    `codes` (m,) are the relation codes of the edges, `starts` (s,) positions. Of the relation paths of each length
    `beam_width` are extended. Ties: shorter first, then by codes.
    """
    first = np.unique(starts)[:, None]
    beam = [PlannedPaths((), 0.0, first, np.zeros((len(first), 0), dtype=np.int64))]
    found: list[PlannedPaths] = []
    truncated = False
    for _ in range(hops):
        extended = [child for parent in beam for child in _extend(local, codes, parent)]
        truncated = truncated or any(len(child.edges) > MAX_WALKS for child in extended)
        if not extended:
            break
        scores = score_paths([child.relation_path for child in extended])
        level = [
            PlannedPaths(child.relation_path, float(score), child.positions[:MAX_WALKS], child.edges[:MAX_WALKS])
            for child, score in zip(extended, scores, strict=True)
        ]
        found += level
        beam = [level[row] for row in top_order(scores, beam_width).tolist()]
    return sorted(found, key=lambda plan: (-plan.score, len(plan.relation_path), plan.relation_path)), truncated


def _extend(local: LocalGraph, codes: IntArray, parent: PlannedPaths) -> list[PlannedPaths]:
    """Return the relation paths of one relation more, by codes, without a score; their paths stay simple."""
    ends = parent.positions[:, -1]
    edges, rows = expand_ranges(local.indptr[ends], local.degrees()[ends])
    targets = local.neighbours[edges]
    simple = ~(parent.positions[rows] == targets[:, None]).any(axis=1)
    edges, rows, targets = edges[simple], rows[simple], targets[simple]
    children = []
    for code in np.unique(codes[edges]).tolist():
        own = np.flatnonzero(codes[edges] == code)
        positions = np.column_stack([parent.positions[rows[own]], targets[own]])
        taken = np.column_stack([parent.edges[rows[own]], local.edges[edges[own]]])
        children.append(PlannedPaths((*parent.relation_path, code), 0.0, positions, taken))
    return children


class RoG(SettingsRecord):
    """Settings of `rog`."""

    label: ClassVar[str] = "rog"

    plans: WholeNumber = setting(3, "relation paths that are followed", "RoG: 3 beams")
    hops: WholeNumber = setting(4, "relations of a path, at most", "CWQ: 4 hops")
    beam: WholeNumber = setting(16, "relation paths of each length that are extended")
    paths: WholeNumber = setting(32, "paths that are returned, at most", "FRAG: u = 32")
    edges: WholeNumber = setting(300_000, "edges read around the topics, at most")
    ranker: str | None = setting(None, "path ranker, as of frag", unset="trained, or bi-encoder, or bm25")
    mediators: str | None = mediators_setting()


@final
@dataclass(frozen=True, slots=True, eq=False)
class RoGRetriever(PathRetriever[list[PlannedPaths]]):
    """Finds the paths that follow the relation paths that fit a question best."""

    scope: Scope
    lexical: BM25Index  # BM25 of its passages
    graph: Callable[[], FactGraph]  # returns its facts, which are made when first needed
    planner: RelationPathRanker  # scores relation paths
    settings: RoG
    notes: Sequence[str] = ()  # notes added to every result
    mediators: Mediators | None = None  # entities that no path ends at

    @property
    def fingerprint(self) -> str:
        """The settings, and the weights of the planner."""
        return f"{self.settings!r}\0{fingerprint_of(self.planner)}{mediators_fingerprint(self.mediators)}"

    @property
    def path_limit(self) -> int:
        """Maximum number of paths of a question."""
        return self.settings.paths

    def plan(
        self, question: str, names: Sequence[str], blocked_triples: BoolArray | None, allowed: BoolArray
    ) -> tuple[list[PlannedPaths], list[str], Sequence[int]]:
        """Return the best relation paths with their paths as edge codes, notes, and the topic entities.

        Only names of allowed passages (P,) are known, and no path has one of the blocked triples (T,).
        """
        start = find_start(self.scope, question, names, allowed)
        if not len(start.entities):
            return [], start.notes, ()
        settings = self.settings
        local = explore(self.graph(), start, settings.hops, settings.edges, blocked_triples)
        codes = relation_codes(local, self.scope.snapshot.triples)
        masked = mask_names(start.topics.text, start.topics.spans)
        score_paths = self.planner.make_scorer(masked, np.unique(codes))
        starts = local.positions(start.entities)
        plans, truncated = plan_paths(local, codes, starts, score_paths, settings.hops, settings.beam)
        if self.mediators is not None:
            plans = _without_ends(plans, local, self.mediators)
        if truncated:
            start.notes.append(f"more than {MAX_WALKS} paths follow one relation path; not all were looked at")
        return plans[: settings.plans], start.notes, start.entities.tolist()

    def retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: BoolArray, blocked_triples: BoolArray | None
    ) -> tuple[Evidence, list[PlannedPaths]]:
        """Return the paths that follow the planned relation paths, the best plan's first, and the plans.

        Only allowed passages (P,) count, and no blocked triples (T,).
        """
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started), []
        plans, notes, topics = self.plan(question, names, blocked_triples, allowed)
        shares = np.exp([plan.score - plans[0].score for plan in plans])
        shares /= max(shares.sum(), 1e-9)
        walks = [
            (edges.astype(np.int32), float(share))
            for plan, share in zip(plans, shares, strict=True)
            for edges in plan.edges
        ]
        ends = np.array(topics, dtype=np.int32)
        evidence = path_evidence(
            *(self.scope, self.lexical, question, walks[: self.settings.paths], ends),
            *([*notes, *self.notes], k, allowed, started),
        )
        return evidence, plans


def _without_ends(plans: Sequence[PlannedPaths], local: LocalGraph, mediators: Mediators) -> list[PlannedPaths]:
    kept = [(plan, ~mediators.mask(local.nodes[plan.positions[:, -1]])) for plan in plans]
    return [replace(plan, positions=plan.positions[rows], edges=plan.edges[rows]) for plan, rows in kept if rows.any()]


def build_rog(context: IndexContext, settings: RoG) -> RoGRetriever:
    """Return the retriever over one index; raises InputError for an unknown ranker."""
    notes: list[str] = []
    texts = lru_cache(maxsize=1)(context.relation_texts)
    planner = make_path_ranker(context, Frag(ranker=settings.ranker), texts, notes, settings.label)
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    mediators = open_mediators(context.scope.snapshot, settings.mediators)
    return RoGRetriever(context.scope, context.lexical, graph, planner, settings, notes, mediators)
