"""Evidence made of passages, paths and notes, and what retrievers share: checks, and the loop over questions."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from clew.arrays import BoolArray
from clew.errors import InputError
from clew.plugins.arguments import check_count, check_strings
from clew.query.scope import Scope
from clew.types import Evidence, Filter, Passage, Path, Scored, Usage

EMPTY_QUESTION = "the question is empty: nothing was searched"
NO_NAME = "no name in the question: dense ranking"
NO_TOPIC = "the question names no entity of the graph; name one in [brackets], or give --topic"


class PassageRetriever(ABC):
    """A `Retriever` whose evidence of one question does not depend on the others."""

    __slots__ = ()
    scope: Scope

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question (see `Retriever`)."""
        check_k(k, questions)
        allowed = self.scope.mask(where)
        return [
            self.retrieve_one(question, k, allowed) if question.strip() else empty_question_evidence()
            for question in questions
        ]

    @abstractmethod
    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` of the allowed passages (P,) for a question that is not empty."""


def check_k(k: int, questions: Sequence[str] = ()) -> None:
    """Check the number of passages, and questions; raises InputError where `k` is below 1, or a question no string."""
    check_count(k, "k")
    check_strings(questions, "questions")
    if k < 1:
        raise InputError(f"k is {k}: ask for at least 1 passage")


def make_evidence(
    passages: Sequence[Scored[Passage]], paths: Sequence[Scored[Path]], notes: Sequence[str], started: float
) -> Evidence:
    """Return evidence with the seconds since `started` (a `time.perf_counter`).

    A path over an entity that no allowed passage names is left out.
    """
    usage = Usage(seconds=time.perf_counter() - started)
    return Evidence(tuple(passages), keep_named(paths), tuple(notes), usage)


def keep_named(paths: Sequence[Scored[Path]]) -> tuple[Scored[Path], ...]:
    """Return the paths whose ends all have names; without a filter all have."""
    return tuple(path for path in paths if all(triple.head and triple.tail for triple in path.item))


def empty_question_evidence(started: float | None = None) -> Evidence:
    """Return the evidence of an empty question."""
    return make_evidence((), (), (EMPTY_QUESTION,), time.perf_counter() if started is None else started)


def insert_empty_questions(questions: Sequence[str], evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence of all questions, given that of those that are not empty, in order."""
    results = iter(evidence)
    return [next(results) if question.strip() else empty_question_evidence() for question in questions]
