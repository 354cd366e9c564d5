"""Candidates that are listed below an answer: none that its first line names, nor a part of one."""

import pytest

from clew.commands.answers import print_answer
from clew.types import Answer, Evidence, Scored


@pytest.mark.parametrize(
    ("weak", "names", "others"),
    [
        (True, ("Erik Voss", "Moen Yard", "Voss", "Lake Club", "Yard"), "Other candidates: Lake Club"),
        (False, ("Hanna Krog", "Krog", "Hanna Krog, Tomas Reyes", "Tomas Reyes"), "Other candidates: Tomas Reyes"),
        (False, ("Hanna Krog", "Krog"), ""),
    ],
)
def test_other_candidates_are_others(
    weak: bool, names: tuple[str, ...], others: str, capsys: pytest.CaptureFixture[str]
) -> None:
    candidates = tuple(Scored(name, 0.5) for name in names)
    print_answer(Answer(names[0], (), candidates, Evidence(()), weak=weak))
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Other candidates")]
    assert shown == ([others] if others else [])
