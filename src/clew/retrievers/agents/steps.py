"""What the agents share: a budget that ends all searches at once, and steps in words."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from clew.types import Path, Reading, Scored, Sought, Step, Thought, Verdict

T = TypeVar("T", Reading, Verdict, Thought)

KEPT = 10
"""Passages at the head of a ranking that count as found by a step; paths that are given."""


class Budgeted:
    """Asks a reader until its budget is spent; from then on answers are empty, and a search ends with what it has.

    Attributes:
        spent: What the budget's end said; "" before that.
    """

    def __init__(self) -> None:
        self.spent = ""

    def ask(self, answers: Callable[[Sequence[Sought]], list[T]], asked: Sequence[Sought], empty: T) -> list[T]:
        """Return what a reader's method answers, or empty answers."""
        if self.spent:
            return [empty] * len(asked)
        found = answers(asked)
        stopped = next((answer.stopped for answer in found if answer.stopped), "")
        self.spent = f"stopped: {stopped}" if stopped else ""
        return found


def best_paths(paths: Sequence[Scored[Path]]) -> list[Scored[Path]]:
    """Return the best paths of all steps, each once, `KEPT` of them at most."""
    best: dict[Path, Scored[Path]] = {}
    for path in sorted(paths, key=lambda path: -path.score):
        best.setdefault(path.item, path)
    return list(best.values())[:KEPT]


def said(number: int, step: Step) -> str:
    """Return a step as a line for people."""
    counts = f"{len(step.read)} triples read, {len(step.new)} new passages"
    why = f"; {step.reasoning}" if step.reasoning else ""
    return f"step {number}: searched {step.query!r}: {counts}; {step.verdict}{why}"
