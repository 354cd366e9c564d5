"""Answers from paths: the end of the best one, or the answer of a language model and the path that it names."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from clew.answering.kg_paths import (
    ABSTAINED_NOTE,
    NO_PATHS_NOTE,
    OUTSIDE_NOTE,
    WEAK_SHARE,
    LLMPathAnswerer,
    PathAnswerer,
    named_path,
)
from clew.errors import BudgetError, InputError
from clew.types import Answer, Evidence, Failure, Path, Prompt, Reply, Scored, Triple, Usage
from tests.models.llm.scripted_model import COST, ScriptedModel

QUESTION = "Where was the father of Ada's spouse born?"
SPOUSE, FATHER = Triple("Ada", "spouse", "Bo"), Triple("Carl", "child", "Bo")
BORN, MOTHER = Triple("Carl", "place of birth", "Tromsø"), Triple("Ada", "mother", "Eva")
LONG, SHORT, OTHER = (SPOUSE, FATHER, BORN), (SPOUSE,), (MOTHER,)


def evidence(*paths: Path, topics: tuple[str, ...] = ("Ada",), best: float = 0.5) -> Evidence:
    scored = tuple(Scored(path, best / (place + 1)) for place, path in enumerate(paths))
    return Evidence((), scored, ("starts from Ada",), topics=topics)


THREE = evidence(LONG, SHORT, OTHER)


def answer_locally(found: Evidence, question: str = QUESTION) -> Answer:
    (answer,) = PathAnswerer().answer([question], [found])
    return answer


def test_the_answer_is_where_the_best_path_ends() -> None:
    answer = answer_locally(THREE)
    assert (answer.text, answer.weak, answer.citations, answer.failure) == ("Tromsø", False, (), None)
    assert [(c.item, c.score) for c in answer.candidates] == [("Tromsø", 0.5), ("Bo", 0.25), ("Eva", 0.5 / 3)]
    assert answer.evidence is THREE
    assert answer.notes == ("the answer is where the best path ends; no language model was asked", "starts from Ada")
    assert answer.usage == Usage()


def test_an_end_that_several_paths_reach_is_named_once_with_the_best_score() -> None:
    again = Triple("Ada", "best friend", "Bo")
    answer = answer_locally(evidence(SHORT, OTHER, (again,)))
    assert [(c.item, c.score) for c in answer.candidates] == [("Bo", 0.5), ("Eva", 0.25)]


@pytest.mark.parametrize(
    ("path", "topics", "text"),
    [
        ((SPOUSE,), ("Bo",), "Ada"),  # against the fact
        ((SPOUSE,), (), "Bo"),
        ((FATHER, SPOUSE), ("Carl",), "Ada"),
        ((SPOUSE, SPOUSE), ("Ada",), "Ada"),  # back to the start
        ((SPOUSE, SPOUSE), ("Bo",), "Bo"),
        ((Triple("Ada", "knows", "Ada"),), ("Ada",), "Ada"),
    ],
)
def test_the_end_of_a_path_depends_on_its_direction(path: Path, topics: tuple[str, ...], text: str) -> None:
    assert answer_locally(evidence(path, topics=topics)).text == text


def test_an_unlikely_best_path_is_weak() -> None:
    assert not answer_locally(evidence(LONG, best=WEAK_SHARE)).weak
    assert answer_locally(evidence(LONG, best=WEAK_SHARE * 0.99)).weak
    assert answer_locally(evidence(LONG, best=WEAK_SHARE * 0.99)).text == "Tromsø"


def test_no_paths_and_empty_questions() -> None:
    none = answer_locally(Evidence(notes=("no path leads away",)))
    assert (none.text, none.weak, none.candidates) == ("", True, ())
    assert none.notes == (NO_PATHS_NOTE, "no path leads away")
    empty = answer_locally(THREE, "  ")
    assert (empty.text, empty.weak) == ("", True)
    assert empty.notes[0] == "the question is empty"
    assert PathAnswerer().answer([], []) == []


@pytest.mark.parametrize("answerer", [PathAnswerer(), LLMPathAnswerer(ScriptedModel(lambda _: {}))])
def test_one_piece_of_evidence_a_question(answerer: PathAnswerer | LLMPathAnswerer) -> None:
    with pytest.raises(InputError, match="questions: 2, pieces of evidence: 1; give one per question"):
        answerer.answer(["a", "b"], [THREE])


def run_model(
    first_reply: dict[str, object] | Failure,
    path_reply: dict[str, object] | Failure | None = None,
    found: Evidence = THREE,
) -> tuple[Answer, ScriptedModel]:
    """Return the answer for a model's first reply and, if it is asked for the path alone, its second."""

    def script(prompt: Prompt) -> dict[str, object] | Failure:
        if prompt.name.startswith("path_choice@"):
            assert path_reply is not None, "the path was asked for"
            return path_reply
        assert prompt.name.startswith("path_answer@")
        return first_reply

    model = ScriptedModel(script)
    (answer,) = LLMPathAnswerer(model).answer([QUESTION], [found])
    return answer, model


def reply(path: int, *answers: str) -> dict[str, object]:
    return {"answerable": True, "answers": list(answers), "path": path}


def test_the_path_that_is_named_comes_first() -> None:
    answer, model = run_model(reply(2, "Bo", "Eva"))
    assert (answer.text, answer.weak, answer.failure) == ("Bo", False, None)
    assert [path.item for path in answer.evidence.paths] == [SHORT, LONG, OTHER]
    assert named_path(answer) == SHORT
    assert [(c.item, c.score) for c in answer.candidates] == [("Bo", 1.0), ("Eva", 0.5)]
    assert (model.batch_sizes, answer.usage) == ([1], COST), "one call does both"
    assert answer.notes == ("written by scripted:model",)
    assert answer.evidence.notes == THREE.notes
    content = model.prompts[0].content
    assert QUESTION in content
    assert "1. Ada | spouse | Bo; Carl | child | Bo; Carl | place of birth | Tromsø\n2. Ada | spouse | Bo\n" in content


@pytest.mark.parametrize("number", [0, 4, -1, 10**6])
def test_a_path_that_is_not_named_is_asked_for_once(number: int) -> None:
    answer, model = run_model(reply(number, "Eva"), {"path": 3})
    assert model.batch_sizes == [1, 1]
    assert model.prompts[1].content == model.prompts[0].content
    assert named_path(answer) == OTHER
    assert (answer.text, answer.weak, answer.usage) == ("Eva", False, COST + COST)


@pytest.mark.parametrize("number", [0, 4, -2])
def test_a_choice_of_no_path_names_none(number: int) -> None:
    answer, _ = run_model(reply(0, "Eva"), {"path": number})
    assert (answer.text, answer.weak) == ("Eva", True)
    assert named_path(answer) is None
    assert OUTSIDE_NOTE not in answer.notes


def test_a_choice_that_fails_leaves_the_answer() -> None:
    failed = Failure("path_choice", "it was: nonsense", COST)
    answer, _ = run_model(reply(0, "Eva"), failed)
    assert (answer.text, answer.weak, answer.usage) == ("Eva", True, COST + COST)
    assert named_path(answer) is None


def test_a_choice_that_fails_is_noted() -> None:
    answer, _ = run_model(reply(0, "Eva"), Failure("path_choice", "it was: nonsense", COST))
    assert any("it was: nonsense" in note for note in answer.notes)


def test_an_answer_on_no_path_is_weak() -> None:
    answer, _ = run_model(reply(1, "Oslo", "Tromsø"))
    assert (answer.text, answer.weak) == ("Oslo", True)
    assert OUTSIDE_NOTE in answer.notes
    assert [c.item for c in answer.candidates] == ["Oslo", "Tromsø"]
    for name in ("Ada", "Carl"):  # the start and the middle of a path are on it
        answer, _ = run_model(reply(1, name))
        assert (answer.text, answer.weak) == (name, False)


@pytest.mark.parametrize(
    "first_reply",
    [
        {"answerable": False},
        {"answerable": False, "answers": ["Bo"], "path": 1},
        {"answerable": False, "answers": ["Bo"], "path": 0},
        {"answerable": True, "answers": [], "path": 2},
        {"answerable": True, "answers": [" ", "\n"], "path": 2},
    ],
)
def test_it_abstains(first_reply: dict[str, object]) -> None:
    answer, model = run_model(first_reply)
    assert (answer.text, answer.weak, answer.candidates, answer.failure) == ("", True, (), None)
    assert ABSTAINED_NOTE in answer.notes
    assert named_path(answer) is None
    assert model.batch_sizes == [1]


def test_a_failure_is_kept() -> None:
    over = BudgetError("spent")
    answer, model = run_model(Failure("path_answer", "spent", COST, over))
    assert (answer.text, answer.weak, answer.notes, answer.usage) == ("", True, ("spent",), COST)
    assert answer.failure is not None
    assert answer.failure.run_error is over
    assert model.batch_sizes == [1]
    assert named_path(answer) is None


def test_names_are_one_line_each_once_and_not_too_many() -> None:
    answer, _ = run_model(reply(1, " Tromsø\n ", "Tromsø", "", "Bo\x1b[31m", *(f"name {i}" for i in range(100))))
    assert answer.text == "Tromsø"
    names = [c.item for c in answer.candidates]
    assert names[:2] == ["Tromsø", "Bo [31m"]
    assert len(names) == len(set(names)) == 20
    assert [c.score for c in answer.candidates[:3]] == pytest.approx([1, 1 / 2, 1 / 3])


def test_many_questions_are_asked_together_and_those_without_paths_not_at_all() -> None:
    def script(prompt: Prompt) -> dict[str, object] | Failure:
        if prompt.name.startswith("path_choice@"):
            return {"path": 1}
        if "Q3" in prompt.content:
            return Failure("path_answer", "no", COST)
        return reply(0 if "Q1" in prompt.content or "Q4" in prompt.content else 2, "Bo")

    model = ScriptedModel(script)
    questions = ["Q1", "Q2", "Q3", "", "Q4", "Q5"]
    found = [THREE, THREE, THREE, THREE, THREE, Evidence(notes=("nothing",))]
    answers = LLMPathAnswerer(model).answer(questions, found)
    assert model.batch_sizes == [4, 2]
    assert [named_path(answer) for answer in answers] == [LONG, SHORT, None, None, LONG, None]
    assert [answer.usage for answer in answers] == [COST + COST, COST, COST, Usage(), COST + COST, Usage()]
    assert answers[3].notes == ("the question is empty", "starts from Ada")
    assert answers[5].notes == (NO_PATHS_NOTE, "nothing")
    assert LLMPathAnswerer(model).answer([], []) == []


class FromCache(ScriptedModel):
    """A model whose replies all come from the cache."""

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        results = super().complete(prompts, on_text)
        return [replace(result, cached=True) if isinstance(result, Reply) else result for result in results]


def test_a_reply_from_the_cache_says_so() -> None:
    (answer,) = LLMPathAnswerer(FromCache(lambda _: reply(1, "Tromsø"))).answer([QUESTION], [THREE])
    assert answer.notes == ("written by scripted:model, from the cache",)
