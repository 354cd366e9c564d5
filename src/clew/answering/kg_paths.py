"""Answers from paths through a graph: the end of the best path, a language model's choice, or its answer in plain text.

Source: Gao et al., "FRAG" (2025), section 4.4 and appendix A.5.
Differs from the source: own wording; the path is asked for with every answer, not for a quarter of the questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast, final

from clew.answering.replies import check_lengths, empty_answer, failed_answer, source_note
from clew.graph.paths.simple_paths import path_entities
from clew.models.llm.object_model import TextReply
from clew.models.llm.prompts import path_answer, path_choice, path_text, unaided_answer
from clew.models.llm.prompts.path_answer import PathAnswer
from clew.models.llm.prompts.path_choice import PathChoice
from clew.models.llm.prompts.unaided_answer import UnaidedAnswer
from clew.protocols import LanguageModel
from clew.text.display import to_single_line
from clew.text.normalization import name_key
from clew.types import Answer, Evidence, Failure, Path, Reply, Scored, Usage

WEAK_SHARE = 0.05
"""Likelihood of the best path below which the answer is marked as weak."""
PATH_END_NOTE = "the answer is where the best path ends; no language model was asked"
NO_PATHS_NOTE = "the evidence holds no path"
ABSTAINED_NOTE = "the model found no answer on the paths"
OUTSIDE_NOTE = "the answer is on no path: the model knows it from elsewhere, or made it up"
NO_PATH_NAMED_NOTE = "the model names no path that supports the answer"
MAX_ANSWERS = 20


@final
class PathAnswerer:
    """Answers with the end entity of the best path, without a language model."""

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`); `on_text` is never called."""
        del on_text
        check_lengths(questions, evidence)
        return [_answer_from_best_path(question, item) for question, item in zip(questions, evidence, strict=True)]


@final
class LLMPathAnswerer:
    """Answers with a language model, which also names the path that supports its answer."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`), the named path first in its evidence.

        A model that answers without naming a path is asked once more, for the path alone.
        """
        del on_text  # a short reply, whose first words are no answer yet
        check_lengths(questions, evidence)
        answerable = [i for i, item in enumerate(evidence) if item.paths and questions[i].strip()]
        paths = {i: [scored.item for scored in evidence[i].paths] for i in answerable}
        replies = self._model.complete([path_answer.build_prompt(questions[i], paths[i]) for i in answerable])
        results = dict(zip(answerable, replies, strict=True))
        unnamed = [i for i in answerable if _names_no_path(results[i], len(paths[i]))]
        prompts = [path_choice.build_prompt(questions[i], paths[i]) for i in unnamed]
        choices = dict(zip(unnamed, self._model.complete(prompts) if prompts else (), strict=True))
        return [
            self._answer_from_reply(item, results[i], choices.get(i)) if i in results else _no_path(questions[i], item)
            for i, item in enumerate(evidence)
        ]

    def _answer_from_reply(self, evidence: Evidence, result: Reply | Failure, choice: Reply | Failure | None) -> Answer:
        usage = result.usage + (choice.usage if choice is not None else Usage())
        if isinstance(result, Failure):
            return failed_answer(evidence, result, usage)
        reply = cast("PathAnswer", result.value)
        written = source_note(self._model.name, result)
        names = list(dict.fromkeys(filter(None, map(to_single_line, reply.answers))))[:MAX_ANSWERS]
        if not reply.answerable or not names:
            return empty_answer(evidence, (written, ABSTAINED_NOTE), usage)
        number = cast("PathChoice", choice.value).path if isinstance(choice, Reply) else reply.path
        supported = 0 < number <= len(evidence.paths)
        entities = {name_key(name) for path in evidence.paths for name in path_entities(path.item, evidence.topics)}
        on_path = name_key(names[0]) in entities
        notes = [written]
        notes += [f"the supporting path is unknown: {choice.reason}"] if isinstance(choice, Failure) else []
        notes += [] if on_path else [OUTSIDE_NOTE]
        notes += [] if supported else [NO_PATH_NAMED_NOTE]
        candidates = tuple(Scored(name, 1.0 / rank) for rank, name in enumerate(names, 1))
        evidence = move_path_first(evidence, number - 1) if supported else evidence
        weak = not (on_path and supported)
        return Answer(names[0], (), candidates, evidence, weak=weak, notes=tuple(notes), usage=usage)


def named_path(answer: Answer) -> Path | None:
    """Return the path that a language model named as support of its answer; None without one."""
    if not answer.text or not answer.evidence.paths or {PATH_END_NOTE, NO_PATH_NAMED_NOTE} & set(answer.notes):
        return None
    return answer.evidence.paths[0].item


def full_reply(answer: Answer) -> str:
    """Return all that a language model answered: its whole text, or where that is the first of several, a line each."""
    given = [candidate.item for candidate in answer.candidates]
    if PATH_END_NOTE in answer.notes or not given or given[0] != answer.text:
        return answer.text
    return "\n".join(given)


def _answer_from_best_path(question: str, evidence: Evidence) -> Answer:
    if not evidence.paths or not question.strip():
        return _no_path(question, evidence)
    best: dict[str, float] = {}
    for path in evidence.paths:
        best.setdefault(path_entities(path.item, evidence.topics)[-1], path.score)
    candidates = tuple(Scored(name, score) for name, score in best.items())
    weak = evidence.paths[0].score < WEAK_SHARE
    return Answer(candidates[0].item, (), candidates, evidence, weak=weak, notes=(PATH_END_NOTE, *evidence.notes))


def _no_path(question: str, evidence: Evidence) -> Answer:
    return empty_answer(evidence, (NO_PATHS_NOTE if question.strip() else "the question is empty", *evidence.notes))


def _names_no_path(result: Reply | Failure, paths: int) -> bool:
    if isinstance(result, Failure):
        return False
    reply = cast("PathAnswer", result.value)
    return reply.answerable and any(map(to_single_line, reply.answers)) and not 0 < reply.path <= paths


def move_path_first(evidence: Evidence, place: int) -> Evidence:
    """Return evidence with the path at a place, from 0, before all others."""
    paths = evidence.paths
    return replace(evidence, paths=(paths[place], *paths[:place], *paths[place + 1 :]))


UNAIDED_NOTE = "no evidence was retrieved: the model answers from what it knows"
NO_ANSWER_NOTE = "the model gives no answer"


@final
class TextPathAnswerer:
    """Answers from paths in plain text, and asks for the supporting path in a second call, as published."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`): the whole reply; its lines are the candidates.

        The path that the model copies is first in the evidence.
        """
        del on_text
        check_lengths(questions, evidence)
        answerable = [i for i, item in enumerate(evidence) if item.paths and questions[i].strip()]
        paths = [[scored.item for scored in evidence[i].paths] for i in answerable]
        asked = list(zip((questions[i] for i in answerable), paths, strict=True))
        prompts = [path_text.build_answer_prompt(*each) for each in asked]
        prompts += [path_text.build_choice_prompt(*each) for each in asked]
        results = self._model.complete(prompts) if prompts else []
        replies = dict(zip(answerable, zip(results[: len(asked)], results[len(asked) :], strict=True), strict=True))
        return [
            self._answer_from_replies(item, *replies[i])
            if i in replies
            else empty_answer(item, (NO_PATHS_NOTE if questions[i].strip() else "the question is empty", *item.notes))
            for i, item in enumerate(evidence)
        ]

    def _answer_from_replies(self, evidence: Evidence, result: Reply | Failure, choice: Reply | Failure) -> Answer:
        usage = result.usage + choice.usage
        if isinstance(result, Failure):
            return failed_answer(evidence, result, usage)
        notes = [source_note(self._model.name, result)]
        reply = cast("TextReply", result.value)
        names = path_text.read_answers(reply)[:MAX_ANSWERS]
        if not names:
            return empty_answer(evidence, (*notes, NO_ANSWER_NOTE), usage)
        number = 0
        if isinstance(choice, Failure):
            notes.append(f"the supporting path is unknown: {choice.reason}")
        else:
            number = path_text.read_choice(cast("TextReply", choice.value), [path.item for path in evidence.paths])
        entities = {name_key(name) for path in evidence.paths for name in path_entities(path.item, evidence.topics)}
        on_path = name_key(names[0]) in entities
        notes += ([] if on_path else [OUTSIDE_NOTE]) + ([] if number else [NO_PATH_NAMED_NOTE])
        supported = move_path_first(evidence, number - 1) if number else evidence
        weak = not (on_path and number)
        return Answer(_whole(reply), (), _candidates(names), supported, weak=weak, notes=tuple(notes), usage=usage)


@final
class UnaidedAnswerer:
    """Answers with a language model that is given the question alone; every answer is weak."""

    def __init__(self, model: LanguageModel, *, as_text: bool = False) -> None:
        self._model = model
        self._as_text = as_text

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`), whatever its evidence holds."""
        del on_text
        check_lengths(questions, evidence)
        asked = [i for i, question in enumerate(questions) if question.strip()]
        prompts = [unaided_answer.build_prompt(questions[i], as_text=self._as_text) for i in asked]
        results = dict(zip(asked, self._model.complete(prompts) if prompts else (), strict=True))
        return [
            self._answer_from_reply(item, results[i])
            if i in results
            else empty_answer(item, ("the question is empty",))
            for i, item in enumerate(evidence)
        ]

    def _answer_from_reply(self, evidence: Evidence, result: Reply | Failure) -> Answer:
        if isinstance(result, Failure):
            return failed_answer(evidence, result, result.usage)
        notes = (source_note(self._model.name, result), UNAIDED_NOTE)
        if self._as_text:
            reply = cast("TextReply", result.value)
            names, text = path_text.read_answers(reply), _whole(reply)
        else:
            names = list(dict.fromkeys(filter(None, map(to_single_line, cast("UnaidedAnswer", result.value).answers))))
            text = names[0] if names else ""
        if not names:
            return empty_answer(evidence, (*notes, NO_ANSWER_NOTE), result.usage)
        candidates = _candidates(names[:MAX_ANSWERS])
        return Answer(text, (), candidates, evidence, weak=True, notes=notes, usage=result.usage)


def _whole(reply: TextReply) -> str:
    return "\n".join(to_single_line(line) for line in reply.lines)


def _candidates(names: Sequence[str]) -> tuple[Scored[str], ...]:
    return tuple(Scored(to_single_line(name), 1.0 / rank) for rank, name in enumerate(names, 1))
