"""Files of questions: what they hold, and what is refused in one line."""

import json
from pathlib import Path

import pytest

from clew.datasets.questions import load_questions
from clew.errors import InputError
from clew.types import Question


def write(folder: Path, *records: object) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return file


def test_a_question_has_what_its_record_says(tmp_path: Path) -> None:
    full = {
        "id": 7, "question": "Who?", "answers": ["A"], "gold": ["p", "q", "p"], "type": "bridge", "hops": 2,
        "topic": "T", "paths": [[["h", "r", "t"]]],
    }  # fmt: skip
    file = write(tmp_path, full, {"id": "b", "question": "Why?", "topic": ["X", "Y"]})
    wanted = [
        Question("7", "Who?", ("A",), ("p", "q"), "bridge", 2, ("T",), ((("h", "r", "t"),),)),
        Question("b", "Why?", topics=("X", "Y")),
    ]
    assert load_questions(file) == load_questions(tmp_path) == wanted


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"question": "Who?"}, "line 2: the keys are question; wanted 'id'"),
        ({"id": "a", "question": "Who?"}, "question id 'a' was already used at"),
        ({"id": "b", "question": " "}, "the question is blank"),
        ({"id": "b", "question": "Who?", "gold": "p"}, "'gold' is \"p\"; wanted a list"),
        ({"id": "b", "question": "Who?", "hops": -1}, "'hops' is -1; wanted a whole number"),
        ({"id": "b", "question": "Who?", "paths": [["h", "r"]]}, "'paths' holds .*; wanted lists of"),
    ],
)
def test_a_record_that_is_no_question_is_named(tmp_path: Path, record: object, message: str) -> None:
    file = write(tmp_path, {"id": "a", "question": "What?"}, record)
    with pytest.raises(InputError, match=message) as caught:
        load_questions(file)
    assert "\n" not in str(caught.value)


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no questions\.jsonl"):
        load_questions(tmp_path)
