"""The feedback log: one appended line for each answer that names its path."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.answering.feedback_log import log_answer, log_feedback
from clew.answering.kg_paths import LLMPathAnswerer, PathAnswerer
from clew.errors import ProviderError
from clew.types import Answer, Evidence, Failure, Question, Scored, Triple
from clew.types import Path as GraphPath
from tests.models.llm.scripted_model import ScriptedModel

SPOUSE, FATHER = Triple("Ada", "spouse", "Bo"), Triple("Carl", "child", "Bo", ("passage",))
PATHS: tuple[Scored[GraphPath], ...] = (Scored((SPOUSE, FATHER), 0.5), Scored((SPOUSE,), 0.25))
QUESTION = Question("q1", "Who is the father of Ada's spouse?", topics=("Ada",))


def answer(text: str = "Carl", paths: tuple[Scored[GraphPath], ...] = PATHS) -> Answer:
    return Answer(text, (), (), Evidence((), paths, topics=("Ada", "of the evidence")))


def records(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n")[:-1]]


def test_one_line_per_answer(tmp_path: Path) -> None:
    log = tmp_path / "feedback.jsonl"
    assert log_feedback(log, [QUESTION, QUESTION], [answer(), answer("Bo", PATHS[1:])]) == 2
    first, second = records(log)
    assert first == {
        "question": QUESTION.text,
        "topics": ["Ada"],
        "hops": 2,
        "path": [["Ada", "spouse", "Bo"], ["Carl", "child", "Bo"]],
        "answer": "Carl",
    }
    assert (second["hops"], second["path"], second["answer"]) == (1, [["Ada", "spouse", "Bo"]], "Bo")


def test_topics_are_those_of_the_search_where_the_question_names_none(tmp_path: Path) -> None:
    log = tmp_path / "feedback.jsonl"
    assert log_answer(log, "Who?", (), answer()) == 1
    assert log_answer(log, "Who?", ["given"], answer()) == 1
    assert [record["topics"] for record in records(log)] == [["Ada", "of the evidence"], ["given"]]


def test_lines_are_appended(tmp_path: Path) -> None:
    log = tmp_path / "feedback.jsonl"
    log.write_text('{"question": "old"}\n', encoding="utf-8")
    for _ in range(2):
        log_feedback(log, [QUESTION], [answer()])
    assert [record["question"] for record in records(log)] == ["old", QUESTION.text, QUESTION.text]


def test_answers_that_name_no_path_are_not_logged(tmp_path: Path) -> None:
    log = tmp_path / "feedback.jsonl"
    failed = Answer("", (), (), Evidence((), PATHS), failure=Failure("x", "no"))
    some = [answer("", PATHS), answer("Carl", ()), failed, answer()]
    assert log_feedback(log, [QUESTION] * 4, some) == 1
    assert len(records(log)) == 1
    assert log_feedback(log, [], []) == 0
    assert log_answer(log, "Who?", (), answer("Carl", ())) == 0
    assert len(records(log)) == 1


def test_the_path_that_a_model_names_is_logged(tmp_path: Path) -> None:
    log = tmp_path / "feedback.jsonl"
    model = ScriptedModel(lambda _: {"answerable": True, "answers": ["Bo"], "path": 2})
    given = LLMPathAnswerer(model).answer([QUESTION.text], [Evidence((), PATHS, topics=("Ada",))])
    assert log_feedback(log, [QUESTION], given) == 1
    assert [record["hops"] for record in records(log)] == [1]


def test_an_answer_without_a_model_is_not_logged(tmp_path: Path) -> None:
    given = PathAnswerer().answer([QUESTION.text], [Evidence((), PATHS, topics=("Ada",))])
    assert log_feedback(tmp_path / "feedback.jsonl", [QUESTION], given) == 0


@pytest.mark.parametrize("name", ["Vardø 東京 🜁", 'quo"te\\', "line\nbreak\r", "next\x85line\u2028and\u2029so", "\x00"])
def test_any_name_is_one_line(name: str, tmp_path: Path) -> None:
    log = tmp_path / "feedback.jsonl"
    question = Question("q", name, topics=(name,))
    assert log_feedback(log, [question] * 2, [answer(name, (Scored((Triple(name, name, name),), 1.0),))] * 2) == 2
    for line in log.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        assert record["question"] == record["answer"] == record["topics"][0] == name
        assert record["path"] == [[name] * 3]
    assert len(log.read_bytes().splitlines()) == 2


def test_lone_surrogates_are_logged(tmp_path: Path) -> None:
    log = tmp_path / "feedback.jsonl"
    assert log_answer(log, "Who is \udcff?", (), answer()) == 1
    assert records(log)[0]["answer"] == "Carl"


def test_folders_are_made(tmp_path: Path) -> None:
    log = tmp_path / "new" / "folder" / "feedback.jsonl"
    assert log_feedback(log, [QUESTION], [answer()]) == 1
    assert len(records(log)) == 1


def test_a_log_that_cannot_be_written_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for log in (tmp_path / "file" / "feedback.jsonl", tmp_path):
        with pytest.raises(ProviderError, match=r"the feedback .* cannot be written .*choose another file") as error:
            log_feedback(log, [QUESTION], [answer()])
        assert "\n" not in str(error.value)


def test_questions_and_answers_must_pair(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="zip"):
        log_feedback(tmp_path / "feedback.jsonl", [QUESTION], [])
