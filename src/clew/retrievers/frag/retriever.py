"""FRAG: reasoning paths from a knowledge graph, found with an effort that depends on the complexity of the question.

The question's entities are linked, and its number of hops is predicted; the neighbourhood of the entities is extracted
(k hops); its entities are ranked and the best kept (GRM), then its relations (ERM); paths are searched and ranked
(PRM). No language model is called.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), sections 4.2 and 4.3, and algorithms 1 to 3.
Differs from the source, unless `preset=paper`: relation paths are searched, not all simple paths or one shortest path
to each entity, whose relations are rarely those of the question; relations, not whole paths, are ranked, against the
question without its names; the predicted number of hops adds to the ranking of the paths; only some ends of each
relation path are kept as long as there are others; facts are followed both ways. In both: hops are counted, not
classified; the neighbourhood is bounded.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray
from clew.graph.paths.relation_paths import relation_codes
from clew.graph.ppr.local_ppr import best_positions, push_ppr, random_walk_with_restart
from clew.graph.subgraphs.k_hop import (
    LocalGraph,
    Neighbourhood,
    explored_graph,
    filter_edges,
    local_graph,
    neighbourhood,
)
from clew.graph.subgraphs.textual_graph import FactGraph
from clew.models.validation import replace_surrogates
from clew.protocols import TextScorer, fingerprint_of
from clew.query.linking import MaskedQuestion, mask_names
from clew.query.relation_matching import Mediators, PathScorer, mediators_fingerprint
from clew.query.scope import Scope
from clew.retrievers.evidence import NO_TOPIC, empty_question_evidence
from clew.retrievers.frag.hop_predictor import HOP_CLASSES, HopPredictor
from clew.retrievers.frag.path_ranking import RelationPathRanker, WholePathRanker
from clew.retrievers.frag.path_search import FoundPaths, SearchBounds, find_relation_paths, without_ends
from clew.retrievers.frag.text_rankers import path_text
from clew.retrievers.supporting_passages import PathRetriever, path_evidence
from clew.text.bm25 import BM25Index
from clew.text.display import format_count
from clew.types import Evidence

NO_PATH = "no path leads away from what the question names"
_DAMPING = 0.8  # of the entity ranking
_MIN_HOP_PROBABILITY = 0.02  # floor, so that the hop predictor never decides alone


@dataclass(frozen=True, slots=True)
class KindSettings:
    """Settings of the search for questions of one kind, simple or complex."""

    search: str  # `bfs`, `shortest`, `cheapest` or `chains`
    bounds: SearchBounds
    entities: int  # number of entities that the entity ranking keeps (n)
    relations: int  # number of relations that the relation ranking keeps (m)
    paths: int  # number of paths that the path ranking keeps (u)


@dataclass(frozen=True, slots=True)
class FragSettings:
    """Settings of `frag` that a search reads, with all defaults filled in."""

    always: str  # `simple` or `complex` for all questions; "" to decide by the hop predictor
    delta: int  # number of hops beyond which a question is complex
    simple: KindSettings
    complex: KindSettings
    entity_ranker: str  # `ppr`, `rwr` or `nibble`
    lengths: bool  # whether predicted numbers of hops add to the ranking of paths
    edges: int  # maximum number of edges visited for the neighbourhood
    ends: int  # number of ends of one relation path that are kept before those of the next
    whole_question: bool  # whether names stay in the question that relations and paths are ranked against
    directed: bool  # whether facts are followed from head to tail alone


@dataclass(frozen=True, slots=True, eq=False)
class SearchTrace:
    """Intermediate results of one search."""

    topics: IntArray  # (s,) entities that the search started from
    # selected paths, best first: entities (h + 1,), edge codes (h,) and a score, the share of the likelihood
    paths: list[tuple[IntArray, IntArray, float]]
    neighbourhood: IntArray  # (n,) entities within the hops
    ranked_entities: IntArray  # (n,) entities that the entity ranking kept, best first
    connected_entities: IntArray  # (n,) those of them with an edge after the relation ranking
    path_ends: IntArray  # (n,) entities where some path ends
    is_complex: bool  # whether the question was searched as a complex one
    notes: tuple[str, ...]  # explanations for the user


@final
@dataclass(frozen=True, slots=True, eq=False)
class FragRetriever(PathRetriever[SearchTrace]):
    """Finds reasoning paths."""

    scope: Scope
    lexical: BM25Index  # BM25 of its passages
    graph: Callable[[], FactGraph]  # returns its facts, which are made when first needed
    hop_predictor: HopPredictor | None  # predicts hops; None where `always` decides
    relation_ranker: TextScorer  # scores relations as texts (ERM)
    path_ranker: RelationPathRanker  # scores relation paths (PRM)
    settings: FragSettings
    notes: Sequence[str] = ()  # notes added to every result
    whole_path_ranker: WholePathRanker | None = None  # ranks whole paths (PRM); None for the ranker of relation paths
    mediators: Mediators | None = None  # entities that no path ends at

    @property
    def fingerprint(self) -> str:
        """The settings, and the weights of hop predictor and path ranker."""
        rankers = (self.path_ranker, *((self.whole_path_ranker,) if self.whole_path_ranker else ()))
        mediators = mediators_fingerprint(self.mediators)
        return f"{self.settings!r}\0{fingerprint_of(self.hop_predictor, *rankers)}{mediators}"

    def search(
        self,
        question: str,
        names: Sequence[str] = (),
        blocked_triples: BoolArray | None = None,
        allowed: BoolArray | None = None,
    ) -> SearchTrace:
        """Return the intermediate results for a question about names, () for those in it.

        Triples that are blocked (T,) are left out, and names that only passages beside the allowed ones (P,) write.
        """
        allowed = self.scope.mask(None) if allowed is None else allowed
        labels = self.scope.names(allowed).entities
        topics = self.scope.linker_among(allowed).find_topics(question, names)
        notes = [*topics.notes]
        if topics.unknown_names:
            notes.append(f"no entity is called {', '.join(map(repr, topics.unknown_names))}")
        starts = np.array(topics.entities, dtype=np.int32)
        if not len(starts):
            return _empty_trace(*notes, NO_TOPIC)
        masked = mask_names(topics.text, topics.spans)
        hops = None if self.hop_predictor is None else self.hop_predictor.hop_probabilities([masked])[0]
        is_complex, choice_note = self._choose_search(hops)
        kind = self.settings.complex if is_complex else self.settings.simple
        ranked_question = replace_surrogates(topics.text) if self.settings.whole_question else masked.text
        graph = self.graph()
        near = neighbourhood(graph, starts, kind.bounds.hops, self.settings.edges, blocked_triples)
        if near.truncated_nodes:
            notes.append(f"of {format_count(near.truncated_nodes, 'entity')} of many facts not all were looked at")
        best = self._rank_entities(graph, near, starts, blocked_triples, kind.entities)
        local = local_graph(graph, best, blocked_triples)
        if self.settings.directed:
            local = filter_edges(local, (local.edges & 1) == 0)
        local = self._keep_best_relations(local, ranked_question, kind.relations)
        codes = relation_codes(local, self.scope.snapshot.triples)
        score_paths = self._relation_path_scorer(kind.search, masked, codes)
        found, truncated = find_relation_paths(
            kind.search, local, codes, local.positions(starts), kind.bounds, score_paths
        )
        if self.mediators is not None:
            found = without_ends(found, self.mediators.mask)
        if truncated:
            notes.append("there are more paths than were looked at; the nearest were")
        if self.whole_path_ranker is None:
            paths = self._select_paths(found, hops if self.settings.lengths else None, kind.paths)
        else:
            paths = self._select_whole_paths(found, ranked_question, kind.paths, self.whole_path_ranker, labels)
        path_ends = np.unique(np.concatenate([group.ends for group in found])) if found else starts[:0]
        start_note = topics.describe_starts(self.scope.names(allowed))
        notes = [start_note, choice_note, *notes, *(() if paths else (NO_PATH,))]
        connected = local.nodes[local.degrees() > 0]
        return SearchTrace(starts, paths, near.nodes, local.nodes, connected, path_ends, is_complex, tuple(notes))

    def _choose_search(self, hops: FloatArray | None) -> tuple[bool, str]:
        """Return whether to search as for a complex question, and a note that says why."""
        if hops is None:
            return self.settings.always == "complex", f"searched as a {self.settings.always} question"
        beyond = float(hops[self.settings.delta :].sum())
        likeliest = int(np.argmax(hops)) + 1
        kind = "complex" if beyond > 0.5 else "simple"
        more = " or more" if likeliest == HOP_CLASSES else ""
        hop_note = f"{likeliest}{more} {'hop is' if likeliest == 1 else 'hops are'} likeliest"
        return beyond > 0.5, f"a {kind} question: {hop_note} (more than {self.settings.delta}: {beyond:.2f})"

    def _rank_entities(
        self, graph: FactGraph, near: Neighbourhood, starts: IntArray, blocked_triples: BoolArray | None, count: int
    ) -> IntArray:
        """Return the entities that the entity ranking keeps, best first, the starts before all others."""
        around = explored_graph(graph, near, blocked_triples)
        positions = around.positions(starts)
        weights = np.full(len(positions), 1.0 / len(positions))
        rank = random_walk_with_restart if self.settings.entity_ranker == "rwr" else push_ppr
        scores = rank(around, positions, weights, _DAMPING)
        if self.settings.entity_ranker == "nibble":  # the order of PageRank-Nibble's sweep
            scores = scores / np.maximum(around.degrees(), 1)
        best = around.nodes[best_positions(scores, count)]
        first = np.unique(starts)
        return np.concatenate([first, best[~np.isin(best, first)]]).astype(np.int32)

    def _relation_path_scorer(self, search: str, question: MaskedQuestion, codes: IntArray) -> PathScorer:
        """Return what scores relation paths; all are 0 where whole paths are ranked and the search needs no score."""
        if self.whole_path_ranker is not None and search in ("bfs", "shortest"):
            return lambda paths: np.zeros(len(paths), dtype=np.float32)
        return self.path_ranker.make_scorer(question, np.unique(codes))

    def _keep_best_relations(self, local: LocalGraph, question: str, count: int) -> LocalGraph:
        snapshot = self.scope.snapshot
        relations = snapshot.triples[local.edges >> 1, 1]
        distinct = np.unique(relations)
        if len(distinct) <= count:
            return local
        scores = self.relation_ranker.score(question, [snapshot.relations[int(r)] for r in distinct])
        order = np.argsort(-scores, kind="stable")[:count]
        return filter_edges(local, np.isin(relations, distinct[order]))

    def _select_paths(
        self, found: Sequence[FoundPaths], hops: FloatArray | None, count: int
    ) -> list[tuple[IntArray, IntArray, float]]:
        """Return the paths that the path ranking keeps: best relation paths first, at first only some ends of each."""
        if not found:
            return []
        scores = np.array([group.score for group in found], dtype=np.float64)
        if hops is not None:
            lengths = np.minimum([len(group.relation_path) for group in found], HOP_CLASSES) - 1
            scores += np.log(np.maximum(hops[lengths], _MIN_HOP_PROBABILITY))
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        order = sorted(
            range(len(found)), key=lambda i: (-scores[i], len(found[i].relation_path), found[i].relation_path)
        )
        counts = dict.fromkeys(order, 0)
        remaining = count
        for limit in (self.settings.ends, count):
            for i in order:
                added = max(0, min(min(limit, len(found[i].ends)) - counts[i], remaining))
                counts[i] += added
                remaining -= added
        return [(*found[i].path_to(end), float(shares[i])) for i in order for end in range(counts[i])]

    def _select_whole_paths(
        self, found: Sequence[FoundPaths], question: str, count: int, ranker: WholePathRanker, labels: Sequence[str]
    ) -> list[tuple[IntArray, IntArray, float]]:
        """Return the paths whose texts match the question best, ties by length, then by their edges."""
        paths = [group.path_to(end) for group in found for end in range(len(group.ends))]
        if not paths:
            return []
        scores = ranker.score(question, [self._path_text(*path, labels) for path in paths]).astype(np.float64)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        order = sorted(range(len(paths)), key=lambda i: (-scores[i], len(paths[i][1]), paths[i][1].tolist()))
        return [(*paths[i], float(shares[i])) for i in order[:count]]

    def _path_text(self, entities: IntArray, edges: IntArray, labels: Sequence[str]) -> str:
        snapshot = self.scope.snapshot
        relations = [snapshot.relations[int(snapshot.triples[edge >> 1, 1])] for edge in edges.tolist()]
        names = [labels[entity] for entity in entities.tolist()]
        return path_text(names, relations, [bool(edge & 1) for edge in edges.tolist()])

    def retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: BoolArray, blocked_triples: BoolArray | None
    ) -> tuple[Evidence, SearchTrace]:
        """Return the paths that the path ranking keeps as evidence, and how they were found.

        Only allowed passages (P,) count, and no blocked triples (T,).
        """
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started), _empty_trace()
        trace = self.search(question, names, blocked_triples, allowed)
        walks = ((edges, score) for _, edges, score in trace.paths)
        notes = [*trace.notes, *self.notes]
        evidence = path_evidence(self.scope, self.lexical, question, walks, trace.topics, notes, k, allowed, started)
        return evidence, trace


def _empty_trace(*notes: str) -> SearchTrace:
    none = np.zeros(0, dtype=np.int32)
    return SearchTrace(none, [], none, none, none, none, is_complex=False, notes=notes)
