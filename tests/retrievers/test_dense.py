"""Dense retrieval against a cosine in plain Python."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder
from clew.types import Document, Evidence
from tests.small_index import make_index, result_ids

WORDS = [
    "fram", "vega", "ship", "ice", "pole", "drift", "seal", "bear", "gull", "fjord", "sledge", "hull", "mast", "born",
    "built", "town",
]  # fmt: skip
ENCODER = HashingEncoder()


def corpus() -> list[Document]:
    """Forty texts of random words, half of them without a title."""
    random = np.random.default_rng(5)
    texts = [" ".join(random.choice(WORDS, size=random.integers(1, 12))) for _ in range(40)]
    return [
        Document(f"d{n:02}", WORDS[n % 16].title() if n % 2 else "", text, {"even": n % 2 == 0})
        for n, text in enumerate(texts)
    ]


def cosine(one: str, other: str) -> float:
    left, right = (ENCODER.encode([text])[0].tolist() for text in (one, other))
    product = sum(float(a) * float(b) for a, b in zip(left, right, strict=True))
    return product / (math.hypot(*left) * math.hypot(*right))


def indexed_text(document: Document) -> str:
    return f"{document.title}\n{document.text}" if document.title else document.text


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("dense") / "index", corpus()[::-1])


def search(index: Index, question: str, k: int = 99, where: str | None = None) -> Evidence:
    return index.search(question, k, "dense", where)


def scores(evidence: Evidence) -> dict[str, float]:
    return {scored.item.id: scored.score for scored in evidence.passages}


@pytest.mark.parametrize("question", ["where was the fram built", "seal bear gull", "Ice", "Кто построил Фрам?"])
def test_every_passage_is_ranked_by_its_cosine(index: Index, question: str) -> None:
    expected = {document.id: cosine(question, indexed_text(document)) for document in corpus()}
    actual = scores(search(index, question))
    assert actual == pytest.approx(expected, abs=1e-5)
    # The order is by what was found: cosines that differ by less than rounding may stand either way in the oracle.
    assert list(actual) == sorted(actual, key=lambda name: (-actual[name], name))


def test_a_filter_searches_among_those_it_allows(index: Index) -> None:
    question = "a bear on the ice near the mast"
    allowed = [document for document in corpus() if document.metadata["even"]]
    expected = sorted(allowed, key=lambda document: -cosine(question, indexed_text(document)))
    values = [cosine(question, indexed_text(document)) for document in expected[:7]]
    assert min(a - b for a, b in pairwise(values)) > 1e-5, "a tie would prove nothing"
    assert result_ids(search(index, question, 6, "even = true")) == [document.id for document in expected[:6]]
    assert result_ids(search(index, question, 6)) != [document.id for document in expected[:6]]


def test_a_passage_of_a_long_document_has_the_vector_of_its_own_text(tmp_path: Path) -> None:
    parts = [f"{name} {name} {name}. " + "It drifts with the ice. " * 90 for name in ("Seals", "Bears", "Gulls")]
    index = make_index(tmp_path / "index", [Document("log", "The Log", "\n\n".join(parts))])
    actual = search(index, "the seals")
    assert len(actual.passages) >= 3
    for scored in actual.passages:
        assert scored.score == pytest.approx(cosine("the seals", f"The Log\n{scored.item.text}"), abs=1e-5)


def test_a_lone_surrogate_is_read_as_a_question_mark(index: Index) -> None:
    assert scores(search(index, "bear \ud800 mast")) == scores(search(index, "bear ? mast"))


def test_vectors_are_read_back_as_the_encoder_made_them(index: Index) -> None:
    expected = ENCODER.encode([indexed_text(document) for document in corpus()])
    np.testing.assert_array_equal(index.snapshot.vectors.rows(np.arange(len(expected))), expected)
