"""Many searches in one process hold no more memory or files: a sample of `python -m tests.faults.searches`."""

import sys
from pathlib import Path

import pytest

from tests.faults.searches import MAX_GROWTH_MIB, Held, Outcome, make_example_index, make_questions, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors are read from /proc")


@pytest.mark.slow
def test_five_hundred_searches_open_no_more_files_and_hold_no_more_memory(tmp_path: Path) -> None:
    with make_example_index(tmp_path / "index") as index:
        outcome = run(index, 500, warm_up=200)
    assert (outcome.first.searches, outcome.last.searches) == (200, 500)
    assert outcome.is_bounded, outcome


def test_questions_differ() -> None:
    titles = [f"Ship {number}" for number in range(121)]
    questions = [question for question, _ in zip(make_questions(titles), range(100_000), strict=False)]
    assert len(set(questions)) == 100_000


@pytest.mark.parametrize(
    ("last", "is_bounded"),
    [
        (Held(2, 10.0 + MAX_GROWTH_MIB, 5), True),
        (Held(2, 11.0 + MAX_GROWTH_MIB, 5), False),
        (Held(2, 10.0, 6), False),
    ],
)
def test_growth_beyond_the_bounds_is_found(last: Held, is_bounded: bool) -> None:
    assert Outcome(Held(1, 10.0, 5), last).is_bounded is is_bounded
