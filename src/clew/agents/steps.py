"""What the agents share: a budget that ends all searches at once, and steps in words."""

from collections.abc import Sequence

from clew.errors import BudgetError
from clew.protocols import Reader
from clew.types import Reading, Sought, Step, Thought, Verdict

KEPT = 10
"""Passages at the head of a ranking that count as found by a step."""


class Budgeted:
    """Asks a reader until the budget is spent; from then on answers are empty, and a search ends with what it has.

    Attributes:
        spent: What the budget's end said; "" before that.
    """

    def __init__(self) -> None:
        self.spent = ""

    def read(self, reader: Reader, asked: Sequence[Sought]) -> list[Reading]:
        """Return what the reader reads."""
        try:
            return [Reading()] * len(asked) if self.spent else reader.read(asked)
        except BudgetError as error:
            self.spent = f"stopped: {error}"
            return [Reading()] * len(asked)

    def judge(self, reader: Reader, asked: Sequence[Sought]) -> list[Verdict]:
        """Return the reader's verdicts."""
        try:
            return [Verdict(enough=False)] * len(asked) if self.spent else reader.judge(asked)
        except BudgetError as error:
            self.spent = f"stopped: {error}"
            return [Verdict(enough=False)] * len(asked)

    def think(self, reader: Reader, asked: Sequence[Sought]) -> list[Thought]:
        """Return the reader's next thoughts."""
        try:
            return [Thought("")] * len(asked) if self.spent else reader.think(asked)
        except BudgetError as error:
            self.spent = f"stopped: {error}"
            return [Thought("")] * len(asked)


def said(number: int, step: Step) -> str:
    """Return a step as a line for people."""
    counts = f"{len(step.read)} triples read, {len(step.new)} new passages"
    why = f"; {step.reasoning}" if step.reasoning else ""
    return f"step {number}: searched {step.query!r}: {counts}; {step.verdict}{why}"
