"""Answers from paths through a graph: the entity where the best path ends, or what a language model makes of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast, final

from clew.errors import InputError
from clew.graph.paths.path_entities import path_entities
from clew.models.llm.prompts import path_answer, path_choice
from clew.models.llm.prompts.path_answer import PathAnswer
from clew.models.llm.prompts.path_choice import PathChoice
from clew.protocols import LanguageModel
from clew.text.normalization import name_key
from clew.text.sanitize import to_single_line
from clew.types import Answer, Evidence, Failure, Path, Reply, Scored, Usage

WEAK_SHARE = 0.05
"""Share of the likelihood below which the best path hardly stands out."""
PATH_END_NOTE = "the answer is where the best path ends; no language model was asked"
NO_PATHS_NOTE = "the evidence holds no path"
ABSTAINED_NOTE = "the model finds no answer on the paths"
OUTSIDE_NOTE = "no path ends or passes there: the model knows it from elsewhere, or made it up"
NO_PATH_NAMED_NOTE = "the model names no path that the answer stands on"
_MAX_ANSWERS = 20


@final
class PathAnswerer:
    """Answers with the end of the best path; nothing is made up."""

    def answer(
        self,
        questions: Sequence[str],
        evidence: Sequence[Evidence],
        on_text: Callable[[str], None] | None = None,
    ) -> list[Answer]:
        """Return one answer a question (see `Answerer`)."""
        del on_text
        _check(questions, evidence)
        return [_answer_from_best_path(question, found) for question, found in zip(questions, evidence, strict=True)]


@final
class LLMPathAnswerer:
    """Asks a language model for the answer and the path it stands on.

    Args:
        model: Any.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def answer(
        self,
        questions: Sequence[str],
        evidence: Sequence[Evidence],
        on_text: Callable[[str], None] | None = None,
    ) -> list[Answer]:
        """Return one answer a question (see `Answerer`); its evidence's first path is the one that was named.

        A model that answers and names no path is asked once more, for the path alone.
        """
        del on_text  # the reply is short, and its first words are no answer yet
        _check(questions, evidence)
        asked = [i for i, found in enumerate(evidence) if found.paths and questions[i].strip()]
        paths = {i: [scored.item for scored in evidence[i].paths] for i in asked}
        replies = self._model.complete([path_answer.build_prompt(questions[i], paths[i]) for i in asked])
        results = dict(zip(asked, replies, strict=True))
        unnamed = [i for i in asked if _names_no_path(results[i], len(paths[i]))]
        chosen = (
            self._model.complete([path_choice.build_prompt(questions[i], paths[i]) for i in unnamed]) if unnamed else []
        )
        choices = dict(zip(unnamed, chosen, strict=True))
        return [
            self._answer_from_reply(found, results[i], choices.get(i))
            if i in results
            else _empty_answer(questions[i], found)
            for i, found in enumerate(evidence)
        ]

    def _answer_from_reply(self, evidence: Evidence, result: Reply | Failure, choice: Reply | Failure | None) -> Answer:
        usage = result.usage + (choice.usage if choice is not None else Usage())
        if isinstance(result, Failure):
            notes = (result.reason,)
            return Answer("", (), (), evidence, weak=True, notes=notes, usage=usage, failure=result)
        reply = cast("PathAnswer", result.value)
        written = f"written by {self._model.name}{', from the cache' if result.cached else ''}"
        named = list(dict.fromkeys(filter(None, map(to_single_line, reply.answers))))[:_MAX_ANSWERS]
        if not reply.answerable or not named:
            return Answer("", (), (), evidence, weak=True, notes=(written, ABSTAINED_NOTE), usage=usage)
        number = reply.path
        if isinstance(choice, Reply):
            number = cast("PathChoice", choice.value).path
        used = 0 < number <= len(evidence.paths)
        reached = {name_key(name) for path in evidence.paths for name in path_entities(path.item, evidence.topics)}
        inside = name_key(named[0]) in reached
        unchosen = (f"which path it stands on is not known: {choice.reason}",) if isinstance(choice, Failure) else ()
        notes = (written, *unchosen, *(() if inside else (OUTSIDE_NOTE,)), *(() if used else (NO_PATH_NAMED_NOTE,)))
        candidates = tuple(Scored(name, 1.0 / rank) for rank, name in enumerate(named, 1))
        told = _move_path_first(evidence, number - 1) if used else evidence
        return Answer(named[0], (), candidates, told, weak=not inside or not used, notes=notes, usage=usage)


def named_path(answer: Answer) -> Path | None:
    """Return the path that an answer of a language model says it stands on; None where it names none."""
    if not answer.text or not answer.evidence.paths or {PATH_END_NOTE, NO_PATH_NAMED_NOTE} & set(answer.notes):
        return None
    return answer.evidence.paths[0].item


def _answer_from_best_path(question: str, evidence: Evidence) -> Answer:
    if not evidence.paths or not question.strip():
        return _empty_answer(question, evidence)
    best: dict[str, float] = {}
    for path in evidence.paths:
        best.setdefault(path_entities(path.item, evidence.topics)[-1], path.score)
    candidates = tuple(Scored(name, score) for name, score in best.items())
    weak = evidence.paths[0].score < WEAK_SHARE
    return Answer(candidates[0].item, (), candidates, evidence, weak=weak, notes=(PATH_END_NOTE, *evidence.notes))


def _empty_answer(question: str, evidence: Evidence) -> Answer:
    lack = NO_PATHS_NOTE if question.strip() else "the question is empty"
    return Answer("", (), (), evidence, weak=True, notes=(lack, *evidence.notes))


def _names_no_path(result: Reply | Failure, paths: int) -> bool:
    if isinstance(result, Failure):
        return False
    reply = cast("PathAnswer", result.value)
    return reply.answerable and any(map(to_single_line, reply.answers)) and not 0 < reply.path <= paths


def _move_path_first(evidence: Evidence, place: int) -> Evidence:
    """Return the evidence with one of its paths before the others."""
    paths = evidence.paths
    return replace(evidence, paths=(paths[place], *paths[:place], *paths[place + 1 :]))


def _check(questions: Sequence[str], evidence: Sequence[Evidence]) -> None:
    if len(questions) != len(evidence):
        raise InputError(f"{len(questions)} questions, {len(evidence)} pieces of evidence; give one a question")
