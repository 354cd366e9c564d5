"""What the agents share: a budget that ends all searches at once, and steps in words."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from clew.errors import BudgetError
from clew.types import Sought, Step

T = TypeVar("T")

KEPT = 10
"""Passages at the head of a ranking that count as found by a step."""


class Budgeted:
    """Asks a reader until the budget is spent; from then on answers are empty, and a search ends with what it has.

    Attributes:
        spent: What the budget's end said; "" before that.
    """

    def __init__(self) -> None:
        self.spent = ""

    def ask(self, answers: Callable[[Sequence[Sought]], list[T]], asked: Sequence[Sought], empty: T) -> list[T]:
        """Return what a reader's method answers, or empty answers."""
        try:
            return [empty] * len(asked) if self.spent else answers(asked)
        except BudgetError as error:
            self.spent = f"stopped: {error}"
            return [empty] * len(asked)


def said(number: int, step: Step) -> str:
    """Return a step as a line for people."""
    counts = f"{len(step.read)} triples read, {len(step.new)} new passages"
    why = f"; {step.reasoning}" if step.reasoning else ""
    return f"step {number}: searched {step.query!r}: {counts}; {step.verdict}{why}"
