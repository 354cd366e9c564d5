"""Encoders whose texts cost money."""

from typing import Protocol, runtime_checkable

from clew.models.llm.budget import Budget
from clew.models.llm.pricing import Prices


@runtime_checkable
class PaidEncoder(Protocol):
    """An encoder whose requests count in a budget."""

    def spend_from(self, budget: Budget, prices: Prices) -> None:
        """Count the cost of requests in a budget, which admits none that could exceed it.

        Raises InputError where the budget limits the cost and no price of the model is known.
        """
