"""Answerers of somebody else: what they return is checked at each call."""

from collections.abc import Callable, Sequence
from typing import cast, final

from clew.plugins.arguments import check_members
from clew.plugins.origin import Origin, is_own, origin_of
from clew.protocols import Answerer, check_lengths
from clew.types import Answer, Citation, Evidence, Scored

_KIND, _METHOD = "answerer", "answer"


@final
class GivenAnswerer:
    """An answerer of somebody else, whose answers are checked.

    Args:
        answerer: The object.
        origin: Where it comes from, for messages.
    """

    def __init__(self, answerer: Answerer, origin: Origin) -> None:
        self._answerer = answerer
        self._origin = origin

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return what the object does; InputError: that is not one answer a question."""
        check_lengths(questions, evidence)
        with self._origin.map_errors():
            returned = self._answerer.answer(questions, evidence, on_text)
        answers: list[Answer] = self._origin.check_results(returned, len(questions), (Answer,), _METHOD)
        for answer in answers:
            self._check(answer)
        return answers

    def _check(self, answer: Answer) -> None:
        check_part = self._origin.check_part
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
    check_members(given, _KIND if origin is None else origin.label, {"answer": None})
    answerer = cast("Answerer", given)
    return answerer if is_own(given) else GivenAnswerer(answerer, origin or origin_of(given, _KIND))
