"""`clew entities import`: decisions on entities, read from a file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.entities import change
from clew.commands.options import IndexOption, JsonFlag
from clew.commands.output import print_line
from clew.errors import InputError
from clew.store.entity_decisions import decision_from_json


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
