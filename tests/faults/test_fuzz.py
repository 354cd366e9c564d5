"""The first inputs of `tests.faults.fuzz`, which makes as many as are wanted."""

import pytest

from tests.faults.fuzz import TARGETS, make_input, run_range

COUNT = 20_000


@pytest.mark.slow
def test_generated_inputs_are_read_or_refused() -> None:
    assert run_range(0, COUNT) == []


def test_inputs_are_of_all_readers_and_the_same_in_every_run() -> None:
    made = [make_input(number) for number in range(400)]
    assert {target.name for target, _ in made} == {target.name for target in TARGETS}
    assert made == [make_input(number) for number in range(400)]
    assert len({data for _, data in made}) > 300
