"""A sample of `tests.faults.enumerate`: commands that are killed, or whose files fail, at counted operations."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.enumerate import TABLE, Cases, disturb, open_disturber

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cases]:
    folder = tmp_path_factory.mktemp("faults")
    with open_disturber(folder, TABLE) as disturber:
        if disturber is None:
            pytest.skip("a C compiler and a Linux are wanted")
        yield Cases(disturber, folder)


# The places are shares of a command's operations, which differ by a few between versions of Lance.
@pytest.mark.parametrize(
    ("command", "error", "place"),
    [
        ("index", "kill", 0.9),
        ("update", "EIO", 0.3),
        ("update", "kill", 0.7),
        ("remove", "EIO", 0.2),
        ("remove", "ENOSPC", 0.6),
        ("change", "kill", 0.5),
        ("change", "EFBIG", 0.3),
        ("broken", "kill", 0.8),
        ("decide", "kill", 0.4),
        ("decide", "ENOSPC", 0.7),
        ("repair", "kill", 0.5),
        ("repair", "EACCES", 0.3),
    ],
)
def test_a_disturbed_command_loses_nothing(
    cases: Cases, tmp_path: Path, command: str, error: str, place: float
) -> None:
    case = cases.case(command)
    at = 1 + int(place * len(case.operations))
    assert disturb(cases.disturber, case, tmp_path / "index", at, error) is None
