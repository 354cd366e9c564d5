"""`clew retrievers`: the retrievers and rerankers there are, what each needs, and its settings."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from clew.errors import InputError
from clew.plugins.names import nearest
from clew.plugins.records import SettingsRecord, setting_rows
from clew.rerankers.registry import RERANKERS
from clew.retrievers.registry import RERANKING_SETTINGS, RETRIEVERS, record_of

_MORE = f"Every retriever of passages also takes {', '.join(RERANKING_SETTINGS)}: fused:rerank=g-rag,rerank_depth=50"


def retrievers(
    name: Annotated[str, typer.Argument(help="A retriever or reranker whose settings are printed.")] = "",
) -> None:
    """List the retrievers and what each needs, or print the settings of one."""
    console = Console()
    if name:
        _print_settings(console, name)
        return
    rows = [(known, entry.summary, entry.needs) for known, entry in RETRIEVERS.usable_entries().items()]
    console.print(_make_table(("retriever", "ranks by", "needs"), rows), "")
    rows = [(known, entry.summary, entry.spelling or known) for known, entry in RERANKERS.usable_entries().items()]
    console.print(_make_table(("reranker", "orders by", "written as"), rows), "")
    console.print("clew retrievers NAME prints the settings of one.", markup=False)


def _print_settings(console: Console, name: str) -> None:
    record, summary, preset = _find(name)
    console.print(f"{name}: {summary}", markup=False, highlight=False)
    rows = [
        (row.name, row.wanted, row.default, row.description, row.source)
        for row in setting_rows(record)
        if row.name not in preset
    ]
    if rows:
        console.print(_make_table(("setting", "values", "default", "meaning", "source"), rows))
    else:
        console.print("It has no settings of its own.", markup=False)
    if name in RETRIEVERS:
        console.print(_MORE, markup=False, soft_wrap=True, highlight=False)


def _find(name: str) -> tuple[type[SettingsRecord], str, tuple[str, ...]]:
    """Return the settings record of a retriever or reranker, its summary, and the settings that its name fixes."""
    if name in RETRIEVERS:
        entry = RETRIEVERS.entry(name)
        return record_of(name), entry.summary, tuple(entry.preset)
    if name in RERANKERS:
        return RERANKERS.record(name), RERANKERS.entry(name).summary, ()
    close = nearest(name, (*RETRIEVERS, *RERANKERS))
    hint = f"did you mean {close}?" if close else "clew retrievers lists them"
    raise InputError(f"no retriever or reranker is called {name!r}; {hint}")


def _make_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column in ("retriever", "reranker", "setting"))
    for row in rows:
        table.add_row(*row)
    return table
