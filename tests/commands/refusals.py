"""Refusals of commands, as all of them have to be."""

from tests.faults.commands import Outcome


def check_refused(done: Outcome, expected: str) -> None:
    """Check that a command wrote one line that says what is wrong, and nothing else."""
    assert done.code == 2, done
    assert expected in done.err
    assert done.err.startswith("clew: ")
    assert done.err.count("\n") == 1
    assert done.out == ""
