"""The part of an index that a question is best read with: its neighbourhood cut out, and a selection made there.

A question's names are linked; what is within some hops of them is ranked by personalised PageRank and the best
entities kept, with all facts among them; a `SubgraphSelector` chooses from that small graph as it would from any
textual graph. What it chose is told as paths from what the question names.

Source: none for the way from an index to a small graph; the selectors name theirs. Differs from the source: nothing.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from clew.graph.paths.shortest_paths import shortest_paths
from clew.graph.ppr.local_ppr import DAMPING, best_positions, push_ppr
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.subgraphs.fact_graph import FactGraph
from clew.graph.subgraphs.induced import LocalGraph, explored_graph, local_graph
from clew.graph.subgraphs.k_hop import neighbourhood
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, Subgraph, TextualGraph
from clew.protocols import fingerprint_of
from clew.query.context import TextVectors
from clew.query.linking import TopicEntities, find_topic_entities
from clew.query.masking import find_relation_words, mask_names
from clew.query.relation_matching import match_words
from clew.query.scope import Scope
from clew.retrievers.evidence import EMPTY_QUESTION, NO_TOPIC, check_k, make_evidence
from clew.retrievers.subgraph.selectors import SubgraphSelector, node_similarity
from clew.retrievers.supporting_passages import find_supporting_passages
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Filter, Path, Scored

if TYPE_CHECKING:
    from clew.types import BoolArray, IntArray

NO_FACTS = "the graph has no fact of what the question names"
_NOTE_NAMES = 5  # names in a note


@dataclass(frozen=True, slots=True)
class SubgraphSettings:
    """How much of an index is looked at.

    Attributes:
        nodes: Entities of the neighbourhood that are chosen from.
        budget: Entities that are chosen, at most.
        hops: How far the neighbourhood reaches.
        edges: Looked at for it, at most.
        damping: Of the ranking of its entities.
    """

    nodes: int = 500
    budget: int = 20
    hops: int = 3
    edges: int = 100_000
    damping: float = DAMPING


@dataclass(frozen=True, slots=True, eq=False)
class NearbyGraph:
    """What lies around some entities.

    Attributes:
        local: The nearest, and the facts among them.
        reachable_entities: How many there are in reach.
        unexpanded: Of how many entities not all facts were looked at.
    """

    local: LocalGraph
    reachable_entities: int
    unexpanded: int


@dataclass(frozen=True, slots=True, eq=False)
class SubgraphSelection:
    """What was chosen for one question; n entities near it, m facts among them.

    Attributes:
        topics: (t,) entities that it names.
        local: The n entities and the facts among them, walked both ways.
        triples: (m,) the triple of each edge of the textual graph.
        query: The textual graph, and the question on it.
        subgraph: What of it was selected.
        notes: For people.
    """

    topics: "IntArray"
    local: LocalGraph
    triples: "IntArray"
    query: GraphQuery
    subgraph: Subgraph
    notes: tuple[str, ...]


@final
class SubgraphRetriever:
    """Finds the part of a graph that belongs to a question.

    Args:
        scope: The index.
        lexical: The words of its passages.
        graph: Gives its facts, made when first asked for.
        vectors: Of its texts.
        selector: Chooses.
        selection_note: By what it chooses, in words.
        settings: As above.
        by_words: Whether the selector is told how strongly each relation is asked for, which costs some milliseconds.
    """

    def __init__(
        self,
        scope: Scope,
        lexical: BM25Index,
        graph: Callable[[], FactGraph],
        vectors: TextVectors,
        selector: SubgraphSelector,
        selection_note: str,
        settings: SubgraphSettings,
        *,
        by_words: bool = False,
    ) -> None:
        self.scope = scope
        self.settings = settings
        self._lexical = lexical
        self._graph = graph
        self._vectors = vectors
        self._selector = selector
        self._selection_note = selection_note
        self._by_words = by_words

    @property
    def fingerprint(self) -> str:
        """The settings, and those of the selector or its weights."""
        return f"{self.settings!r}\0{self._selection_note}\0{fingerprint_of(self._selector)}"

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return a path to each selected entity, and at most `k` passages that state them (see `Retriever`).

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
        check_k(k)
        allowed, shut = self.scope.mask(where), self.scope.blocked_triples(where)
        return [
            self._retrieve_one(question, names, k, allowed, shut)
            for question, names in zip(questions, topics, strict=True)
        ]

    def select(
        self, question: str, names: Sequence[str] = (), blocked_triples: "BoolArray | None" = None
    ) -> SubgraphSelection:
        """Return what is chosen for one question; nothing of an empty graph where it names no entity.

        Args:
            question: Any string.
            names: Of what it is about; none to have its names linked.
            blocked_triples: (T,) triples that may not be used.
        """
        snapshot = self.scope.snapshot
        topics = find_topic_entities(snapshot, question, names)
        unknown = [f"no entity is called {', '.join(map(repr, topics.unknown_names))}"] if topics.unknown_names else []
        starts = np.array(topics.entities, dtype=np.int32)
        near = extract_local_graph(self._graph(), starts, self.settings, blocked_triples)
        local = near.local
        encoded, triples = encode_local_graph(snapshot, local, self._vectors)
        asked = self._encode_query(topics, encoded, local.positions(starts).astype(np.int32))
        part = self._selector.select([asked], self.settings.budget)[0]
        said = (
            self._describe_selection(asked, part)
            if len(triples)
            else (self._explain_no_facts(near) if len(starts) else NO_TOPIC,)
        )
        first = (
            [f"starts from {', '.join(snapshot.entities[int(e)] for e in starts[:_NOTE_NAMES])}"] if len(starts) else []
        )
        cut = near.unexpanded
        unexpanded = [f"of {cut} entities of many facts not all were looked at"] if cut else []
        return SubgraphSelection(starts, local, triples, asked, part, (*first, *unknown, *said, *unexpanded))

    def _encode_query(self, topics: TopicEntities, graph: EncodedGraph, places: "IntArray") -> GraphQuery:
        without = mask_names(topics.text, topics.spans)
        phrases = find_relation_words(without).phrases if self._by_words else ()
        text = without.text if topics.spans else topics.text
        encode = self._vectors.encode_questions
        vector = encode([text, *(phrase for around in phrases for phrase in around)])[0]  # together, which is quicker
        relevance = None
        if phrases and len(graph.relation_vectors):
            relevance = match_words(phrases, graph.relation_vectors, encode)[0].max(axis=0)
        return GraphQuery(graph, vector, places, relevance)

    def _describe_selection(self, asked: GraphQuery, part: Subgraph) -> tuple[str, ...]:
        graph, likeness = asked.graph.graph, node_similarity(asked)
        best = part.nodes[np.argsort(-likeness[part.nodes], kind="stable")][:_NOTE_NAMES]
        size = f"{len(part.nodes)} of {len(graph.nodes)} entities and {len(part.edges)} of {len(graph.edges)} facts"
        return (
            f"selected {size} near what the question names: {self._selection_note}",
            f"the likest of them to the question: {', '.join(graph.nodes[int(node)] for node in best)}",
        )

    def _explain_no_facts(self, near: "NearbyGraph") -> str:
        """Return why there is no fact among the entities that were kept."""
        if near.reachable_entities > len(near.local.nodes):
            kept = f"the {len(near.local.nodes)} of {near.reachable_entities} entities kept"
            return f"no fact of what the question names is among {kept} by nodes={self.settings.nodes}: raise nodes"
        return NO_FACTS

    def _retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: "BoolArray", closed: "BoolArray | None"
    ) -> Evidence:
        started = time.perf_counter()
        if not question.strip():
            return make_evidence((), (), (EMPTY_QUESTION,), started)
        selected = self.select(question, names, closed)
        whole = None if allowed.all() else allowed
        walks, strayed = paths_to_selected(selected)
        triple = self.scope.snapshot.triple
        paths: list[Scored[Path]] = [
            Scored(tuple(triple(int(code) >> 1, whole) for code in codes), score) for codes, score in walks
        ]
        passages, stated = find_supporting_passages(self.scope, self._lexical, question, paths, k, allowed)
        notes = list(selected.notes)
        if strayed:
            notes.append(f"{strayed} paths lead over facts that were not selected: nothing else joins their ends")
        if len(passages) > stated:
            notes.append(f"{len(passages) - stated} passages state no path; they share words with the question")
        topics = tuple(self.scope.snapshot.entities[int(entity)] for entity in selected.topics)
        return replace(make_evidence(passages, paths, notes, started), topics=topics)


def extract_local_graph(
    graph: FactGraph, starts: "IntArray", settings: SubgraphSettings, blocked_triples: "BoolArray | None" = None
) -> NearbyGraph:
    """Return the entities that are nearest to some by personalised PageRank, the starts first, and facts among them.

    Args:
        graph: The facts.
        starts: (s,) distinct entities; all of them are kept.
        settings: How much.
        blocked_triples: (T,) triples that may not be used.
    """
    near = neighbourhood(graph, starts, settings.hops, settings.edges, blocked_triples)
    if not len(starts):
        return NearbyGraph(local_graph(graph, near.nodes, blocked_triples), 0, 0)
    around = explored_graph(graph, near, blocked_triples)
    places = around.positions(starts)
    scores = push_ppr(around, places, np.full(len(places), 1.0 / len(places)), settings.damping)
    best = around.nodes[best_positions(scores, settings.nodes)]
    nodes = np.concatenate([starts, best[~np.isin(best, starts)]])[: max(settings.nodes, len(starts))]
    return NearbyGraph(
        local_graph(graph, nodes.astype(np.int32), blocked_triples), len(near.nodes), near.truncated_nodes
    )


def encode_local_graph(snapshot: Snapshot, local: LocalGraph, vectors: TextVectors) -> "tuple[EncodedGraph, IntArray]":
    """Return a small graph of an index as a textual graph with vectors, and the triple (m,) of each of its edges.

    Nodes keep their positions; edges are in the order of their triples.
    """
    froms = np.repeat(np.arange(len(local.nodes)), local.degrees())
    forwards = np.flatnonzero(~(local.edges & 1).astype(np.bool_))
    forwards = forwards[np.argsort(local.edges[forwards], kind="stable")]
    triples = local.edges[forwards] >> 1
    edges = np.column_stack([froms[forwards], local.neighbours[forwards]]).astype(np.int32)
    distinct, relation_of = np.unique(snapshot.triples[triples, 1], return_inverse=True)
    texts = [snapshot.relations[int(relation)] for relation in distinct]
    names = [snapshot.entities[int(entity)] for entity in local.nodes]
    graph = TextualGraph(names, edges, [texts[row] for row in relation_of.tolist()])
    nodes, relations = vectors.entity_vectors()[local.nodes], vectors.relation_vectors()[distinct]
    return EncodedGraph(graph, nodes, relations, relation_of.astype(np.int32)), triples.astype(np.int32)


def paths_to_selected(selected: SubgraphSelection) -> "tuple[list[tuple[IntArray, float]], int]":
    """Return for each selected entity the way there from what the question names, the likest entity's first.

    A way leads over as few facts as can be that were not selected, then over as few as can be; entities that the
    question names have none.

    Returns:
        Edge codes (h,) and the cosine of the entity's name with the question; and how many ways lead over facts that
        were not selected.
    """
    local, part = selected.local, selected.subgraph
    if not len(part.nodes) or not len(local.edges):
        return [], 0
    inside = np.isin(local.edges >> 1, selected.triples[part.edges])
    costs = np.where(inside, 1.0, 1.0 + len(local.nodes))
    hops = min(len(part.nodes) + len(local.nodes).bit_length(), len(local.nodes))
    paths, spent = shortest_paths(local, selected.query.topics, hops, costs)
    lengths = paths.lengths()
    ends = local.positions(paths.nodes[np.arange(len(paths)), lengths])
    likeness = node_similarity(selected.query)[ends]
    chosen = np.flatnonzero(np.isin(ends, part.nodes))
    chosen = chosen[np.argsort(-likeness[chosen], kind="stable")]
    walks = [(paths.edges[i, : lengths[i]], float(likeness[i])) for i in chosen.tolist()]
    return walks, int((spent[chosen] > len(local.nodes)).sum())
