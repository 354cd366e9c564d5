"""Answers in plain text: from paths with the path that the model copies, and from the question alone."""

from clew.answering.kg_paths import (
    NO_ANSWER_NOTE,
    NO_PATH_NAMED_NOTE,
    OUTSIDE_NOTE,
    UNAIDED_NOTE,
    TextPathAnswerer,
    UnaidedAnswerer,
    named_path,
)
from clew.models.llm.prompts import path_text
from clew.types import Evidence, Failure, Path, Prompt, Scored, Triple
from tests.models.llm.scripted_model import COST, ScriptedModel

SPOUSE, FATHER = Triple("Ada", "spouse", "Bo"), Triple("Carl", "child", "Bo")
BORN, MOTHER = Triple("Carl", "place of birth", "Tromsø"), Triple("Ada", "mother", "Eva")
PATHS: tuple[Path, ...] = ((MOTHER,), (SPOUSE, FATHER, BORN))
FOUND = Evidence((), tuple(Scored(path, 0.5) for path in PATHS), topics=("Ada",))
QUESTION = "Where was the father of Ada's spouse born?"


def script(answer: str, choice: str | Failure) -> ScriptedModel:
    def reply(prompt: Prompt) -> "dict[str, str] | Failure":
        if prompt.name != path_text.CHOICE_TEMPLATE.fingerprint:
            return {"text": answer}
        return choice if isinstance(choice, Failure) else {"text": choice}

    return ScriptedModel(reply)


def test_the_whole_reply_is_the_answer_and_its_path_stands_first() -> None:
    model = script("- Tromsø\n- Bodø", "Ada | spouse | Bo; Carl | child | Bo; Carl | place of birth | Tromsø")
    (answer,) = TextPathAnswerer(model).answer([QUESTION], [FOUND])
    assert answer.text == "- Tromsø\n- Bodø"
    assert [candidate.item for candidate in answer.candidates] == ["Tromsø", "Bodø"]
    assert answer.evidence.paths[0].item == PATHS[1]
    assert named_path(answer) == PATHS[1]
    assert not answer.weak
    assert answer.usage == COST + COST
    assert model.batch_sizes == [2]


def test_no_names_no_path() -> None:
    (answer,) = TextPathAnswerer(script("Tromsø", "NO")).answer([QUESTION], [FOUND])
    assert answer.weak
    assert NO_PATH_NAMED_NOTE in answer.notes
    assert named_path(answer) is None
    (other,) = TextPathAnswerer(script("Mars\x1b[31m", "1")).answer([QUESTION], [FOUND])
    assert OUTSIDE_NOTE in other.notes
    assert "\x1b" not in other.text + other.candidates[0].item


def test_failures_of_either_call() -> None:
    (answer,) = TextPathAnswerer(script("Tromsø", Failure("p", "no reply", COST))).answer([QUESTION], [FOUND])
    assert (answer.text, named_path(answer)) == ("Tromsø", None)
    assert "the supporting path is unknown: no reply" in answer.notes
    (failed,) = TextPathAnswerer(ScriptedModel(lambda prompt: Failure(prompt.name, "down"))).answer([QUESTION], [FOUND])
    assert failed.failure
    assert failed.text == ""


def test_questions_without_paths_cost_nothing() -> None:
    model = script("Tromsø", "1")
    answers = TextPathAnswerer(model).answer(["", QUESTION], [FOUND, Evidence()])
    assert [answer.text for answer in answers] == ["", ""]
    assert not model.prompts
    assert TextPathAnswerer(model).answer([], []) == []


def test_the_question_alone() -> None:
    model = ScriptedModel(lambda _: {"answers": ["Tromsø", "Bodø", "Tromsø"]})
    answer, empty = UnaidedAnswerer(model).answer([QUESTION, " "], [Evidence(), Evidence()])
    assert (answer.text, answer.weak) == ("Tromsø", True)
    assert [candidate.item for candidate in answer.candidates] == ["Tromsø", "Bodø"]
    assert answer.notes == ("written by scripted:model", UNAIDED_NOTE)
    assert (empty.text, len(model.prompts)) == ("", 1)
    (text,) = UnaidedAnswerer(script("Tromsø\nBodø", "NO"), as_text=True).answer([QUESTION], [Evidence()])
    assert text.text == "Tromsø\nBodø"
    assert [candidate.item for candidate in text.candidates] == ["Tromsø", "Bodø"]
    (unknown,) = UnaidedAnswerer(ScriptedModel(lambda _: {"answers": []})).answer([QUESTION], [Evidence()])
    assert NO_ANSWER_NOTE in unknown.notes
