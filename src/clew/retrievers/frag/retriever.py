"""FRAG: reasoning paths from a knowledge graph, found with more or less effort as the question is complex or simple.

A question's entities are linked; the router says how many hops it takes; their neighbourhood is cut out (k hops), its
entities are ranked and the best kept (GRM), its relations likewise (ERM); paths are searched, ranked (PRM) and the best
kept. No language model is asked.

Source: Gao et al., "FRAG: A Flexible Modular Framework for Retrieval-Augmented Generation based on
Knowledge Graphs" (2025), section 3.2.
Differs from the source: chains of relations are searched, not all simple paths or one shortest path to each
entity, whose relations are seldom those asked for (`search=bfs` and `shortest` do that); the router counts hops,
and what it says of their number adds to the ranking of the paths; of each chain of relations only some ends are kept
as long as there are others; the neighbourhood is bounded.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from clew.graph.paths.relation_paths import relation_codes
from clew.graph.ppr.local_ppr import best_positions, pagerank_nibble, push_ppr, random_walk_with_restart
from clew.graph.subgraphs.fact_graph import FactGraph
from clew.graph.subgraphs.induced import LocalGraph, explored_graph, filter_edges, local_graph
from clew.graph.subgraphs.k_hop import Neighbourhood, neighbourhood
from clew.protocols import TextScorer, fingerprint_of
from clew.query.linking import find_topic_entities
from clew.query.masking import mask_names
from clew.query.scope import Scope
from clew.retrievers.evidence import EMPTY_QUESTION, NO_TOPIC, check_k, make_evidence
from clew.retrievers.frag.hop_predictor import HOP_CLASSES, HopPredictor
from clew.retrievers.frag.path_ranking import RelationPathRanker
from clew.retrievers.frag.path_search import FoundPaths, SearchBounds, find_relation_paths
from clew.retrievers.supporting_passages import find_supporting_passages
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Filter, Scored

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray

NO_PATH = "no path leads away from what the question names"
ENTITY_RANKERS = ("ppr", "rwr", "nibble")
_MIN_HOP_PROBABILITY = 0.02  # what the router may hold against a length, so that it never decides alone


@dataclass(frozen=True, slots=True)
class FragSettings:
    """The settings of the published system, and our bounds.

    Attributes:
        always: `simple` or `complex` for all questions; "" where there is a router to ask.
        delta: Hops beyond which a question is complex.
        simple: Search and hops of simple questions.
        complex: The same of complex ones.
        entities: That the entity ranking keeps (n).
        relations: That the relation ranking keeps (m).
        paths: That the path ranking keeps (u).
        entity_ranker: One of `ENTITY_RANKERS`.
        damping: Of the entity ranking.
        lengths: Whether what the router says of the number of hops adds to the ranking of paths.
        edges: Looked at for the neighbourhood, at most.
        ends: Of one chain of relations that are kept before those of the next.
    """

    always: str = ""
    delta: int = 2
    simple: tuple[str, SearchBounds] = ("chains", SearchBounds(2))
    complex: tuple[str, SearchBounds] = ("chains", SearchBounds(4))
    entities: int = 2_000
    relations: int = 64
    paths: int = 32
    entity_ranker: str = "ppr"
    damping: float = 0.8
    lengths: bool = True
    edges: int = 300_000
    ends: int = 8


@dataclass(frozen=True, slots=True, eq=False)
class SearchTrace:
    """What the steps of one search left, for evidence and for figures.

    Attributes:
        topics: Entities (s,) that the search started from.
        paths: Kept, best first: entities (h + 1,), edge codes (h,) and a score, the share of the likelihood.
        neighbourhood: Entities (n,) within the hops.
        ranked_entities: Entities (n,) that the entity ranking kept, best first.
        connected_entities: Those of them (n,) that an edge is left to after the relation ranking.
        path_ends: Entities (n,) where some path ends.
        is_complex: Whether it was searched as a complex question.
    """

    topics: "IntArray"
    paths: "list[tuple[IntArray, IntArray, float]]"
    neighbourhood: "IntArray"
    ranked_entities: "IntArray"
    connected_entities: "IntArray"
    path_ends: "IntArray"
    is_complex: bool
    notes: tuple[str, ...]


@final
class FragRetriever:
    """Finds reasoning paths.

    Args:
        scope: The index.
        lexical: The words of its passages.
        graph: Gives its facts, made when first asked for.
        hop_predictor: Counts hops; None where `always` decides.
        relation_ranker: Scores relations as texts (ERM).
        path_ranker: Scores chains of relations (PRM).
        settings: As above.
        notes: Said with every question.
    """

    def __init__(
        self,
        scope: Scope,
        lexical: BM25Index,
        graph: Callable[[], FactGraph],
        hop_predictor: HopPredictor | None,
        relation_ranker: TextScorer,
        path_ranker: RelationPathRanker,
        settings: FragSettings,
        notes: Sequence[str] = (),
    ) -> None:
        self.scope = scope
        self.settings = settings
        self._lexical = lexical
        self._graph = graph
        self._hop_predictor = hop_predictor
        self._relation_ranker = relation_ranker
        self._path_ranker = path_ranker
        self._notes = tuple(notes)

    @property
    def fingerprint(self) -> str:
        """The settings, and the weights of router and ranker."""
        return f"{self.settings!r}\0{fingerprint_of(self._hop_predictor, self._path_ranker)}"

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return paths, and at most `k` passages that state them (see `Retriever`).

        A name in square brackets is what the question is about; without one its names are linked.
        """
        return self.retrieve_about(questions, [()] * len(questions), k, where)

    def retrieve_about(
        self, questions: Sequence[str], topics: Sequence[Sequence[str]], k: int, where: Filter | None = None
    ) -> list[Evidence]:
        """Return the same for questions about given entities.

        Args:
            questions: As in `retrieve`.
            topics: The names of each one's entities; none to have its names linked.
            k: As in `retrieve`.
            where: Likewise.
        """
        return [evidence for evidence, _ in self.retrieve_with_trace(questions, topics, k, where)]

    def retrieve_with_trace(
        self, questions: Sequence[str], topics: Sequence[Sequence[str]], k: int, where: Filter | None = None
    ) -> list[tuple[Evidence, SearchTrace]]:
        """Return the same with what every step of the search left."""
        check_k(k)
        allowed, shut = self.scope.mask(where), self.scope.blocked_triples(where)
        return [
            self._retrieve_one(question, names, k, allowed, shut)
            for question, names in zip(questions, topics, strict=True)
        ]

    def search(
        self, question: str, names: Sequence[str] = (), blocked_triples: "BoolArray | None" = None
    ) -> SearchTrace:
        """Return what every step of the search for one question left."""
        topics = find_topic_entities(self.scope.snapshot, question, names)
        notes = [f"no entity is called {', '.join(map(repr, topics.unknown_names))}"] if topics.unknown_names else []
        starts = np.array(topics.entities, dtype=np.int32)
        if not len(starts):
            return _empty_trace(*notes, NO_TOPIC)
        asked = mask_names(topics.text, topics.spans)
        chances = None if self._hop_predictor is None else self._hop_predictor.hop_probabilities([asked])[0]
        is_complex, said = self._choose_search(chances)
        kind, bounds = self.settings.complex if is_complex else self.settings.simple
        graph = self._graph()
        near = neighbourhood(graph, starts, bounds.hops, self.settings.edges, blocked_triples)
        if near.truncated_nodes:
            notes.append(f"of {near.truncated_nodes} entities of many facts not all were looked at")
        local = local_graph(graph, self._rank_entities(graph, near, starts, blocked_triples), blocked_triples)
        local = self._keep_best_relations(local, asked.text)
        codes = relation_codes(local, self.scope.snapshot.triples)
        scores = self._path_ranker.make_scorer(asked, np.unique(codes))
        chains, cut = find_relation_paths(kind, local, codes, local.positions(starts), bounds, scores)
        if cut:
            notes.append("there are more paths than were looked at; the nearest were")
        paths = self._select_paths(chains, chances if self.settings.lengths else None)
        ended = np.unique(np.concatenate([chain.ends for chain in chains])) if chains else starts[:0]
        started = f"starts from {', '.join(self.scope.snapshot.entities[int(e)] for e in starts[:5])}"
        notes = [started, *said, *notes, *(() if paths else (NO_PATH,))]
        joined = local.nodes[local.degrees() > 0]
        return SearchTrace(starts, paths, near.nodes, local.nodes, joined, ended, is_complex, tuple(notes))

    def _choose_search(self, chances: "FloatArray | None") -> tuple[bool, list[str]]:
        if chances is None:
            return self.settings.always == "complex", [f"searched as a {self.settings.always} question"]
        share = float(chances[self.settings.delta :].sum())
        hops = int(np.argmax(chances)) + 1
        kind = "complex" if share > 0.5 else "simple"
        more = " or more" if hops == HOP_CLASSES else ""
        likely = f"{hops}{more} {'hop is' if hops == 1 else 'hops are'} likeliest"
        return share > 0.5, [f"a {kind} question: {likely} (more than {self.settings.delta}: {share:.2f})"]

    def _rank_entities(
        self, graph: FactGraph, near: Neighbourhood, starts: "IntArray", closed: "BoolArray | None"
    ) -> "IntArray":
        """Return the entities that the entity ranking keeps, best first, the starts before all others."""
        around = explored_graph(graph, near, closed)
        places = around.positions(starts)
        weights = np.full(len(places), 1.0 / len(places))
        if self.settings.entity_ranker == "nibble":
            scores = pagerank_nibble(around, places, weights, self.settings.damping).scores
        elif self.settings.entity_ranker == "rwr":
            scores = random_walk_with_restart(around, places, weights, self.settings.damping)
        else:
            scores = push_ppr(around, places, weights, self.settings.damping)
        best = around.nodes[best_positions(scores, self.settings.entities)]
        first = np.unique(starts)
        return np.concatenate([first, best[~np.isin(best, first)]]).astype(np.int32)

    def _keep_best_relations(self, local: LocalGraph, question: str) -> LocalGraph:
        """Return the graph with the relations alone that the relation ranking keeps."""
        snapshot = self.scope.snapshot
        relations = snapshot.triples[local.edges >> 1, 1]
        distinct = np.unique(relations)
        if len(distinct) <= self.settings.relations:
            return local
        scores = self._relation_ranker.score(question, [snapshot.relations[int(r)] for r in distinct])
        order = np.argsort(-scores, kind="stable")[: self.settings.relations]
        return filter_edges(local, np.isin(relations, distinct[order]))

    def _select_paths(
        self, chains: Sequence[FoundPaths], chances: "FloatArray | None"
    ) -> "list[tuple[IntArray, IntArray, float]]":
        """Return the paths that the path ranking keeps: of the best chains first, only some ends of each at first."""
        if not chains:
            return []
        scores = np.array([chain.score for chain in chains], dtype=np.float64)
        if chances is not None:
            lengths = np.minimum([len(chain.relation_path) for chain in chains], HOP_CLASSES) - 1
            scores += np.log(np.maximum(chances[lengths], _MIN_HOP_PROBABILITY))
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        order = sorted(
            range(len(chains)), key=lambda i: (-scores[i], len(chains[i].relation_path), chains[i].relation_path)
        )
        taken = dict.fromkeys(order, 0)
        left = self.settings.paths
        for most in (self.settings.ends, self.settings.paths):
            for i in order:
                more = min(most, len(chains[i].ends)) - taken[i]
                taken[i] += max(0, min(more, left))
                left -= max(0, min(more, left))
        return [(*chains[i].path_to(end), float(shares[i])) for i in order for end in range(taken[i])]

    def _retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: "BoolArray", closed: "BoolArray | None"
    ) -> tuple[Evidence, SearchTrace]:
        started = time.perf_counter()
        if not question.strip():
            return make_evidence((), (), (EMPTY_QUESTION,), started), _empty_trace()
        searched = self.search(question, names, closed)
        whole = None if allowed.all() else allowed
        triple = self.scope.snapshot.triple
        paths = [
            Scored(tuple(triple(int(edge) >> 1, whole) for edge in edges), score) for _, edges, score in searched.paths
        ]
        topics = tuple(self.scope.snapshot.entities[int(entity)] for entity in searched.topics)
        passages, stated = find_supporting_passages(self.scope, self._lexical, question, paths, k, allowed)
        notes = [*searched.notes, *self._notes]
        if len(passages) > stated:
            notes.append(f"{len(passages) - stated} passages state no path; they share words with the question")
        return replace(make_evidence(passages, paths, notes, started), topics=topics), searched


def _empty_trace(*notes: str) -> SearchTrace:
    none = np.zeros(0, dtype=np.int32)
    return SearchTrace(none, [], none, none, none, none, is_complex=False, notes=notes)
