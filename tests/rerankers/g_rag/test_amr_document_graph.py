"""Document graphs of graphs of meaning: what is counted, what is encoded, and what becomes of pairs without a graph."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.models.encoders.hashing import HashingEncoder
from clew.rerankers.amr.graph import AMRGraph, count_common_parts, path_words
from clew.rerankers.amr.local_parser import LocalAMRParser
from clew.rerankers.amr.parsers import AMRParser
from clew.rerankers.g_rag.amr_document_graph import EDGE_FEATURES, AMRDocumentGraphs
from clew.types import Failure, Passage, Scored
from tests.small_index import DOCUMENTS, QUESTIONS

if TYPE_CHECKING:
    from clew.types import FloatArray

ENCODER = HashingEncoder(32)
PASSAGES = [Passage(d.id, d.id, d.title, d.text, 0, len(d.text)) for d in DOCUMENTS[:8]]
POOL = [Scored(passage, 1.0 / rank) for rank, passage in enumerate(PASSAGES, 1)]


class Failing:
    """The local parser, which fails at some passages."""

    fingerprint = "failing"

    def __init__(self, *ids: str) -> None:
        self._ids = ids

    def parse(self, questions: Sequence[str], passages: Sequence[Passage]) -> list[AMRGraph | Failure]:
        parsed = LocalAMRParser().parse(questions, passages)
        return [
            Failure(passage.id, f"no graph of {passage.id}") if passage.id in self._ids else graph
            for passage, graph in zip(passages, parsed, strict=True)
        ]


class Encoded:
    """An encoder that keeps what it was given, call by call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> "FloatArray":
        self.calls.append(list(texts))
        return ENCODER.encode(texts)


def parsed(parser: AMRParser, question: str) -> list[AMRGraph]:
    found = parser.parse([question] * len(PASSAGES), PASSAGES)
    return [AMRGraph(()) if isinstance(graph, Failure) else graph for graph in found]


@pytest.mark.parametrize("parser", [LocalAMRParser(), Failing("palander")], ids=["local", "failing"])
@pytest.mark.parametrize("question", QUESTIONS[:3])
def test_edges_count_what_two_graphs_have_in_common(parser: AMRParser, question: str) -> None:
    (graph,) = AMRDocumentGraphs(parser, ENCODER.encode).build([question], [POOL])
    own = parsed(parser, question)
    out = set.intersection(*(set(one.concepts) for one in own if one.concepts))
    assert "question" in out
    concepts = [set(one.concepts) - out for one in own]
    edges = [
        {
            (one.concepts[head], name, one.concepts[tail])
            for head, name, tail in one.edges
            if not {one.concepts[head], one.concepts[tail]} & out
        }
        for one in own
    ]
    for i in range(len(POOL)):
        for j in range(len(POOL)):
            wanted = [len(concepts[i] & concepts[j]), len(edges[i] & edges[j])] if i != j else [0, 0]
            assert graph.edge_features[i, j].tolist() == wanted
    assert graph.edge_features.dtype == np.float32
    assert graph.node_features.shape == (len(POOL), 0)


def test_passages_that_share_the_question_alone_are_not_joined() -> None:
    pool = [
        Scored(Passage(text, text, "", text, 0, len(text)), 1.0) for text in ("Cats purr.", "Dogs bark.", "Cats nap.")
    ]
    (own,) = AMRDocumentGraphs(LocalAMRParser(), ENCODER.encode).build(["Which pets sleep?"], [pool])
    assert (own.edge_features[..., 0] > 0).tolist() == [
        [False, False, True],
        [False, False, False],
        [True, False, False],
    ]
    read = LocalAMRParser().parse(["Which pets sleep?"] * 3, [scored.item for scored in pool])
    published = count_common_parts([graph for graph in read if isinstance(graph, AMRGraph)])
    assert (published[..., 0] > 0).sum() == 6


def test_texts_are_title_and_text_and_the_words_on_the_paths() -> None:
    encoded, question = Encoded(), QUESTIONS[0]
    (graph,) = AMRDocumentGraphs(LocalAMRParser(), encoded).build([question], [POOL])
    wanted = []
    for passage, one in zip(PASSAGES, parsed(LocalAMRParser(), question), strict=True):
        parts = [passage.title, passage.text, *path_words(one)]
        wanted.append(" ".join(part for part in parts if part))
    assert [text for call in encoded.calls for text in call] == [question, *wanted]
    assert wanted[0].startswith("Vega (ship) Vega was built in Bremerhaven and commanded by Louis Palander. question ")
    assert wanted[6].startswith("The naval yard")  # it has no title
    assert np.array_equal(graph.vectors, ENCODER.encode(wanted))
    assert np.array_equal(graph.question, ENCODER.encode([question])[0])


def test_pairs_without_a_graph_keep_their_passage_and_are_told() -> None:
    made = AMRDocumentGraphs(Failing("palander", "bornholm"), ENCODER.encode)
    told, silent = made.build(QUESTIONS[:2], [POOL, POOL[:1]])
    lost = [place for place, passage in enumerate(PASSAGES) if passage.id in ("palander", "bornholm")]
    assert told.notes == ("2 of 8 passages have no AMR graph: no graph of palander",)
    assert silent.notes == ()
    assert not told.edge_features[lost].any()
    assert not told.edge_features[:, lost].any()
    texts = [f"{PASSAGES[place].title} {PASSAGES[place].text}" for place in lost]
    assert np.array_equal(told.vectors[lost], ENCODER.encode(texts))


def test_questions_together_are_questions_alone() -> None:
    made = AMRDocumentGraphs(Failing("vega"), ENCODER.encode)
    pools = [POOL, POOL[3:4], [], POOL[2:], POOL[:5]]
    for graph, question, pool in zip(made.build(QUESTIONS[:5], pools), QUESTIONS, pools, strict=False):
        (alone,) = made.build([question], [pool])
        assert graph.notes == alone.notes
        for name in ("vectors", "node_features", "edge_features", "question"):
            assert np.array_equal(getattr(graph, name), getattr(alone, name)), name
        assert graph.edge_features.shape == (len(pool), len(pool), len(EDGE_FEATURES))


def test_what_utf_8_cannot_write_is_replaced() -> None:
    (odd,) = AMRDocumentGraphs(LocalAMRParser(), ENCODER.encode).build(["Vega \ud800 Karlskrona?"], [POOL])
    (plain,) = AMRDocumentGraphs(LocalAMRParser(), ENCODER.encode).build(["Vega ? Karlskrona?"], [POOL])
    assert np.array_equal(odd.question, plain.question)
    assert np.isfinite(odd.vectors).all()


def test_the_fingerprint_tells_the_parser() -> None:
    made = [AMRDocumentGraphs(parser, ENCODER.encode) for parser in (LocalAMRParser(), Failing())]
    assert len({graphs.fingerprint for graphs in made}) == 2
    assert made[0].fingerprint == AMRDocumentGraphs(LocalAMRParser(), ENCODER.encode).fingerprint
    assert (made[0].node_features, made[0].edge_features) == ((), EDGE_FEATURES)
