"""What the published network is shown of a question."""

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot.relational_edges import entity_graph
from clew.index import Index
from clew.query.linking import link_question
from clew.retrievers.gfm.entity_graphs import EntityGraphBuilder
from clew.retrievers.gfm.passage_graphs import FALLBACK_NOTE

QUESTION = "Where was Louis Palander born?"

if TYPE_CHECKING:
    from clew.types import FloatArray


def nothing() -> "FloatArray":
    raise AssertionError("the vector is not needed")


def test_named_entities_weigh_one_over_their_passages(small: Index) -> None:
    s = small.snapshot
    everything = np.ones(len(s.passage_ids), dtype=bool)
    linked = link_question(s, QUESTION)
    graph = EntityGraphBuilder(entity_graph(s), s, None).build(linked, nothing, everything)
    assert graph.nodes.tolist() == list(range(len(s.entities)))
    assert len(graph.edges) == len(entity_graph(s).senders)
    named = {e for name in linked.linked_names for e in name.entities}
    assert set(np.flatnonzero(graph.seeds).tolist()) == named
    for entity in named:
        assert np.isclose(graph.seeds[entity], 1.0 / len(s.mentioned_in.row(entity)))
    assert graph.targets.all()
    assert graph.features.shape == (len(s.entities), 0)


def test_few_nodes_are_the_named_ones_and_those_near_them(small: Index) -> None:
    s = small.snapshot
    everything = np.ones(len(s.passage_ids), dtype=bool)
    linked = link_question(s, QUESTION)
    graph = EntityGraphBuilder(entity_graph(s), s, 4).build(linked, nothing, everything)
    named = {e for name in linked.linked_names for e in name.entities}
    assert named <= set(graph.nodes.tolist())
    assert len(graph.nodes) <= 4 + len(named)
    places = {int(node): place for place, node in enumerate(graph.nodes)}
    assert all(s.entities[e] for e in places)
    assert graph.senders.max(initial=0) < len(graph.nodes)


def test_entities_of_no_allowed_passage_are_not_there(small: Index) -> None:
    s = small.snapshot
    allowed = np.array([id_ not in ("palander", "vega") for id_ in s.passage_ids])
    graph = EntityGraphBuilder(entity_graph(s), s, None).build(link_question(s, QUESTION), nothing, allowed)
    for node in graph.nodes.tolist():
        assert allowed[s.mentioned_in.row(node)].any()
    for triple in entity_graph(s).triples[graph.edges].tolist():
        assert triple < 0 or allowed[s.triple_passages.row(triple)].any()


def test_where_nothing_is_named_the_subjects_of_near_passages_stand_in(small: Index) -> None:
    s = small.snapshot
    everything = np.ones(len(s.passage_ids), dtype=bool)
    near = np.zeros(len(s.passage_ids), dtype=np.float32)
    wanted = list(s.passage_ids).index("bornholm")
    near[wanted] = 1.0
    source = EntityGraphBuilder(entity_graph(s), s, 50, lambda _: near)
    graph = source.build(link_question(s, "which isle has round churches"), nothing, everything)
    assert graph.has_fallback_seeds
    assert FALLBACK_NOTE in graph.notes
    assert graph.seeds[graph.nodes.searchsorted(s.title_entities[wanted])] > 0
    bare = EntityGraphBuilder(entity_graph(s), s, 50).build(
        link_question(s, "which isle has churches"), nothing, everything
    )
    assert not len(bare.nodes)
