"""The text reranker, with BM25 over the passages and with a tiny cross-encoder."""

from pathlib import Path
from typing import Any

import pytest

from clew.models.text_scorers import CrossEncoderScorer
from clew.rerankers.text_scorer import TextReranker, text_with_title
from clew.text.bm25 import BM25Scorer
from clew.types import Evidence, Passage, Scored
from tests.models.test_text_scorers import write_cross_encoder
from tests.small_index import result_ids


def evidence(**texts: str) -> Evidence:
    """Return passages in the given order; a title is separated by a bar."""
    parts = {id_: text.rpartition("|") for id_, text in texts.items()}
    passages = [Passage(id_, id_, title, text, 0, len(text)) for id_, (title, _, text) in parts.items()]
    return Evidence(tuple(Scored(passage, 1.0 / n) for n, passage in enumerate(passages, 1)))


EVIDENCE = evidence(a="seals", b="the ship Vega", c="Vega|a ship", d="seals")


def test_title_and_text_are_read() -> None:
    assert [text_with_title(scored.item) for scored in EVIDENCE.passages] == [
        "seals",
        "the ship Vega",
        "Vega\na ship",
        "seals",
    ]
    (result,) = TextReranker(BM25Scorer()).rerank(["Vega, a ship"], [EVIDENCE])
    scores = BM25Scorer().score("Vega, a ship", ["seals", "the ship Vega", "Vega\na ship", "seals"]).tolist()
    assert {scored.item.id: scored.score for scored in result.passages} == dict(zip("abcd", scores, strict=True))
    assert result_ids(result)[2:] == ["a", "d"]
    assert set(result_ids(result)[:2]) == {"b", "c"}


def test_each_question_has_its_own_passages() -> None:
    other = evidence(x="nothing", y="seals and ice")
    first, second = TextReranker(BM25Scorer()).rerank(["ship", "seals"], [EVIDENCE, other])
    assert result_ids(second) == ["y", "x"]
    assert result_ids(first)[2:] == ["a", "d"]


def test_the_fingerprint_is_that_of_the_scorer() -> None:
    class Named:
        fingerprint = "weights-1"
        score = BM25Scorer().score

    assert TextReranker(Named()).fingerprint == "weights-1"
    assert TextReranker(BM25Scorer()).fingerprint == ""


@pytest.mark.slow  # importing sentence-transformers takes six to ten seconds
def test_a_cross_encoder_orders_by_its_own_scores(tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = str(write_cross_encoder(tmp_path / "model"))
    loader: Any = AutoTokenizer  # has no types
    tokenizer = loader.from_pretrained(folder)
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    question = "where is the ship"
    logits = {
        scored.item.id: float(
            model(**tokenizer(question, text_with_title(scored.item), return_tensors="pt")).logits[0, 0].detach()
        )
        for scored in EVIDENCE.passages
    }
    (result,) = TextReranker(CrossEncoderScorer(folder)).rerank([question], [EVIDENCE])
    distinct = sorted("abc", key=lambda id_: -logits[id_])
    assert [id_ for id_ in result_ids(result) if id_ != "d"] == distinct
    assert len({round(logits[id_], 3) for id_ in "abc"}) == 3
