"""Subgraph retrieval on an index: neighbourhood, selection, and paths."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.graph.paths.simple_paths import path_entities
from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph
from clew.index import Index
from clew.retrievers.evidence import NO_TOPIC
from clew.retrievers.registry import parse_retriever
from clew.retrievers.subgraph.retriever import NO_FACTS, Neighbourhood, SubgraphRetriever
from clew.settings import Settings
from clew.types import Document
from clew_lab.graph.reader_context import full_subgraph, textualise
from tests.kinship import QUESTIONS, TRIPLES, graph_of, make_kinship_index, path_ends


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_kinship_index(tmp_path_factory.mktemp("family"))


def steiner(index: Index, name: str = "steiner") -> SubgraphRetriever:
    retriever = index.retriever(parse_retriever(name))
    assert isinstance(retriever, SubgraphRetriever)
    return retriever


@pytest.mark.parametrize(("text", "topics", "answers", "hops"), QUESTIONS)
def test_a_path_leads_from_the_topic_to_every_selected_entity(
    family: Index, text: str, topics: tuple[str, ...], answers: tuple[str, ...], hops: int
) -> None:
    retriever = steiner(family)
    selected = retriever.select(text, topics)
    evidence = retriever.retrieve_about([text], [topics], 5)[0]
    names = {selected.query.graph.graph.nodes[int(node)] for node in selected.subgraph.nodes}
    assert set(path_ends(evidence)) == names - set(topics)
    assert len(path_ends(evidence)) == len(set(path_ends(evidence)))
    assert answers[0] in names
    assert all(path_entities(path.item, evidence.topics)[0] in topics for path in evidence.paths)
    known_ids = {*TRIPLES}
    assert all((t.head, t.relation, t.tail) in known_ids for path in evidence.paths for t in path.item)


def test_the_textual_graph_equals_the_index(family: Index) -> None:
    selected = steiner(family).select("what is the profession of [Ada Lind]")
    graph, snapshot = selected.query.graph.graph, family.snapshot
    facts = [
        (graph.nodes[a], r, graph.nodes[b]) for (a, b), r in zip(graph.edges.tolist(), graph.relations, strict=True)
    ]
    triples = [snapshot.triple(int(triple)) for triple in selected.triples]
    assert facts == [(t.head, t.relation, t.tail) for t in triples]
    assert set(facts) <= set(TRIPLES)
    assert {name for name in graph.nodes if "Alone" in name} == set()
    assert [graph.nodes[int(node)] for node in selected.query.topics] == ["Ada Lind"]
    rows = selected.query.graph
    np.testing.assert_allclose(np.linalg.norm(rows.node_vectors, axis=1), 1.0, atol=1e-3)
    assert rows.relation_vectors.shape[0] == len(set(graph.relations))
    by_edge = {relation: int(row) for relation, row in zip(graph.relations, rows.edge_relations, strict=True)}
    assert len(set(by_edge.values())) == len(by_edge)
    assert textualise(graph, selected.subgraph).startswith("node_id,node_attr\n")


def test_budget_and_neighbourhood_limits_hold(family: Index) -> None:
    question = QUESTIONS[5]
    for budget in (1, 3):
        assert (
            len(steiner(family, f"steiner:budget={budget}").select(question[0], question[1]).subgraph.nodes) == budget
        )
    small = steiner(family, "steiner:nodes=4").select(question[0], question[1])
    assert len(small.local.nodes) == 4
    assert family.snapshot.entities[int(small.local.nodes[0])] == "Ada Lind"
    nearest = steiner(family, "steiner:hops=1").select(question[0], question[1])
    assert {*nearest.query.graph.graph.nodes} == {"Ada Lind", "Bo Lind", "Vardø", "Eva Holm"}


def test_the_selection_is_described_in_notes(family: Index) -> None:
    notes = steiner(family).retrieve(["what is the profession of [Eva Holm]"], 5)[0].notes
    assert notes[0] == "starts from Eva Holm"
    assert "tree that collects the 3 most similar names and 5 most similar relations" in notes[1]
    assert "of 8 entities and" in notes[1]
    assert "teacher" in notes[2]


def test_paths_come_most_similar_first_and_stay_in_the_tree(family: Index) -> None:
    retriever = steiner(family)
    for text, topics, _, _ in QUESTIONS:
        selected = retriever.select(text, topics)
        evidence = retriever.retrieve_about([text], [topics], 5)[0]
        scores = [path.score for path in evidence.paths]
        assert scores == sorted(scores, reverse=True)
        chosen = [family.snapshot.triple(int(t)) for t in selected.triples[selected.subgraph.edges]]
        if set(selected.query.topics.tolist()) & set(selected.subgraph.nodes.tolist()):
            assert all(triple in chosen for path in evidence.paths for triple in path.item)
            assert not any("not selected" in note for note in evidence.notes)


def test_a_tree_away_from_the_topic_is_reached_over_other_facts_with_a_note(tmp_path: Path) -> None:
    index = graph_of(tmp_path, [("Start", "x", "Middle"), ("Middle", "x", "target word"), ("Start", "x", "Other")])
    evidence = steiner(index, "steiner:topk=1,topk_e=1,budget=1").retrieve(["target word of [Start]"], 5)[0]
    assert path_ends(evidence) == ["target word"]
    assert [len(path.item) for path in evidence.paths] == [2]
    assert any("1 path leads over facts that were not selected" in note for note in evidence.notes)


def test_missing_topics_and_facts_are_noted(family: Index, tmp_path: Path) -> None:
    retriever = steiner(family)
    assert NO_TOPIC in retriever.retrieve(["how many roads lead there"], 5)[0].notes
    unknown = retriever.retrieve_about(["who is it"], [["Nobody At All"]], 5)[0]
    assert "no entity is called 'Nobody At All'" in unknown.notes
    assert not unknown.paths
    index = clew.create(tmp_path / "index", Settings(encoder="hashing"))
    index.add([Document("a", "Fram", "fram.")])
    evidence = steiner(index).retrieve(["what of [Fram]"], 5)[0]
    assert NO_FACTS in evidence.notes
    assert [p.item.id for p in evidence.passages] == ["a"]


def test_too_few_entities_for_a_fact_are_noted(tmp_path: Path) -> None:
    index = graph_of(tmp_path, [("Ada", "likes", "Bo"), ("Ada", "likes", "Carl")])
    notes = steiner(index, "steiner:nodes=1").retrieve(["what of [Ada]"], 5)[0].notes
    assert "no fact of what the question names is among the 1 of 3 entities kept by nodes=1: raise nodes" in notes
    assert NO_FACTS not in notes


def test_an_isolated_entity_and_a_hub(tmp_path: Path) -> None:
    hub = [("Hub", "has", f"leaf {i:04d}") for i in range(2000)] + [("Alone", "is", "Alone")]
    index = graph_of(tmp_path, hub)
    assert not steiner(index).retrieve(["what is [Alone]"], 5)[0].paths
    evidence = steiner(index, "steiner:edges=300,fill=yes").retrieve(["what has [Hub]"], 5)[0]
    assert len(evidence.paths) == 19
    assert any("not all were looked at" in note for note in evidence.notes)


def test_topics_can_be_given_to_a_search(family: Index) -> None:
    evidence = family.search("what is her profession", 5, "steiner", topics=["Eva Holm"])
    assert evidence.topics == ("Eva Holm",)
    assert "teacher" in path_ends(evidence)


def test_a_selector_by_words_gets_the_relevance_of_relations(family: Index) -> None:
    class Asked:
        """Keeps what it is given and chooses all of it."""

        def __init__(self) -> None:
            self.seen: list[GraphQuery] = []

        def select(self, asked: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
            self.seen += asked
            return [full_subgraph(one.graph.graph) for one in asked]

    parts, selector = family.context, Asked()
    for by_words in (False, True):
        SubgraphRetriever(
            parts.scope,
            parts.lexical,
            parts.load_fact_graph,
            parts.text_vectors,
            selector,
            "all of it",
            Neighbourhood(),
            by_words=by_words,
        ).select("what is the profession of [Bo Lind]")
    without_words, with_words = selector.seen
    assert without_words.relation_relevance is None
    assert with_words.relation_relevance is not None
    assert with_words.relation_relevance.shape == (len(with_words.graph.relation_vectors),)
    most_relevant = int(np.argmax(with_words.relation_relevance[with_words.graph.edge_relations]))
    assert with_words.graph.graph.relations[most_relevant] == "profession"
    np.testing.assert_array_equal(without_words.question_vector, with_words.question_vector)


def test_the_retriever_reads_the_whole_question(family: Index) -> None:
    """The names were cut out of the question, as they are not in G-Retriever."""
    selected = {}
    for form in ("whole", "masked"):
        selection = steiner(family, f"steiner:question={form},topk=1,budget=1").select(
            "what is the profession of [Bo Lind]"
        )
        selected[form] = {selection.query.graph.graph.nodes[int(node)] for node in selection.subgraph.nodes}
    assert "Bo Lind" in selected["whole"]
    assert "Bo Lind" not in selected["masked"]
    forms = ("steiner", "steiner:question=masked")
    assert len({steiner(family, form).fingerprint for form in forms}) == 2
