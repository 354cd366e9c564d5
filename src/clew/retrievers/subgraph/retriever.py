"""Subgraph retrieval on an index: the neighbourhood of a question's entities, and a selection from it.

A question's names are linked; entities within some hops are ranked by personalised PageRank and the best kept, with
all facts among them; a `SubgraphSelector` selects from that small graph as from any textual graph. The selection is
returned as paths from the question's entities.

Source: none for the step from an index to a small graph; the selectors name theirs. Differs from the source: nothing.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, final

import numpy as np
from pydantic import Field

from clew.arrays import BoolArray, IntArray
from clew.graph.paths.simple_paths import shortest_paths
from clew.graph.ppr.local_ppr import best_positions, push_ppr
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.subgraphs.k_hop import MAX_HOPS, LocalGraph, explored_graph, local_graph, neighbourhood
from clew.graph.subgraphs.textual_graph import EncodedGraph, FactGraph, GraphQuery, Subgraph, TextualGraph
from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.protocols import fingerprint_of
from clew.query.context import TextVectors
from clew.query.linking import NOTE_NAMES, TopicEntities, find_relation_words, mask_names
from clew.query.scope import Scope
from clew.retrievers.evidence import NO_TOPIC, empty_question_evidence
from clew.retrievers.subgraph.encoding import MaskedText, SubgraphSelector, node_similarity
from clew.retrievers.supporting_passages import PathRetriever, path_evidence
from clew.text.bm25 import BM25Index
from clew.text.display import format_count
from clew.types import Evidence

NO_FACTS = "the graph has no fact of what the question names"


class Neighbourhood(SettingsRecord):
    """Settings of the neighbourhood that a subgraph is selected from."""

    nodes: WholeNumber = setting(500, "entities that are selected from", "docs/subgraphs.md")
    budget: Annotated[int, Field(ge=1, le=100_000)] = setting(
        20, "entities that are selected, at most", "docs/subgraphs.md"
    )
    hops: Annotated[int, Field(ge=1, le=MAX_HOPS)] = setting(3, "radius of the neighbourhood")
    edges: WholeNumber = setting(100_000, "edges read for the neighbourhood, at most")


@dataclass(frozen=True, slots=True, eq=False)
class NearbyGraph:
    """Neighbourhood of some entities."""

    local: LocalGraph  # the best ranked entities, and the facts among them
    reachable_entities: int  # number of entities within reach
    unexpanded: int  # number of entities of which not all facts were visited


@dataclass(frozen=True, slots=True, eq=False)
class SubgraphSelection:
    """Selection for one question: n entities near it, m facts among them."""

    text: str  # the question, without brackets
    topics: IntArray  # (t,) entities that it names
    local: LocalGraph  # the n entities and their facts, traversable both ways
    triples: IntArray  # (m,) the triple of each edge of the textual graph
    query: GraphQuery  # the textual graph, and the question on it
    subgraph: Subgraph  # the selected part of it
    notes: tuple[str, ...]  # explanations for the user


@final
@dataclass(frozen=True, slots=True, eq=False)
class SubgraphRetriever(PathRetriever[SubgraphSelection | None]):
    """Retrieves the part of a graph that is relevant to a question."""

    scope: Scope
    lexical: BM25Index  # BM25 of its passages
    graph: Callable[[], FactGraph]  # returns its facts, which are made when first needed
    vectors: TextVectors  # vectors of its texts
    selector: SubgraphSelector  # selects the subgraph
    selection_note: str  # criterion of the selector, in words
    settings: Neighbourhood
    by_words: bool = False  # whether the selector reads the relevance of each relation, which costs some milliseconds

    @property
    def fingerprint(self) -> str:
        """The settings of the neighbourhood, and the selector's settings or weights."""
        bounds = [getattr(self.settings, name) for name in Neighbourhood.model_fields]
        return f"{bounds}\0{self.selection_note}\0{fingerprint_of(self.selector)}"

    def select(
        self,
        question: str,
        names: Sequence[str] = (),
        blocked_triples: BoolArray | None = None,
        allowed: BoolArray | None = None,
    ) -> SubgraphSelection:
        """Select the subgraph for one question about names, () for those in it, without the blocked triples (T,).

        Names that only passages beside the allowed ones (P,) write are not known. It is empty
        where the question names no entity.
        """
        snapshot = self.scope.snapshot
        allowed = self.scope.mask(None) if allowed is None else allowed
        labels = self.scope.names(allowed).entities
        topics = self.scope.linker_among(allowed).find_topics(question, names)
        starts = np.array(topics.entities, dtype=np.int32)
        near = extract_local_graph(self.graph(), starts, self.settings, blocked_triples)
        encoded, triples = encode_local_graph(snapshot, near.local, self.vectors, labels)
        query = self._encode_query(topics, encoded, near.local.positions(starts).astype(np.int32))
        subgraph = self.selector.select([query], self.settings.budget)[0]
        notes = [*topics.notes]
        if len(starts):
            notes.append(topics.describe_starts(self.scope.names(allowed)))
        if topics.unknown_names:
            notes.append(f"no entity is called {', '.join(map(repr, topics.unknown_names))}")
        if len(triples):
            notes += self._describe_selection(query, subgraph)
        else:
            notes.append(self._explain_no_facts(near) if len(starts) else NO_TOPIC)
        if near.unexpanded:
            notes.append(f"of {format_count(near.unexpanded, 'entity')} of many facts not all were looked at")
        return SubgraphSelection(topics.text, starts, near.local, triples, query, subgraph, tuple(notes))

    def _encode_query(self, topics: TopicEntities, graph: EncodedGraph, positions: IntArray) -> GraphQuery:
        masked = mask_names(topics.text, topics.spans)
        phrases = find_relation_words(masked).phrases if self.by_words else ()
        text = MaskedText(masked.text, phrases, topics.text) if topics.spans else MaskedText(topics.text, phrases)
        return text.query(graph, positions, self.vectors.encode_questions)

    def _describe_selection(self, query: GraphQuery, subgraph: Subgraph) -> tuple[str, ...]:
        graph, similarity, nodes = query.graph.graph, node_similarity(query), subgraph.nodes
        best = nodes[np.argsort(-similarity[nodes], kind="stable")][:NOTE_NAMES]
        entities, facts = format_count(len(graph.nodes), "entity"), format_count(len(graph.edges), "fact")
        size = f"{len(nodes)} of {entities} and {len(subgraph.edges)} of {facts}"
        return (
            f"selected {size} near what the question names: {self.selection_note}",
            f"most similar to the question: {', '.join(graph.nodes[int(node)] for node in best)}",
        )

    def _explain_no_facts(self, near: NearbyGraph) -> str:
        if near.reachable_entities > len(near.local.nodes):
            kept = f"the {len(near.local.nodes)} of {format_count(near.reachable_entities, 'entity')} kept"
            return f"no fact of what the question names is among {kept} by nodes={self.settings.nodes}: raise nodes"
        return NO_FACTS

    def retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: BoolArray, blocked_triples: BoolArray | None
    ) -> tuple[Evidence, SubgraphSelection | None]:
        """Return a path to each selected entity as evidence, and the selection; None for an empty question.

        Only allowed passages (P,) count, and no blocked triples (T,).
        """
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started), None
        selection = self.select(question, names, blocked_triples, allowed)
        walks, detours = paths_to_selected(selection)
        notes = list(selection.notes)
        if detours:
            lead = format_count(detours, "path leads", "paths lead")
            notes.append(f"{lead} over facts that were not selected: nothing else joins their ends")
        topics = selection.topics
        evidence = path_evidence(self.scope, self.lexical, question, walks, topics, notes, k, allowed, started)
        return evidence, selection


def extract_local_graph(
    graph: FactGraph, starts: IntArray, settings: Neighbourhood, blocked_triples: BoolArray | None = None
) -> NearbyGraph:
    """Return the entities nearest to the starts by personalised PageRank, the starts first, and the facts among them.

    All distinct starts (s,) are kept; blocked triples (T,) are not used.
    """
    near = neighbourhood(graph, starts, settings.hops, settings.edges, blocked_triples)
    if not len(starts):
        return NearbyGraph(local_graph(graph, near.nodes, blocked_triples), 0, 0)
    explored = explored_graph(graph, near, blocked_triples)
    positions = explored.positions(starts)
    scores = push_ppr(explored, positions, np.full(len(positions), 1.0 / len(positions)))
    best = explored.nodes[best_positions(scores, settings.nodes)]
    nodes = np.concatenate([starts, best[~np.isin(best, starts)]])[: max(settings.nodes, len(starts))]
    return NearbyGraph(
        local_graph(graph, nodes.astype(np.int32), blocked_triples), len(near.nodes), near.truncated_nodes
    )


def encode_local_graph(
    snapshot: Snapshot, local: LocalGraph, vectors: TextVectors, labels: Sequence[str] | None = None
) -> tuple[EncodedGraph, IntArray]:
    """Return a small graph of an index as a textual graph with vectors, and the triple (m,) of each of its edges.

    `labels` are the names of the E entities, None for those of the whole index. Nodes keep their positions;
    edges are in the order of their triples.
    """
    sources = np.repeat(np.arange(len(local.nodes)), local.degrees())
    forward = np.flatnonzero(~(local.edges & 1).astype(np.bool_))
    forward = forward[np.argsort(local.edges[forward], kind="stable")]
    triples = local.edges[forward] >> 1
    edges = np.column_stack([sources[forward], local.neighbours[forward]]).astype(np.int32)
    distinct, relation_of = np.unique(snapshot.triples[triples, 1], return_inverse=True)
    texts = [snapshot.relations[int(relation)] for relation in distinct]
    labels = snapshot.entities if labels is None else labels
    names = [labels[int(entity)] for entity in local.nodes]
    graph = TextualGraph(names, edges, [texts[row] for row in relation_of.tolist()])
    nodes, relations = vectors.entity_vectors()[local.nodes], vectors.relation_vectors()[distinct]
    return EncodedGraph(graph, nodes, relations, relation_of.astype(np.int32)), triples.astype(np.int32)


def paths_to_selected(selection: SubgraphSelection) -> tuple[list[tuple[IntArray, float]], int]:
    """Return a path from the topic entities to each other selected entity, that of the most similar entity first.

    Each path, as edge codes (h,) and the similarity of the entity's name to the question, has as few facts outside the
    selection as possible, then as few facts as possible. Also returns the number of paths with facts outside it.
    """
    local, subgraph = selection.local, selection.subgraph
    if not len(subgraph.nodes) or not len(local.edges):
        return [], 0
    is_selected = np.isin(local.edges >> 1, selection.triples[subgraph.edges])
    costs = np.where(is_selected, 1.0, 1.0 + len(local.nodes))
    hops = min(len(subgraph.nodes) + len(local.nodes).bit_length(), len(local.nodes))
    paths, path_costs = shortest_paths(local, selection.query.topics, hops, costs)
    lengths = paths.lengths()
    ends = local.positions(paths.nodes[np.arange(len(paths)), lengths])
    similarity = node_similarity(selection.query)[ends]
    chosen = np.flatnonzero(np.isin(ends, subgraph.nodes))
    chosen = chosen[np.argsort(-similarity[chosen], kind="stable")]
    walks = [(paths.edges[i, : lengths[i]], float(similarity[i])) for i in chosen.tolist()]
    return walks, int((path_costs[chosen] > len(local.nodes)).sum())
