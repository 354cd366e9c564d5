"""A sample of `tests.faults.rot`: every kind of file of an index, damaged in some ways."""

import pytest

from tests.faults.rot import CRASH, WRONG, Fixture, make_fixture, plan_trials, run_in_processes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    return make_fixture(tmp_path_factory.mktemp("rot"))


def test_a_damaged_file_gives_the_right_answer_or_an_error(made: Fixture) -> None:
    results = run_in_processes(made, plan_trials(made, 72, 1))
    assert len(results) == 72
    assert {trial: found for trial, found in results.items() if found[0] in (WRONG, CRASH)} == {}
