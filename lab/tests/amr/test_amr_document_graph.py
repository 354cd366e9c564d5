"""Document graphs from AMR graphs: edge counts, encoded texts, and pairs without a graph."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.models.encoders.hashing import HashingEncoder
from clew.types import Failure, Passage, Scored
from clew_lab.amr.amr_document_graph import EDGE_FEATURES, AMRDocumentGraphBuilder
from clew_lab.amr.graph import AMRGraph, path_words
from clew_lab.amr.local_parser import LocalAMRParser
from clew_lab.amr.parsers import AMRParser
from tests.small_index import DOCUMENTS, QUESTIONS

if TYPE_CHECKING:
    from clew.types import FloatArray

ENCODER = HashingEncoder(32)
PASSAGES = [Passage(d.id, d.id, d.title, d.text, 0, len(d.text)) for d in DOCUMENTS[:8]]
POOL = [Scored(passage, 1.0 / rank) for rank, passage in enumerate(PASSAGES, 1)]


class FailingParser:
    """The local parser, failing for some passages."""

    fingerprint = "failing"

    def __init__(self, *ids: str) -> None:
        self._ids = ids

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        graphs = LocalAMRParser().parse(questions, passages)
        return [
            Failure(passage.id, f"no graph of {passage.id}") if passage.id in self._ids else graph
            for passage, graph in zip(passages, graphs, strict=True)
        ]


class RecordingEncoder:
    """An encoder that records its inputs, call by call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> "FloatArray":
        self.calls.append(list(texts))
        return ENCODER.encode(texts)


def parse_graphs(parser: AMRParser, question: str) -> list[AMRGraph]:
    graphs = parser.parse([question] * len(PASSAGES), PASSAGES)
    return [AMRGraph(()) if isinstance(graph, Failure) else graph for graph in graphs]


@pytest.mark.parametrize("parser", [LocalAMRParser(), FailingParser("palander")], ids=["local", "failing"])
@pytest.mark.parametrize("question", QUESTIONS[:3])
def test_edges_count_what_two_graphs_have_in_common(parser: AMRParser, question: str) -> None:
    (graph,) = AMRDocumentGraphBuilder(parser, ENCODER.encode).build([question], [POOL])
    amr_graphs = parse_graphs(parser, question)
    shared = set.intersection(*(set(one.concepts) for one in amr_graphs if one.concepts))
    assert "question" in shared
    concepts = [set(one.concepts) - shared for one in amr_graphs]
    edges = [
        {
            (one.concepts[head], name, one.concepts[tail])
            for head, name, tail in one.edges
            if not {one.concepts[head], one.concepts[tail]} & shared
        }
        for one in amr_graphs
    ]
    for i in range(len(POOL)):
        for j in range(len(POOL)):
            wanted = [len(concepts[i] & concepts[j]), len(edges[i] & edges[j])] if i != j else [0, 0]
            assert graph.edge_features[i, j].tolist() == wanted
    assert graph.edge_features.dtype == np.float32
    assert graph.node_features.shape == (len(POOL), 0)


def test_encoded_texts_are_title_text_and_path_words() -> None:
    encoder, question = RecordingEncoder(), QUESTIONS[0]
    (graph,) = AMRDocumentGraphBuilder(LocalAMRParser(), encoder).build([question], [POOL])
    wanted = []
    for passage, one in zip(PASSAGES, parse_graphs(LocalAMRParser(), question), strict=True):
        parts = [passage.title, passage.text, *path_words(one)]
        wanted.append(" ".join(part for part in parts if part))
    assert [text for call in encoder.calls for text in call] == [question, *wanted]
    assert wanted[0].startswith("Vega (ship) Vega was built in Bremerhaven and commanded by Louis Palander. question ")
    assert wanted[6].startswith("The naval yard")  # it has no title
    assert np.array_equal(graph.vectors, ENCODER.encode(wanted))
    assert np.array_equal(graph.question, ENCODER.encode([question])[0])


def test_pairs_without_a_graph_keep_their_passage_and_are_noted() -> None:
    builder = AMRDocumentGraphBuilder(FailingParser("palander", "bornholm"), ENCODER.encode)
    graph, complete = builder.build(QUESTIONS[:2], [POOL, POOL[:1]])
    missing = [place for place, passage in enumerate(PASSAGES) if passage.id in ("palander", "bornholm")]
    assert graph.notes == ("2 of 8 passages have no AMR graph: no graph of palander",)
    assert complete.notes == ()
    assert not graph.edge_features[missing].any()
    assert not graph.edge_features[:, missing].any()
    texts = [f"{PASSAGES[place].title} {PASSAGES[place].text}" for place in missing]
    assert np.array_equal(graph.vectors[missing], ENCODER.encode(texts))


def test_a_batch_equals_its_questions_one_by_one() -> None:
    builder = AMRDocumentGraphBuilder(FailingParser("vega"), ENCODER.encode)
    pools = [POOL, POOL[3:4], [], POOL[2:], POOL[:5]]
    for graph, question, pool in zip(builder.build(QUESTIONS[:5], pools), QUESTIONS, pools, strict=False):
        (single,) = builder.build([question], [pool])
        assert graph.notes == single.notes
        for name in ("vectors", "node_features", "edge_features", "question"):
            assert np.array_equal(getattr(graph, name), getattr(single, name)), name
        assert graph.edge_features.shape == (len(pool), len(pool), len(EDGE_FEATURES))


def test_what_utf_8_cannot_write_is_replaced() -> None:
    (odd,) = AMRDocumentGraphBuilder(LocalAMRParser(), ENCODER.encode).build(["Vega \ud800 Karlskrona?"], [POOL])
    (plain,) = AMRDocumentGraphBuilder(LocalAMRParser(), ENCODER.encode).build(["Vega ? Karlskrona?"], [POOL])
    assert np.array_equal(odd.question, plain.question)
    assert np.isfinite(odd.vectors).all()


def test_the_fingerprint_tells_the_parser() -> None:
    builders = [AMRDocumentGraphBuilder(parser, ENCODER.encode) for parser in (LocalAMRParser(), FailingParser())]
    assert len({graphs.fingerprint for graphs in builders}) == 2
    assert builders[0].fingerprint == AMRDocumentGraphBuilder(LocalAMRParser(), ENCODER.encode).fingerprint
    assert (builders[0].node_features, builders[0].edge_features) == ((), EDGE_FEATURES)
    forms = [
        AMRDocumentGraphBuilder(LocalAMRParser(), ENCODER.encode, whole=whole, words=words)
        for whole in (False, True)
        for words in (False, True)
    ]
    assert len({form.fingerprint for form in forms}) == 4


@pytest.mark.parametrize("whole", [False, True])
def test_what_joins_two_passages_is_what_their_edge_counts(*, whole: bool) -> None:
    builder = AMRDocumentGraphBuilder(FailingParser("palander"), ENCODER.encode, whole=whole)
    (graph,) = builder.build(QUESTIONS[:1], [POOL])
    for i in range(len(POOL)):
        for j in range(i):
            parts = builder.shared_parts(QUESTIONS[0], POOL, i, j)
            counted = [len(parts["concepts"]), len(parts["edges"])]
            assert counted == graph.edge_features[i, j].tolist()
            assert builder.shared_parts(QUESTIONS[0], POOL, j, i) == parts


def test_plain_texts_of_passages_are_encoded_once_for_all_pools() -> None:
    encoder = RecordingEncoder()
    builder = AMRDocumentGraphBuilder(LocalAMRParser(), encoder, words=False)
    graphs = [builder.build([question], [POOL])[0] for question in QUESTIONS[:3]]
    texts = [text for call in encoder.calls for text in call]
    assert len(texts) == len(set(texts)) == 3 + len(POOL)
    for question, graph in zip(QUESTIONS[:3], graphs, strict=True):
        plain = [" ".join(filter(None, (passage.title, passage.text))) for passage in PASSAGES]
        np.testing.assert_array_equal(graph.vectors, ENCODER.encode(plain))
        np.testing.assert_array_equal(graph.question, ENCODER.encode([question])[0])
