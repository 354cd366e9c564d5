"""The examples of docs/extend.md print what the page shows."""

from pathlib import Path

import pytest

from tests.own_parts import NAMES, run_example


def test_each_seam_of_objects_has_an_example() -> None:
    assert NAMES == ("encoder", "extractor", "language model", "answerer", "retriever")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_is_shown(name: str, tmp_path: Path) -> None:
    done = run_example(name, tmp_path)
    assert done.printed == done.shown
