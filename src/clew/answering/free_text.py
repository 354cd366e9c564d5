"""Answers of a language model in plain text: from paths, with the path that it copies, and without any evidence.

Source: Gao et al., "FRAG" (2025), section 4.4 and appendix A.5.
Differs from the source: own wording; the path is asked for with every answer, not for a quarter of the questions.
"""

from collections.abc import Callable, Sequence
from typing import cast, final

from clew.answering.kg_paths import MAX_ANSWERS, NO_PATH_NAMED_NOTE, NO_PATHS_NOTE, OUTSIDE_NOTE, move_path_first
from clew.answering.replies import check_lengths, empty_answer, failed_answer, source_note
from clew.graph.paths.simple_paths import path_entities
from clew.models.llm.prompts import path_text, unaided_answer
from clew.models.llm.prompts.unaided_answer import UnaidedAnswer
from clew.models.llm.reply_parsing import TextReply
from clew.protocols import LanguageModel
from clew.text.normalization import name_key
from clew.text.sanitize import to_single_line
from clew.types import Answer, Evidence, Failure, Reply, Scored

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
