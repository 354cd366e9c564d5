"""Answerers of somebody else: what they return is checked at each call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, final

from clew.plugins.arguments import Origin, check_given, is_own
from clew.protocols import Answerer, check_lengths
from clew.types import Answer, Citation, Evidence, Scored

_METHOD = "answer"


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenAnswerer:
    """An answerer of somebody else, whose answers are checked."""

    answerer: Answerer  # the object
    origin: Origin  # where it comes from, for messages

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return what the object does; InputError: that is not one answer a question."""
        check_lengths(questions, evidence)
        with self.origin.map_errors():
            returned = self.answerer.answer(questions, evidence, on_text)
        answers: list[Answer] = self.origin.check_results(returned, len(questions), (Answer,), _METHOD)
        for answer in answers:
            self._check(answer)
        return answers

    def _check(self, answer: Answer) -> None:
        check_part = self.origin.check_part
        check_part(answer.text, (str,), _METHOD, "the text of an answer")
        check_part(answer.evidence, (Evidence,), _METHOD, "the evidence of an answer")
        for citation in answer.citations:
            check_part(citation, (Citation,), _METHOD, "a citation of an answer")
        for candidate in answer.candidates:
            check_part(candidate, (Scored,), _METHOD, "a candidate of an answer")


def accept_answerer(given: object, origin: Origin | None = None) -> Answerer:
    """Return an answerer, with its answers checked unless it is one of this package.

    Raises InputError where it has no method `answer`.
    """
    found_at = check_given(given, "answerer", {"answer": None}, origin)
    answerer = cast("Answerer", given)
    return answerer if is_own(given) else GivenAnswerer(answerer, found_at)
