"""`clew kg`: graphs of triples that users bring themselves."""

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from clew.commands import seconds_since_start
from clew.commands.opening import make_llm_factory, open_or_create
from clew.commands.options import (
    DeviceOption,
    EncoderOption,
    IndexOption,
    JsonFlag,
    LLMOptions,
    MakingOptions,
    MemoryOption,
    check_folder,
    parse_merge_memory,
)
from clew.commands.output import print_json, print_warning
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import print_graph_report
from clew.errors import InputError
from clew.index import Index
from clew.indexing.kg_formats.files import GraphFile, graph_file
from clew.indexing.kg_formats.tables import require_statement
from clew.indexing.kg_import import GraphReport, clean_graph_name
from clew.store.atomic import new_index_folder
from clew.store.dataset import open_dataset
from clew.store.location import locate


@dataclass(frozen=True, slots=True)
class GraphFileOptions:
    """Options of reading a file of triples."""

    format_: Annotated[
        str | None,
        typer.Option("--format", help="tsv, csv, jsonl, json, ntriples or turtle, if the suffix does not tell."),
    ] = None
    names: Annotated[
        list[str] | None,
        typer.Option(help="A tab-separated table of names: entity, label, further names. May be given several times."),
    ] = None
    mentions: Annotated[
        list[str] | None,
        typer.Option(help="A tab-separated table of entity and document or passage. May be given several times."),
    ] = None
    encoding: Annotated[str, typer.Option(help="Text encoding: utf-8, utf-16, latin-1, ...")] = "utf-8"
    delimiter: Annotated[
        str | None, typer.Option(help="Between the cells of a table, in place of a tab, or of a comma in CSV.")
    ] = None
    drop_relations: Annotated[
        str | None,
        typer.Option(help="Beginnings of relations whose triples are left out, by commas: type.,common.,freebase."),
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Import nothing from a file that has a malformed line.")] = (
        False
    )


def import_graph(
    file: Annotated[
        str,
        typer.Argument(help="Triples: TSV, CSV, JSON (lines), N-Triples or Turtle, also .gz."),
    ],
    index: IndexOption,
    name: Annotated[str | None, typer.Option(help="Name of the graph in the index; default: the file's name.")] = None,
    encoder: EncoderOption = None,
    device: DeviceOption = None,
    memory: MemoryOption = None,
    json_: JsonFlag = False,
    *,
    options: GraphFileOptions,
) -> None:
    """Import a graph, replacing the one of its name; an index is created if there is none."""
    budget = parse_merge_memory(memory)
    graph_name = None if name is None else clean_graph_name(name)
    source = graph_file(
        file, options.format_, options.encoding, options.delimiter, options.names or (), options.mentions or ()
    )
    source = replace(source, dropped=_parse_prefixes(options.drop_relations))
    made = MakingOptions(encoder=encoder, device=device)
    with progress_on_stderr() as progress:

        def open_place(place: str) -> Index:
            return open_or_create(place, made, progress, make_llm_factory(LLMOptions()), create=True)

        report, opened = _import(source, graph_name, index, open_place, budget, options.strict)
        snapshot = opened.snapshot
    report = replace(report, seconds=seconds_since_start())
    if json_:
        sizes = {"index_entities": len(snapshot.entities), "index_triples": len(snapshot.triples)}
        print_json({**asdict(report), "faults": [str(fault) for fault in report.faults], **sizes})
    else:
        print_graph_report(report, len(snapshot.entities), len(snapshot.triples), len(snapshot.passage_ids))
        if options.drop_relations and not report.dropped:
            print_warning(f"no triple has a relation that begins with one of --drop-relations {options.drop_relations}")


def _import(
    source: GraphFile, name: str | None, location: str, open_place: Callable[[str], Index], memory: int, strict: bool
) -> tuple[GraphReport, Index]:
    """Import a graph into an index, or into a new one, which is made whole or not at all.

    `open_place` opens or creates an index. Returns the report and the index. On a disk a new index is moved into its
    place once it is whole; where nothing can be moved, the file is read once before, for its faults.
    """
    place = locate(location)
    is_new = open_dataset(place) is None
    if place.remote and is_new:
        stated = require_statement(source.statements(strict=strict), tuple, f"the file {source.path.name!r}", "triple")
        deque(stated, maxlen=0)
    if place.remote or not is_new:
        opened = open_place(location)
        return opened.import_graph(source, name, strict=strict, memory=memory), opened
    check_folder("--index", Path(place.table).parent)
    with new_index_folder(place) as folder, open_place(str(folder)) as made:
        report = made.import_graph(source, name, strict=strict, memory=memory)
    return report, open_place(location)


def _parse_prefixes(text: str | None) -> tuple[str, ...]:
    prefixes = () if text is None else tuple(part.strip() for part in text.split(","))
    if not all(prefixes):
        raise InputError(f"--drop-relations is {text!r}: give beginnings of relations by commas, such as type.,common.")
    return prefixes
