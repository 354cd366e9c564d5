"""What the agents share: a budget that ends all searches at once, and steps in words."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from clew.types import AgentStep, ExtractedFacts, Path, ReaderInput, Scored, SufficiencyDecision, Thought

T = TypeVar("T", ExtractedFacts, SufficiencyDecision, Thought)

MAX_PATHS = 10
"""Passages at the head of a ranking that count as found by a step; paths that are given."""


class BudgetedReader:
    """Asks a reader until its budget is spent; from then on answers are empty, and a search ends with what it has.

    Attributes:
        stop_reason: What the budget's end said; "" before that.
    """

    def __init__(self) -> None:
        self.stop_reason = ""

    def ask(
        self, answers: Callable[[Sequence[ReaderInput]], list[T]], asked: Sequence[ReaderInput], empty: T
    ) -> list[T]:
        """Return what a reader's method answers, or empty answers."""
        if self.stop_reason:
            return [empty] * len(asked)
        found = answers(asked)
        stopped = next((answer.stop_reason for answer in found if answer.stop_reason), "")
        self.stop_reason = f"stopped: {stopped}" if stopped else ""
        return found


def best_paths(paths: Sequence[Scored[Path]]) -> list[Scored[Path]]:
    """Return the best paths of all steps, each once, `KEPT` of them at most."""
    best: dict[Path, Scored[Path]] = {}
    for path in sorted(paths, key=lambda path: -path.score):
        best.setdefault(path.item, path)
    return list(best.values())[:MAX_PATHS]


def format_step(number: int, step: AgentStep) -> str:
    """Return a step as a line for people."""
    counts = f"{len(step.read)} triples read, {len(step.new)} new passages"
    why = f"; {step.reasoning}" if step.reasoning else ""
    return f"step {number}: searched {step.query!r}: {counts}; {step.verdict}{why}"
