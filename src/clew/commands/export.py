"""`clew export`, which writes what extractors found."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import IndexOption, check_file
from clew.errors import InputError
from clew.indexing.extraction.export import LAYOUTS, ExtractedPassage, format_extractions
from clew.indexing.snapshot_builder import read_extractions
from clew.store.atomic import atomic_file
from clew.store.passage_table import PassageTable


def export(
    file: Annotated[Path, typer.Argument(help="File to write; an existing one is replaced whole.")],
    index: IndexOption,
    layout: Annotated[str, typer.Option(help="lines, or hipporag for its result files.")] = "lines",
) -> None:
    """Write what extractors found, to be read again by `clew index --extractor published:FILE`."""
    if layout not in LAYOUTS:
        raise InputError(f"no layout is called {layout!r}; choose {' or '.join(LAYOUTS)}")
    check_file("the file", file)
    table = PassageTable.open(index)
    with atomic_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(format_extractions(layout, _read_extracted(table)))
    failed = table.read(["failure"])["failure"]
    left_out = len(failed) - failed.null_count
    without = f", without {left_out} at which the extractor failed" if left_out else ""
    print(f"wrote what was found in {failed.null_count} passages{without}")


def _read_extracted(table: PassageTable) -> Iterator[ExtractedPassage]:
    """Yield the passages whose extraction succeeded, sorted by document and position."""
    rows = table.read()
    columns = (rows[name].to_pylist() for name in ("id", "title", "text", "failure"))
    for id_, title, text, failure, extraction in zip(*columns, read_extractions(rows), strict=True):
        if failure is None:
            yield ExtractedPassage(id_, title, text, extraction)
