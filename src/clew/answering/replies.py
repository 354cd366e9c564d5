"""Checks and records shared by the answerers."""

from collections.abc import Sequence

from clew.errors import InputError
from clew.plugins.arguments import check_strings
from clew.types import Answer, Evidence, Failure, Reply, Usage


def check_lengths(questions: Sequence[str], evidence: Sequence[Evidence]) -> None:
    """Raise InputError unless there is one piece of evidence per question."""
    check_strings(questions, "questions")
    if len(questions) != len(evidence):
        raise InputError(f"questions: {len(questions)}, pieces of evidence: {len(evidence)}; give one per question")


def empty_answer(evidence: Evidence, notes: tuple[str, ...], usage: Usage = Usage()) -> Answer:  # noqa: B008 - frozen
    """Return a weak answer without text."""
    return Answer("", (), (), evidence, weak=True, notes=notes, usage=usage)


def failed_answer(evidence: Evidence, failure: Failure, usage: Usage) -> Answer:
    """Return the answer that stands for a failed call of a language model."""
    return Answer("", (), (), evidence, weak=True, notes=(failure.reason,), usage=usage, failure=failure)


def source_note(model: str, reply: Reply) -> str:
    """Name the model that wrote an answer, and whether the reply cache returned it."""
    return f"written by {model}{', from the cache' if reply.cached else ''}"
