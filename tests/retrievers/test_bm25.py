"""BM25 through an index: scores against the formula, order, and notes."""

from pathlib import Path

import pytest

from clew.index import Index
from clew.retrievers.bm25 import NO_SHARED_WORD
from clew.types import Document, Evidence
from tests.small_index import make_index, result_ids
from tests.text.test_bm25 import bm25_scores

# Words without endings that a stemmer cuts, and no stop words, so that a word is a term.
CORPUS = (
    Document("c", "Fram", "ship pole pole ice", {"lang": "en"}),
    Document("a", "", "pole ship", {"lang": "de"}),
    Document("b", "", "ship pole", {"lang": "en"}),
    Document("d", "Larvik", "town", {"lang": "de"}),
    Document("e", "Vardo", "ice ice ice ice town fort", {"lang": "en"}),
)
WORDS = {d.id: f"{d.title} {d.text}".casefold().split() for d in CORPUS}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return make_index(tmp_path_factory.mktemp("bm25") / "index", CORPUS, encoder="none")


def search(index: Index, question: str, k: int = 9, where: str | None = None) -> Evidence:
    return index.search(question, k, "bm25", where)


def scores(evidence: Evidence) -> dict[str, float]:
    return {scored.item.id: scored.score for scored in evidence.passages}


def formula(question: str) -> dict[str, float]:
    names = sorted(WORDS)
    values = bm25_scores([WORDS[name] for name in names], question.split(), 1.5, 0.75)
    return {name: value for name, value in zip(names, values, strict=True) if value}


@pytest.mark.parametrize(
    "question", ["pole", "ship pole", "ice town fort", "fram", "pole pole town", "larvik quux ice"]
)
def test_scores_follow_the_formula_over_title_and_text(index: Index, question: str) -> None:
    evidence, expected = search(index, question), formula(question)
    assert scores(evidence) == pytest.approx(expected, rel=1e-5)
    assert not evidence.paths
    assert not evidence.notes


def test_passages_without_a_shared_word_are_not_returned(index: Index) -> None:
    assert result_ids(search(index, "larvik")) == ["d"]
    evidence = search(index, "zeppelin over nowhere")
    assert (evidence.passages, evidence.notes) == ((), (NO_SHARED_WORD,))


def test_a_filter_leaves_the_scores_as_they_are(index: Index) -> None:
    # The rarity of a word is that in the whole corpus: a filter hides passages, it makes no other index.
    every = scores(search(index, "ship pole ice"))
    actual = scores(search(index, "ship pole ice", where="lang = 'en'"))
    assert actual == {name: every[name] for name in ("b", "c", "e")}
    evidence = search(index, "larvik", where="lang = 'en'")
    assert (evidence.passages, evidence.notes) == ((), (NO_SHARED_WORD,))


def test_each_passage_of_a_long_document_is_found_by_its_own_words(tmp_path: Path) -> None:
    parts = [f"Part {name} tells of {name}. " + "It drifts with the ice. " * 60 for name in ("seals", "bears", "gulls")]
    index = make_index(tmp_path / "index", [Document("log", "The Log", "\n\n".join(parts))], encoder="none")
    for name in ("seals", "bears", "gulls"):
        best = search(index, name).passages[0].item
        assert name in best.text
        assert best.document_id == "log"
    assert len(set(result_ids(search(index, "drifts")))) == len(index.snapshot.passage_ids) >= 2
