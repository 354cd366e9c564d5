"""The transformers for PyTerrier, held by PyTerrier's own test of transformers, and with parts of pyterrier_rag."""

import unittest
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyterrier", reason="python-terrier is not installed; make test-neighbours installs it")

import pandas as pd
import pyterrier as pt
import pyterrier.testing

import clew
from clew.index import Index
from clew.settings import Settings
from clew_lab.integrations.pyterrier import ClewAnswerer, ClewRetriever

QUESTION = "Where was the commander of the Vega born?"
TOPICS = pd.DataFrame([("1", QUESTION), ("2", "lighthouse keeper")], columns=["qid", "query"])
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # PyTerrier's use of pandas
COLUMNS = ["qid", "query", "docno", "score", "rank", "title", "text"]


@pytest.mark.parametrize("kind", [ClewRetriever, ClewAnswerer])
@pytest.mark.filterwarnings("ignore::UserWarning")  # the report that the suite prints
def test_pyterrier_s_own_suite(kind: Any, small: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pt.documentation, "_cached_objects_inv", {})  # the list of its pages on the network
    case = pyterrier.testing.transformer_test_class(lambda: kind(small))
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert result.testsRun == 2
    assert not result.errors + result.failures
    assert case.io_configs[0][0] == ["qid", "query"]


def test_results_are_the_passages_best_first(small: Index) -> None:
    frame = ClewRetriever(small, 3)(TOPICS)
    assert list(frame.columns) == COLUMNS
    for qid, question in TOPICS.itertuples(index=False):
        found, rows = small.search(question, 3).passages, frame[frame.qid == qid]
        assert rows.docno.tolist() == [one.item.id for one in found]
        assert rows.score.tolist() == [one.score for one in found]
        assert rows["rank"].tolist() == list(range(len(found)))
        assert rows.text.tolist() == [one.item.text for one in found]


def test_columns_beside_the_question_stay(small: Index) -> None:
    frame = ClewRetriever(small, 1)(TOPICS.assign(difficulty=["a", "b"]))
    assert dict(zip(frame.qid, frame.difficulty, strict=True)) == {"1": "a", "2": "b"}


def test_a_question_that_finds_nothing_has_no_rows(small: Index) -> None:
    found = ClewRetriever(small, 3, retriever="bm25", where="lang = 'ru'")(TOPICS)
    assert set(found.docno) <= {"russian"}
    nothing = ClewRetriever(small)(TOPICS.iloc[:0])
    assert list(nothing.columns) == COLUMNS
    assert not len(nothing)


def test_documents_are_ranked_by_their_best_passage_each_once(tmp_path: Path) -> None:
    text = "The ice of the north. " * 40 + "A seal in the north."
    index = clew.create(tmp_path / "index", Settings(encoder="none", extractor="rules", passage_tokens=40))
    index.add([clew.Document("long", "North", text), clew.Document("short", "Seal", "A seal swims in the north sea.")])
    passages = index.search("north ice seal", 100, "bm25").passages
    frame = ClewRetriever(index, 2, retriever="bm25", documents=True).search("north ice seal")
    assert sorted(frame.docno) == ["long", "short"]
    best: dict[str, float] = {}
    for one in passages:
        best.setdefault(one.item.document_id, one.score)
    assert dict(zip(frame.docno, frame.score, strict=True)) == best
    assert frame["rank"].tolist() == [0, 1]


def test_operators_combine_it(small: Index) -> None:
    retriever: Any = ClewRetriever(small, 10, retriever="bm25")
    cut = (retriever % 2)(TOPICS)
    pd.testing.assert_frame_equal(cut[COLUMNS], ClewRetriever(small, 2, retriever="bm25")(TOPICS)[COLUMNS])
    fused = (retriever % 2).compile()
    assert isinstance(fused, ClewRetriever)
    assert fused.num_results == 2
    both = (retriever | ClewRetriever(small, 10, retriever="dense"))(TOPICS)
    assert set(both.docno) >= set(retriever(TOPICS).docno)


def test_an_experiment_measures_it(small: Index) -> None:
    qrels = pd.DataFrame([("1", "palander", 1)], columns=["qid", "docno", "label"])
    retriever = ClewRetriever(small, 5, documents=True)
    table = pt.Experiment([retriever], TOPICS.iloc[:1], qrels, ["recip_rank"], names=["clew"])
    rank = retriever(TOPICS.iloc[:1]).docno.tolist().index("palander") + 1
    assert table.recip_rank.tolist() == [pytest.approx(1 / rank)]


def test_bad_arguments_are_one_line(small: Index, tmp_path: Path) -> None:
    with pytest.raises(clew.IndexFormatError):
        ClewRetriever(tmp_path / "none")
    with pytest.raises(pt.validate.InputValidationError):
        ClewRetriever(small)(pd.DataFrame({"qid": ["1"]}))


def test_answers_are_those_of_ask(small: Index) -> None:
    frame = ClewAnswerer(small, 3)(TOPICS)
    assert list(frame.columns) == ["qid", "query", "qanswer", "qweak", "qcitations"]
    for (_, question), row in zip(TOPICS.itertuples(index=False), frame.itertuples(), strict=True):
        answer = small.ask(question, 3)
        assert (row.qanswer, row.qweak) == (answer.text, answer.weak)
        assert row.qcitations == [citation.quote for citation in answer.citations]


def test_pyterrier_rag_builds_a_context_and_measures_answers(small: Index) -> None:
    pytest.importorskip("pyterrier_rag", reason="pyterrier-rag is not installed; make test-neighbours installs it")
    from pyterrier_rag import measures
    from pyterrier_rag.prompt import Concatenator

    context = (ClewRetriever(small, 2) >> Concatenator())(TOPICS.iloc[:1])
    assert all(one.item.text in context.qcontext[0] for one in small.search(QUESTION, 2).passages)
    gold = pd.DataFrame([("1", "Karlskrona")], columns=["qid", "gold_answer"])
    topics = pd.DataFrame([("1", "Where was Louis Palander born?")], columns=["qid", "query"])
    table = pt.Experiment([ClewAnswerer(small)], topics, gold, [measures.EM], names=["clew"])
    assert table.EM.tolist() == [1.0]


@pytest.mark.parametrize("number", [0, -1, "3", True, 2.0])
def test_a_number_that_cannot_be_used_is_a_value_error(small: Index, number: Any) -> None:
    with pytest.raises(ValueError, match=f"num_results is {number!r}; give a whole number of at least 1"):
        ClewRetriever(small, number)
    with pytest.raises(ValueError, match=f"k is {number!r}; give a whole number of at least 1"):
        ClewAnswerer(small, number)
