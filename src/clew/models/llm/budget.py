"""Prices of tokens, and limits on the tokens and the cost of all calls of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, runtime_checkable

from clew.errors import BudgetError, InputError
from clew.text.display import format_count
from clew.types import Usage


@dataclass(slots=True)
class Budget:
    """Counts the usage of calls and admits no call that could exceed a limit of at least 0.

    A call reserves its maximum usage until it ends, so that concurrent calls cannot exceed a limit together. A request
    without a reply counts with its maximum, since a provider may charge it.
    """

    max_tokens: int | None = None  # input and output tokens together; None for no limit
    max_cost: float | None = None  # cost in the currency of the price table; None for no limit
    spent: Usage = field(default_factory=Usage)  # usage so far
    exceeded_message: str = ""  # message of the error raised when a call no longer fitted; "" before that
    _reserved: Usage = field(default_factory=Usage, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        for limit in (self.max_tokens, self.max_cost):
            if limit is not None and not limit >= 0:
                raise InputError(f"a budget of {limit} is below 0: give 0 or more")

    def admit(self, maximum: Usage) -> bool:
        """Reserve a call's maximum, or return False until others end; a BudgetError where it can never fit."""
        with self._lock:
            if self._fits(self.spent + self._reserved + maximum):
                self._reserved = self._reserved + maximum
                return True
            if self._reserved.calls:
                return False
            self.exceeded_message = f"the budget of {self._describe_excess(maximum)}; finished work is kept"
            raise BudgetError(self.exceeded_message)

    def settle(self, reserved: Usage, used: Usage) -> None:
        """Replace the reservation of a call by its usage."""
        with self._lock:
            self._reserved = Usage(
                0.0,
                self._reserved.calls - reserved.calls,
                self._reserved.input_tokens - reserved.input_tokens,
                self._reserved.output_tokens - reserved.output_tokens,
                self._reserved.cost - reserved.cost,
            )
            if not self._reserved.calls:
                self._reserved = Usage()  # sums of floats do not always return to 0
            self.spent = self.spent + used

    def _fits(self, usage: Usage) -> bool:
        tokens = self.max_tokens is None or _total_tokens(usage) <= self.max_tokens
        return tokens and (self.max_cost is None or usage.cost <= self.max_cost)

    def _describe_excess(self, maximum: Usage) -> str:
        limits, state = [], []
        if self.max_tokens is not None:
            limits.append(format_count(self.max_tokens, "token"))
            spent = format_count(_total_tokens(self.spent), "token is", "tokens are")
            state.append(f"{spent} spent and a call may take {_total_tokens(maximum):,}")
        if self.max_cost is not None:
            limits.append(f"{self.max_cost:g} in cost")
            state.append(f"{self.spent.cost:.4f} in cost is spent and a call may cost {maximum.cost:.4f}")
        return f"{' and '.join(limits)} is reached ({'; '.join(state)})"


def _total_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


MILLION = 1_000_000
# Low, so that token counts of Latin text are over- rather than underestimated (English has four to five).
BYTES_PER_TOKEN = 3.0


@dataclass(frozen=True, slots=True)
class Prices:
    """Price lookup."""

    table: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # input, output price of a million, by model

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, custom_server: bool = False) -> float | None:
        """Return the price of a call to `provider:model`, None where unknown; the public table has no custom server."""
        if model in self.table:
            price_in, price_out = self.table[model]
            return (price_in * input_tokens + price_out * output_tokens) / MILLION
        provider, _, name = model.partition(":")
        if provider == "ollama":
            return 0.0
        return None if custom_server else _public_cost(provider, name, input_tokens, output_tokens)


def estimate_tokens(text: str) -> int:
    """Return the approximate number of tokens of a text, rather too high than too low."""
    return int(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN) + 1


def max_token_count(text: str) -> int:
    """Return an upper bound on a text's tokens, its bytes: digits and many scripts take a token per byte or two."""
    return len(text.encode("utf-8", "surrogatepass"))


def _public_cost(provider: str, name: str, input_tokens: int, output_tokens: int) -> float | None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    try:
        price = calc_price(Tokens(input_tokens=input_tokens, output_tokens=output_tokens), name, provider_id=provider)
    except LookupError:
        return None
    return float(price.total_price)


@runtime_checkable
class PaidEncoder(Protocol):
    """An encoder whose requests count in a budget."""

    def spend_from(self, budget: Budget, prices: Prices) -> None:
        """Count the cost of requests in a budget, which admits none that could exceed it.

        Raises InputError where the budget limits the cost and no price of the model is known.
        """
