"""Nothing that a filter hides is shown or sent to a language model: a sample of `python -m tests.faults.leaks`."""

from pathlib import Path

import pytest

from clew.rerankers.registry import RERANKERS
from clew.retrievers.registry import RETRIEVERS, finds_nothing
from tests.faults.leaks import WITHOUT_WEIGHTS, Asked, count_leaks, leaked, make_case, subjects
from tests.models.test_text_scorers import write_cross_encoder


def test_everything_that_is_registered_is_asked(tmp_path: Path) -> None:
    names = set(subjects(tmp_path))
    assert names >= {name for name in RETRIEVERS if not finds_nothing(name)} - WITHOUT_WEIGHTS
    assert names >= {f"reranker {name}" for name in RERANKERS} - {"reranker g-rag-amr"}


@pytest.mark.parametrize("part", [0, 1, 2])
def test_nothing_of_hidden_documents_is_shown_or_sent(part: int) -> None:
    found = list(count_leaks(list(subjects())[part::3], questions=2, seed=7))
    assert [fault for _, _, faults in found for fault in faults] == []
    assert all(asked == 2 for _, asked, _ in found)


@pytest.mark.slow  # importing sentence-transformers takes six to ten seconds
def test_nothing_of_hidden_documents_is_shown_by_a_cross_encoder(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model")
    ((_, asked, faults),) = count_leaks(["reranker cross-encoder"], questions=3, seed=8, cross_encoder=folder)
    assert (asked, faults) == (3, [])


def test_without_the_filter_hidden_words_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpora are such that the tests above could fail."""
    case = make_case(7, 10)
    asked, asking = Asked(case, tmp_path, 7), subjects()
    monkeypatch.setattr("tests.faults.leaks.WHERE", None)
    for name in ("bm25", "frag", "gear with a model", "answers of a model from paths", "reader of steiner"):
        assert any(leaked("\n".join(asking[name](asked, q)), q, case) for q in case.questions), name
