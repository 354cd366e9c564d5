"""What may be spent on language models: tokens and money, over all calls of a run."""

from dataclasses import dataclass, field
from threading import Lock

from clew.errors import BudgetError, InputError
from clew.types import Usage


@dataclass(slots=True)
class Budget:
    """Counts what calls cost, and admits no call that could go beyond a limit.

    A call is admitted with the most that it can cost, which is set aside until the call is over; so calls that are
    under way together cannot pass a limit that each of them alone would keep.

    Attributes:
        max_tokens: In and out together; None for no limit.
        max_cost: Money, in the currency of the price table; None for no limit.
        spent: So far. A request that was sent and never answered counts as the most that it can have cost, since a
            provider may charge it all the same.
        exceeded_message: What was said when a call did not fit any more; "" before that.
    """

    max_tokens: int | None = None
    max_cost: float | None = None
    spent: Usage = field(default_factory=Usage)
    exceeded_message: str = ""
    _reserved: Usage = field(default_factory=Usage, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        """Refuse limits below 0."""
        for limit in (self.max_tokens, self.max_cost):
            if limit is not None and not limit >= 0:
                raise InputError(f"a budget of {limit} is below 0: give 0 or more")

    def admit(self, maximum: Usage) -> bool:
        """Set aside the most that a call can cost; False where calls under way have to end first.

        Raises:
            BudgetError: The call does not fit even when nothing else is under way.
        """
        with self._lock:
            if self._fits(self.spent + self._reserved + maximum):
                self._reserved = self._reserved + maximum
                return True
            if self._reserved.calls:
                return False
            self.exceeded_message = f"the budget of {self._describe_excess(maximum)}; what was done is kept"
            raise BudgetError(self.exceeded_message)

    def settle(self, reserved: Usage, used: Usage) -> None:
        """Count what a call cost in the place of what was set aside for it."""
        with self._lock:
            self._reserved = Usage(
                0.0,
                self._reserved.calls - reserved.calls,
                self._reserved.input_tokens - reserved.input_tokens,
                self._reserved.output_tokens - reserved.output_tokens,
                self._reserved.cost - reserved.cost,
            )
            if not self._reserved.calls:
                self._reserved = Usage()  # sums of money do not always come back to 0
            self.spent = self.spent + used

    def _fits(self, usage: Usage) -> bool:
        tokens = self.max_tokens is None or _total_tokens(usage) <= self.max_tokens
        return tokens and (self.max_cost is None or usage.cost <= self.max_cost)

    def _describe_excess(self, maximum: Usage) -> str:
        limits, state = [], []
        if self.max_tokens is not None:
            limits.append(f"{self.max_tokens:,} tokens")
            state.append(
                f"{_total_tokens(self.spent):,} tokens are spent and a call may take {_total_tokens(maximum):,}"
            )
        if self.max_cost is not None:
            limits.append(f"{self.max_cost:g} of money")
            state.append(f"{self.spent.cost:.4f} of money is spent and a call may cost {maximum.cost:.4f}")
        return f"{' and '.join(limits)} is reached ({'; '.join(state)})"


def _total_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
