"""Training the ranker of candidate answers, as `clew train answers` does it."""

from pathlib import Path

import pytest

from clew.answering.span_ranker import load_span_ranker
from clew.errors import InputError
from clew.types import Citation, Evidence, Passage, Question, Scored, SentenceChain, Triple
from clew_lab.training.fitting.span_ranker import AnswerRecipe
from clew_lab.training.recipes.answers import measure_ranker, remove_gold, train_answers
from tests.faults.commands import run_clew

RECIPE = AnswerRecipe(networks=1, hidden=8, epochs=2)
TRAIN = ("--retriever", "pagerank", "--networks", "1", "--hidden", "8", "--epochs", "2")


@pytest.fixture(autouse=True)
def _cheap_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_ENCODER", "hashing")


def silent(stage: str, done: int, total: int) -> None:
    assert stage
    assert done <= total


def test_the_command_trains_weights_that_a_second_run_repeats(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers"
    done = run_clew("train", "answers", "--data", data, "--validate", data, "--out", out, *TRAIN)
    assert done.code == 0
    assert "polar, exact match: 0." in done.out
    assert f"weights in {out}, learned from " in done.out
    first = load_span_ranker(out)
    assert first.about["retriever"] == "pagerank"
    assert first.about["data"] == ["polar"]
    # The second run reads the stored questions.
    (stored, _) = sorted((out / "run" / "read").glob("*.npz"))
    result = train_answers([data], [], out, RECIPE, silent, "pagerank")
    assert load_span_ranker(out).fingerprint == first.fingerprint
    assert result.questions == first.about["questions"]
    stored.write_bytes(b"x")
    with pytest.raises(InputError, match="remove it, and the questions are read again"):
        train_answers([data], [data], out, RECIPE, silent, "pagerank")


def test_an_index_without_vectors_is_refused(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLEW_ENCODER", "none")
    done = run_clew("train", "answers", "--data", data, "--out", tmp_path / "answers", *TRAIN)
    assert done.code == 2
    assert "has no vectors" in done.err


def test_gold_is_removed_from_passages_chains_and_paths() -> None:
    passages = tuple(Scored(Passage(f"p{i}", f"d{i}", "", "text", 0, 4), 1.0) for i in range(4))
    chains = [SentenceChain((Citation(f"d{i}", f"p{i}", "", 0, 4, "text"),), ()) for i in range(3)]
    paths = [(Triple("a", "b", "c", (f"p{i}",)),) for i in range(3)]
    found = Evidence(
        passages, tuple(Scored(p, 1.0) for p in paths), chains=tuple(Scored(chain, 1.0) for chain in chains)
    )
    left = remove_gold(found, Question("q", "?", ("x",), ("p0", "d1")), 1)
    assert [s.item.id for s in left.passages] == ["p2"]
    assert [s.item.sentences[0].passage_id for s in left.chains] == ["p2"]
    assert [s.item[0].passages for s in left.paths] == [("p2",)]


def test_measures_need_questions() -> None:
    with pytest.raises(InputError, match="no question of the validation"):
        measure_ranker(None, [])  # type: ignore[arg-type]
