"""Writes docs/benchmarks.md from the tables of bench/results; with --check it writes nothing and fails if they differ.

A script of this folder that runs with `CLEW_RECORD=1` puts the tables that it prints in the place of those that the
same command recorded before (see `workbench.print_table`). `PAGE` says which of them the page shows; all others are
listed with their commands.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
TARGET = Path(__file__).parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `python bench/render_results.py` from what the scripts of `bench/` write to `bench/results/*.json`. A date is
that of the run; "by" a date, that it was written down by then.
Two cores, no language model, unless a table says otherwise. The data are public sets that are not in this repository
(`CLEW_DATA` names their folder); settings were chosen on `hotpotqa` and `musique-dev`, never on `2wiki`. R@k is the
share of a question's gold passages among the first k, as a mean over questions; all@k the share of questions that have
all of theirs there; ranges are 95 % intervals by the bootstrap over questions. Times compare within one table.

Run a script on an idle machine in the environment of `make test`: `.venv/bin/python bench/retrieval.py 2wiki`. Indexes
are built once, in `runs/bench` or the folder named by `CLEW_BENCH`.
"""
PAGE: dict[str, list[tuple[str, list[int]]]] = {
    "Recall": [("the-trained-ranker", [0, 1, 2])],
    "Rivals": [("figures", [11])],
    "Time": [("latency", [0, 2]), ("the-server", [0])],
    "Large corpora": [("large-corpora", [0])],
    "Chains of sentences": [("chains-of-sentences", [3])],
    "One long file without titles": [("one-long-file-without-titles", [0])],
    "A desk of documents": [("a-desk-of-documents", [1])],
    "The trained ranker": [("the-trained-ranker", [29])],
    "Expansion along triples": [("expansion-along-triples", [10])],
    "Answers without a language model": [("reading", [0]), ("reliability", [0])],
    "Paths in graphs": [("paths-in-graphs", [1, 4])],
    "Selecting subgraphs": [("selecting-subgraphs", [1])],
    "Reranking": [("reranking", [1])],
}
"""Sections of the page: files of results with the numbers of their tables."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that a script printed."""

    title: str
    command: str  # that printed it; "" where a table was put together of several
    date: str  # of the run
    caption: str
    head: list[str]
    rows: list[list[str]]
    notes: list[str]  # lines below it, such as differences with their ranges


def main() -> None:
    """Write the page, or compare it."""
    text = page()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
        raise SystemExit("docs/benchmarks.md is not what bench/results says: run python bench/render_results.py")


def page() -> str:
    """Return the page: the tables of `PAGE`, then the other results by file."""
    parts = [HEAD]
    for heading, sources in PAGE.items():
        tables = [read_tables(name)[number] for name, numbers in sources for number in numbers]
        parts += [f"## {heading}\n", *map(format_table, tables)]
    return "\n".join([*parts, "## All results\n", *list_results()]).rstrip() + "\n"


def read_tables(name: str) -> list[Table]:
    """Return the tables of a file of results."""
    records = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return [Table(**record) for record in records]


def format_table(table: Table) -> str:
    """Return a table as Markdown, below the command that printed it."""
    command = f"`{table.command}`" if table.command else "several commands"
    lines = [f"{table.caption.rstrip(':.') or table.title}; {command}, {table.date}", ""]
    lines += [f"| {' | '.join(row)} |" for row in (table.head, ["---"] * len(table.head), *table.rows)]
    return "\n".join([*lines, *([""] if table.notes else []), *(f"    {note}" for note in table.notes), ""])


def list_results() -> Iterator[str]:
    """Yield a line for each file of results of several tables, and one for all others."""
    counts = {path: read_tables(path.stem) for path in sorted(RESULTS.glob("*.json"))}
    for path, tables in counts.items():
        if len(tables) > 1:
            titles = ", ".join(dict.fromkeys(table.title for table in tables))
            yield f"- `bench/results/{path.name}`: {len(tables)} tables ({titles})"
    single = ", ".join(f"`{path.name}`" for path, tables in counts.items() if len(tables) == 1)
    yield f"- in the same folder, with one table: {single}"


if __name__ == "__main__":
    main()
