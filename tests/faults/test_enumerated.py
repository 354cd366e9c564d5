"""A sample of `tests.faults.enumerate`: commands that are killed, or whose files fail, at counted operations."""

from collections.abc import Iterator

import pytest

from tests.faults.commands import memory_folder
from tests.faults.enumerate import COMMANDS, LIMIT, TABLE, Cases, disturb, limits, open_disturber

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cases() -> Iterator[Cases]:
    with memory_folder() as folder, open_disturber(folder, TABLE) as disturber:
        if disturber is None:
            pytest.skip("a C compiler and a Linux are wanted")
        yield Cases(disturber, folder)


# The places are shares of a command's operations, which differ by a few between versions of Lance; those of a limit
# are shares of the largest file.
PLACES = [
    ("index", "kill", 0.9),
    ("index", "EFBIG", 0.5),
    ("index", LIMIT, 0.1),
    ("index", LIMIT, 0.9),
    ("update", "EIO", 0.3),
    ("update", "kill", 0.7),
    ("remove", "EIO", 0.2),
    ("remove", "ENOSPC", 0.6),
    ("compact", "kill", 0.3),
    ("import", "EMFILE", 0.6),
    ("import", LIMIT, 0.3),
    ("change", "kill", 0.5),
    ("change", "EFBIG", 0.3),
    ("broken", "kill", 0.8),
    ("reencode", "kill", 0.8),
    ("commit", "kill", 0.5),
    ("decide", "kill", 0.4),
    ("decide", "ENOSPC", 0.7),
    ("repair", "kill", 0.5),
    ("repair", "EACCES", 0.3),
    ("restore", "EIO", 0.5),
    ("create", "kill", 0.6),
    ("create", "ENOSPC", 0.8),
    ("create", LIMIT, 0.3),
]


@pytest.mark.parametrize(("command", "error", "place"), PLACES)
def test_a_disturbed_command_loses_nothing(cases: Cases, command: str, error: str, place: float) -> None:
    case = cases.case(command)
    at = 1 + int(place * len(case.operations))
    if error == LIMIT:
        at = limits(cases.result(command), 9)[int(10 * place) - 1]
    assert disturb(cases.disturber, case, cases.folder / "disturbed", at, error) is None


def test_each_command_is_disturbed() -> None:
    assert {command for command, _, _ in PLACES} == set(COMMANDS)
