"""Decisions on entities, read from the JSON that lists them."""

import pytest

from clew.errors import InputError
from clew.store.entity_decisions import EntityDecision
from clew_lab.commands.entities import decision_from_json


@pytest.mark.parametrize(
    "decision",
    [
        EntityDecision(3, "split", ("A",), "B", ("one", "two"), ("p",), "Aa", time="2026-11-27T10:00:00+00:00"),
        EntityDecision(4, "undo", target=3),
    ],
)
def test_a_decision_is_read_as_it_was_listed(decision: EntityDecision) -> None:
    assert decision_from_json(decision.to_json()) == decision


@pytest.mark.parametrize(
    "fields",
    [
        [],
        {},
        {"action": "merge", "names": ["one"], "new_name": "two"},
        {"action": "rename", "names": ["one"]},
        {"action": "split", "names": "one", "new_name": "two"},
        {"action": "undo", "target": -1},
        {"action": ["merge"], "names": ["a", "b"], "new_name": "c"},
    ],
)
def test_json_of_another_form_is_refused(fields: object) -> None:
    with pytest.raises(InputError, match="a decision is"):
        decision_from_json(fields)
