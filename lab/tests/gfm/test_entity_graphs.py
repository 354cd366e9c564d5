"""Question graphs of the published network."""

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot.relational_edges import RelationalEdges
from clew.index import Index
from clew.query.linking import link_question
from clew.retrievers.gfm.passage_graphs import FALLBACK_NOTE
from clew_lab.gfm.entity_graphs import EntityGraphBuilder
from clew_lab.graph.node_graphs import entity_graph
from clew_lab.graph.synonyms import load_synonyms

QUESTION = "Where was Louis Palander born?"

if TYPE_CHECKING:
    from clew.types import FloatArray


def no_vector(number: int) -> "FloatArray":
    raise AssertionError(f"the vector of text {number} is not needed")


def entity_edges(index: Index) -> RelationalEdges:
    return entity_graph(index.snapshot, load_synonyms(index.context))


def test_a_small_graph_holds_the_named_nodes_and_their_neighbours(small: Index) -> None:
    s, edges = small.snapshot, entity_edges(small)
    everything = np.ones(len(s.passage_ids), dtype=bool)
    linked = link_question(s, QUESTION)
    graph = EntityGraphBuilder(edges, s, 4).build(linked, no_vector, everything)
    named = {e for name in linked.linked_names for e in name.entities}
    assert named <= set(graph.nodes.tolist())
    assert len(graph.nodes) <= 4 + len(named)
    positions = {int(node): position for position, node in enumerate(graph.nodes)}
    assert all(s.entities[e] for e in positions)
    assert graph.senders.max(initial=0) < len(graph.nodes)


def test_entities_of_no_allowed_passage_are_left_out(small: Index) -> None:
    s, edges = small.snapshot, entity_edges(small)
    allowed = np.array([id_ not in ("palander", "vega") for id_ in s.passage_ids])
    graph = EntityGraphBuilder(edges, s, None).build(link_question(s, QUESTION), no_vector, allowed)
    for node in graph.nodes.tolist():
        assert allowed[s.mentioned_in.row(node)].any()
    for triple in edges.triples[graph.edges].tolist():
        assert triple < 0 or allowed[s.triple_passages.row(triple)].any()


def test_without_names_the_titles_of_similar_passages_are_seeds(small: Index) -> None:
    s, edges = small.snapshot, entity_edges(small)
    everything = np.ones(len(s.passage_ids), dtype=bool)
    expected = list(s.passage_ids).index("bornholm")
    source = EntityGraphBuilder(edges, s, 50, lambda *_: [expected])
    graph = source.build(link_question(s, "which isle has round churches"), no_vector, everything)
    assert FALLBACK_NOTE in graph.notes
    assert graph.seeds[graph.nodes.searchsorted(s.title_entities[expected])] > 0
    bare = EntityGraphBuilder(edges, s, 50).build(link_question(s, "which isle has churches"), no_vector, everything)
    assert not len(bare.nodes)
