"""`clew entities import`: decisions on entities, read from a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from clew.commands.entities import change
from clew.commands.options import IndexOption, JsonFlag
from clew.commands.output import print_line
from clew.errors import InputError
from clew.store.entity_decisions import FORGET, MERGE, RENAME, SPLIT, UNDO, EntityDecision

_NAME_COUNTS = {MERGE: range(2, 1000), SPLIT: (1,), RENAME: (1,), FORGET: (1,), UNDO: (0,)}


def import_log(
    file: Annotated[Path, typer.Argument(help="A file of what clew entities list --log --json printed.")],
    index: IndexOption,
    json_: JsonFlag = False,
) -> None:
    """Read decisions that clew entities list --log --json printed.

    What they name need not be here: clew entities list --log says which have no effect in this index.
    """
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read as JSON ({error}): give what clew entities list --log --json printed"
        ) from None
    if not isinstance(entries, list):
        raise InputError(f"{file} is no list: give what clew entities list --log --json printed")
    decisions = [decision_from_json(entry) for entry in entries]
    made = change(index, lambda opened: opened.add_entity_decisions(decisions), json_=json_)
    if not made and not json_:
        print_line("nothing new")


def decision_from_json(fields: object) -> EntityDecision:
    """Return a decision from the JSON form of its fields; another form is an InputError."""
    problem = f"a decision is {fields!r:.80}: wanted one as `clew entities list --log --json` prints them"
    if not isinstance(fields, Mapping):
        raise InputError(problem)
    try:
        text = json.dumps({"number": 0, **fields})
        decision = TypeAdapter(EntityDecision).validate_json(text, strict=True)
    except (TypeError, ValidationError) as error:
        raise InputError(problem) from error
    has_name = decision.action in (MERGE, SPLIT, RENAME)
    if (
        len(decision.names) not in _NAME_COUNTS.get(decision.action, ())
        or bool(decision.new_name) != has_name
        or min(decision.number, decision.target) < 0
    ):
        raise InputError(problem)
    return decision
