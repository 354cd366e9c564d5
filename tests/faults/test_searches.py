"""Many searches in one process hold no more memory or files: a sample of `python -m tests.faults.searches`."""

import sys
from pathlib import Path

import pytest

from tests.encoded_texts import run_for_each_text
from tests.faults.searches import make_example_index, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors are read from /proc")


@pytest.mark.slow
def test_five_hundred_searches_open_no_more_files_and_hold_no_more_memory(tmp_path: Path) -> None:
    with make_example_index(tmp_path / "index") as index, run_for_each_text():
        outcome = run(index, 500, warm_up=200)
    assert (outcome.first.searches, outcome.last.searches) == (200, 500)
    assert outcome.is_bounded, outcome
