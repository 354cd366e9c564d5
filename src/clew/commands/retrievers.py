"""`clew retrievers`: the retrievers and rerankers there are, what each needs, and its settings."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from clew.commands.options import JsonFlag
from clew.commands.output import print_json
from clew.errors import InputError
from clew.plugins.records import SettingRow, setting_rows
from clew.plugins.spec import nearest
from clew.rerankers.registry import RERANKERS
from clew.retrievers.registry import RERANKING_SETTINGS, RETRIEVERS, record_of

_LAB = "The package clew-lab (in a clone: pip install './lab')"
_OF_LAB = (
    *("entity-graph", "frag-complex", "frag-simple", "gfm-paper", "gnn-rag", "hipporag", "hipporag2", "ircot"),
    *("linearrag", "maxsim", "naive-ge", "none", "rog", "sprig", "steiner", "sync-ge", "title-links", "tog"),
)
_MORE = f"Every retriever of passages also takes {', '.join(RERANKING_SETTINGS)}: fused:rerank=g-rag,rerank_depth=50"


def retrievers(
    name: Annotated[str, typer.Argument(help="A retriever or reranker whose settings are printed.")] = "",
    json_: JsonFlag = False,
) -> None:
    """List the retrievers and what each needs, or print the settings of one."""
    if json_:
        print_json(_describe_settings(name) if name else _describe_all())
        return
    console = Console()
    if name:
        _print_settings(console, name)
        return
    rows = [(known, entry.summary, entry.needs) for known, entry in RETRIEVERS.usable_entries().items()]
    console.print(_make_table(("retriever", "ranks by", "needs"), rows), "")
    rows = [(known, entry.summary, entry.spelling or known) for known, entry in RERANKERS.usable_entries().items()]
    console.print(_make_table(("reranker", "orders by", "written as"), rows), "")
    console.print("clew retrievers NAME prints the settings of one.", markup=False)
    if missing := [known for known in _OF_LAB if known not in RETRIEVERS]:
        console.print(f"{_LAB} adds the published forms and rivals: {', '.join(missing)}.", markup=False)


def _describe_all() -> dict[str, Any]:
    """Return the lists of the command as one JSON object."""
    return {
        "retrievers": [
            {"name": known, "summary": entry.summary, "needs": entry.needs}
            for known, entry in RETRIEVERS.usable_entries().items()
        ],
        "rerankers": [
            {"name": known, "summary": entry.summary, "spelling": entry.spelling or known}
            for known, entry in RERANKERS.usable_entries().items()
        ],
    }


def _describe_settings(name: str) -> dict[str, Any]:
    """Return the settings of a retriever or reranker as a JSON object; every value is as a user writes it."""
    summary, rows = _find(name)
    return {"name": name, "summary": summary, "settings": [asdict(row) for row in rows]}


def _print_settings(console: Console, name: str) -> None:
    summary, rows = _find(name)
    console.print(f"{name}: {summary}", markup=False, highlight=False)
    if rows:
        cells = [(row.name, row.wanted, row.default, row.description, row.source) for row in rows]
        console.print(_make_table(("setting", "values", "default", "meaning", "source"), cells))
    else:
        console.print("It has no settings of its own.", markup=False)
    if name in RETRIEVERS:
        console.print(_MORE, markup=False, soft_wrap=True, highlight=False)


def _find(name: str) -> tuple[str, list[SettingRow]]:
    """Return the summary of a retriever or reranker, and the settings that its name does not fix."""
    if name in RETRIEVERS:
        entry = RETRIEVERS.entry(name)
        return entry.summary, [row for row in setting_rows(record_of(name)) if row.name not in entry.preset]
    if name in RERANKERS:
        return RERANKERS.entry(name).summary, list(setting_rows(RERANKERS.record(name)))
    close = nearest(name, (*RETRIEVERS.suggestions, *RERANKERS))
    hint = f"did you mean {close}?" if close else "clew retrievers lists them"
    raise InputError(f"no retriever or reranker is called {name!r}; {hint}")


def _make_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        is_name = column in ("retriever", "reranker", "setting")
        table.add_column(column, no_wrap=is_name, overflow="ellipsis" if is_name else "fold")
    for row in rows:
        table.add_row(*row)
    return table
