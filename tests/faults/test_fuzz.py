"""The first inputs of `tests.faults.fuzz`, which makes as many as are wanted."""

import pytest

from tests.faults.fuzz import run_range

COUNT = 20_000


@pytest.mark.slow
def test_generated_inputs_are_read_or_refused() -> None:
    assert run_range(0, COUNT) == []
