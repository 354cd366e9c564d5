"""Runs: recording of rankings, saving and loading, and refusal of invalid runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from clew.errors import InputError, ProviderError
from clew.evaluation.runs import Ranking, Run, execute
from clew.types import Evidence, Filter, Passage, Question, Scored, Usage


@dataclass
class ScriptedRetriever:
    """A retriever with fixed rankings, which records its calls."""

    rankings: dict[str, list[tuple[str, float]]]
    usage: Usage = field(default_factory=lambda: Usage(99.0))
    calls: list[tuple[tuple[str, ...], int, Filter | None]] = field(default_factory=list)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        self.calls.append((tuple(questions), k, where))
        return [self._evidence(question, k) for question in questions]

    def _evidence(self, question: str, k: int) -> Evidence:
        scored = [
            Scored(Passage(f"{document}#0", document, "", "", 0, 0), score)
            for document, score in self.rankings[question][:k]
        ]
        return Evidence(tuple(scored), notes=("a note",), usage=self.usage)


QUESTIONS = [Question("q1", "first?", gold=("a",)), Question("q2", "second?", gold=("b",))]


def make_retriever() -> ScriptedRetriever:
    return ScriptedRetriever({"first?": [("a", 2.5), ("b", 1.0), ("c", 0.5)], "second?": []})


PAID = Usage(0.5, 1, 20, 3, 0.25)


def test_questions_are_asked_one_at_a_time_after_a_warm_up() -> None:
    retriever = make_retriever()
    seen: list[tuple[int, int]] = []
    run = execute(retriever, "listed", QUESTIONS, 2, "year > 3", lambda done, total: seen.append((done, total)))
    assert retriever.calls == [((text,), 2, "year > 3") for text in ("first?", "first?", "second?")]
    assert seen == [(1, 2), (2, 2)]
    assert (run.retriever, run.k, run.question_ids) == ("listed", 2, ("q1", "q2"))
    first, second = run.rankings
    assert first.passage_ids == ("a#0", "b#0")
    assert first.document_ids == ("a", "b")
    assert first.scores == (2.5, 1.0)
    assert first.notes == ("a note",)
    assert second.passage_ids == ()
    assert 0 <= first.usage.seconds < 99  # measured here, not reported by the retriever


def test_a_retriever_that_calls_a_model_runs_in_batches_and_asks_no_question_twice() -> None:
    many = [QUESTIONS[0], *(Question(f"n{i}", "second?", gold=("b",)) for i in range(100))]
    retriever = replace(make_retriever(), usage=PAID)
    run = execute(retriever, "listed", many, 2)
    assert [len(texts) for texts, _, _ in retriever.calls] == [1, 64, 36]
    assert [ranking.question_id for ranking in run.rankings] == [question.id for question in many]
    assert all(ranking.usage == PAID for ranking in run.rankings)


def test_a_saved_run_is_read_back_equal(tmp_path: Path) -> None:
    run = execute(replace(make_retriever(), usage=PAID), "größe", QUESTIONS, 3)
    path = tmp_path / "run.json"
    path.write_text("older", encoding="utf-8")
    run.save(path)
    assert Run.load(path) == run
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]
    before = path.read_bytes()
    run.save(path)
    assert path.read_bytes() == before


def test_a_reader_keeps_the_run_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    execute(make_retriever(), "older", QUESTIONS, 3).save(path)
    with path.open(encoding="utf-8") as file:
        execute(make_retriever(), "newer", QUESTIONS, 3).save(path)
        assert json.load(file)["retriever"] == "older"
    assert Run.load(path).retriever == "newer"


def test_a_run_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = execute(make_retriever(), "listed", QUESTIONS, 3)
    path = tmp_path / "run.json"
    run.save(path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ProviderError, match="No space left"):
        execute(make_retriever(), "other", QUESTIONS, 3).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]
    with pytest.raises(ProviderError, match="could not be written"):
        run.save(tmp_path / "nowhere" / "run.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, "'format' is 1; wanted 2"),
        ({"k": "5"}, r"is no run \(k: Input should be a valid integer"),
        ({"rankings": [3]}, "rankings.0: "),
        ({"rankings": [{"question_id": "q"}]}, "rankings.0.passage_ids: Field required"),
        ({"retriever": None}, "retriever: Input should be a valid string"),
    ],
)
def test_a_file_that_holds_no_run_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "run.json"
    execute(make_retriever(), "listed", QUESTIONS, 3).save(path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Run.load(path)


def test_invalid_runs_are_refused() -> None:
    with pytest.raises(InputError, match="has score nan"):
        Ranking("q", ("a",), ("a",), (float("nan"),), Usage())
    with pytest.raises(InputError, match="no questions"):
        execute(make_retriever(), "r", [], 3)
