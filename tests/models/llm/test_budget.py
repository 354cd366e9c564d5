"""Budgets: concurrent calls never exceed a limit."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import BudgetError, InputError
from clew.models.llm.budget import Budget
from clew.types import Usage


def usage(tokens: int, cost: float = 0.0) -> Usage:
    return Usage(0.0, 1, tokens // 2, tokens - tokens // 2, cost)


def test_a_limit_may_be_reached_but_not_exceeded() -> None:
    budget = Budget(max_tokens=100)
    assert budget.admit(usage(100))
    budget.settle(usage(100), usage(100))
    with pytest.raises(BudgetError, match="the budget of 100 tokens is reached") as caught:
        budget.admit(usage(1))
    assert "100 tokens are spent and a call may take 1" in str(caught.value)


def test_a_call_waits_for_those_in_progress_and_fits_if_they_used_less() -> None:
    budget = Budget(max_tokens=100)
    assert budget.admit(usage(60))
    assert not budget.admit(usage(60))
    budget.settle(usage(60), usage(30))
    assert budget.admit(usage(60))


def test_a_call_that_can_never_fit_fails_at_once() -> None:
    with pytest.raises(BudgetError, match=r"a call may cost 2\.0000"):
        Budget(max_cost=1.0).admit(usage(1, 2.0))


def test_both_limits_are_named() -> None:
    with pytest.raises(BudgetError, match=r"the budget of 10 tokens and 0\.5 in cost is reached"):
        Budget(10, 0.5).admit(usage(20, 0.1))


@pytest.mark.parametrize("limits", [(-1, None), (None, -0.1), (None, float("nan"))])
def test_invalid_limits_are_refused(limits: tuple[int | None, float | None]) -> None:
    with pytest.raises(InputError, match="below 0"):
        Budget(*limits)


def test_a_limit_of_zero_allows_free_calls_only() -> None:
    with pytest.raises(BudgetError):
        Budget(max_tokens=0).admit(usage(1))
    assert Budget(max_cost=0.0).admit(usage(1, 0.0))  # a local model


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30))
def test_reservations_are_released_completely(calls: list[tuple[float, float]]) -> None:
    budget = Budget(max_cost=100.0)
    most = [usage(10, max(pair)) for pair in calls]
    for one in most:
        assert budget.admit(one)
    for one, (low, high) in zip(most, calls, strict=True):
        budget.settle(one, usage(5, min(low, high)))
    assert budget._reserved == Usage()
    assert budget.spent.cost == pytest.approx(sum(min(pair) for pair in calls))


def test_concurrent_threads_do_not_exceed_a_limit() -> None:
    budget = Budget(max_tokens=1000)

    def call(_: int) -> int:
        try:
            while not budget.admit(usage(30)):
                pass
        except BudgetError:
            return 0
        budget.settle(usage(30), usage(20))
        return 1

    with ThreadPoolExecutor(16) as pool:
        admitted = sum(pool.map(call, range(200)))
    assert budget.spent.input_tokens + budget.spent.output_tokens == 20 * admitted
    assert 20 * 48 <= 20 * admitted <= 1000
