"""`clew diff`: what two indexes have in common."""

from dataclasses import asdict
from typing import Annotated

import typer

from clew.commands.opening import open_index
from clew.commands.options import JsonFlag
from clew.commands.output import print_json, print_line
from clew.text.display import format_count
from clew_lab.graph.snapshot_diff import SnapshotDiff, diff_snapshots


def diff(
    old: str,
    new: str,
    limit: Annotated[int, typer.Option(min=0, help="Names shown per kind; --json has them all.")] = 10,
    json_: JsonFlag = False,
) -> None:
    """Compare the passages, entities and triples of two indexes; exit 0 for equal, 1 for different."""
    changes = diff_snapshots(open_index(old).snapshot, open_index(new).snapshot)
    if json_:
        print_json({"equal": changes.is_empty, **asdict(changes)})
    else:
        print_difference(changes, limit)
    if not changes.is_empty:
        raise typer.Exit(1)


def print_difference(changes: "SnapshotDiff", limit: int) -> None:
    """Print how many items of each kind differ, and the first of their names."""
    if changes.is_empty:
        print_line("equal: the same passages, entities and triples")
        return
    nouns = {"passages": "passage", "entities": "entity", "triples": "triple"}
    rows = [(nouns[kind], "added", names) for kind, names in changes.added.items()]
    rows += [(nouns[kind], "removed", names) for kind, names in changes.removed.items()]
    for noun, change, names in [*rows, ("passage", "changed", changes.changed)]:
        if names:
            more = ", ..." if len(names) > limit else ""
            print_line(f"{format_count(len(names), noun)} {change}: {', '.join(names[:limit])}{more}")
