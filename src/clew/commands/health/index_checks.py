"""The newest version of an index, as far as it can be checked without reading all of it."""

import os

from clew.commands.health.findings import FAULT, OK, WARNING, Finding
from clew.errors import ClewError
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import snapshot_folder, snapshot_problems
from clew.text.counts import format_count


def check_index(name: str) -> list[Finding]:
    """Return findings on the newest version of an index: its settings, its derived files, and who may write it."""
    try:
        table = PassageTable.open(locate(name))
        rows = table.count_rows()
    except ClewError as error:
        return [Finding("index", FAULT, str(error))]
    settings = table.settings
    seen = f"{name}: version {table.version}, {format_count(rows, 'passage')}, encoder {settings['encoder']}"
    findings = [Finding("index", OK, seen)]
    folder = snapshot_folder(table)
    if rows and not folder.is_dir():
        step = "the next search makes it; on a read-only disk copy the index elsewhere"
        findings.append(Finding("index graph", WARNING, "not made yet for this version", step))
    elif rows:
        problems = snapshot_problems(folder)
        state, detail = (FAULT, problems[0]) if problems else (OK, f"as it was written ({folder.name})")
        findings.append(Finding("index graph", state, detail, f"clew repair --index {name}" if problems else ""))
    writable = os.access(table.location.lock.parent, os.W_OK)
    detail = "can be written" if writable else f"{table.location.lock.parent} cannot be written by this user"
    step = f"clew verify --index {name} reads every row" if writable else "it can be searched, and not added to"
    return [*findings, Finding("index folder", OK if writable else WARNING, detail, step)]
