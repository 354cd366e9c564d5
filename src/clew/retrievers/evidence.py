"""Evidence made of passages, paths and notes, and the checks that all retrievers share."""

import time
from collections.abc import Iterable, Sequence

from clew.errors import InputError
from clew.types import Evidence, Passage, Path, Scored, Usage

EMPTY_QUESTION = "the question is empty: nothing was searched"
NO_TOPIC = "the question names no entity of the graph; name one in [brackets], or give --topic"


def check_k(k: int) -> None:
    """Check the number of passages; raises InputError where `k` is below 1."""
    if k < 1:
        raise InputError(f"k is {k}: ask for at least 1 passage")


def make_evidence(
    passages: Sequence[Scored[Passage]], paths: Sequence[Scored[Path]], notes: Sequence[str], started: float
) -> Evidence:
    """Return evidence with the seconds since `started` (a `time.perf_counter`)."""
    usage = Usage(seconds=time.perf_counter() - started)
    return Evidence(tuple(passages), tuple(paths), tuple(notes), usage)


def empty_question_evidence(started: float | None = None) -> Evidence:
    """Return the evidence of an empty question."""
    return make_evidence((), (), (EMPTY_QUESTION,), time.perf_counter() if started is None else started)


def insert_empty_questions(questions: Sequence[str], evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence of all questions, given that of those that are not empty, in order."""
    results = iter(evidence)
    return [next(results) if question.strip() else empty_question_evidence() for question in questions]
