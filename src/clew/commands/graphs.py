"""The commands over graphs that users bring themselves: `clew kg`."""

from typing import Annotated, Optional

import typer

from clew.commands.options import EncoderOption, IndexOption, JsonFlag, make_client_factory, open_or_create

kg = typer.Typer(help="Import graphs of triples, with documents beside them or alone, and list those of an index.")


@kg.command(name="import")
def import_(
    file: Annotated[str, typer.Argument(help="Triples: TSV, CSV, JSON lines, N-Triples, Turtle, GraphML; also .gz.")],
    index: IndexOption,
    name: Annotated[Optional[str], typer.Option(help="Of the graph in the index; the file's name.")] = None,  # noqa: UP045
    format_: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--format", help="tsv, csv, jsonl, ntriples, turtle or graphml, where the suffix does not say."),
    ] = None,
    names: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="A table of names, by tabs: entity, label, further names. May be given several times."),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Of the text: utf-8, utf-16, latin-1 and so on.")] = "utf-8",
    delimiter: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Between the cells of a table, in place of a tab, or of a comma in CSV."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Import nothing from a file that has a malformed line.")
    ] = False,
    encoder: EncoderOption = None,
) -> None:
    """Import a graph in the place of the one of its name, making the index where there is none; no documents needed."""
    from clew.commands.output import print_graph_report, progress_on_stderr
    from clew.indexing.kg_formats.files import graph_file
    from clew.indexing.kg_import import clean_graph_name

    # What is wrong with the file fails here, before an index is made.
    called = None if name is None else clean_graph_name(name)
    source = graph_file(file, format_, encoding, delimiter, names or ())
    if strict:
        source.check()
    source.require_triple()
    with progress_on_stderr() as progress:
        asking = make_client_factory(None, None, None, cache=True)
        opened = open_or_create(index, None, encoder, progress, asking, create=True)
        report = opened.import_graph(source, called)
        snapshot = opened.snapshot
    print_graph_report(report, len(snapshot.entities), len(snapshot.triples))


@kg.command(name="list")
def list_(index: IndexOption, json_: JsonFlag = False) -> None:
    """Print the graphs of an index: their names, how many triples and names they have, and in how many parts."""
    import json
    from dataclasses import asdict

    from clew.commands.output import print_graphs
    from clew.store.kg_shards import stored_graphs
    from clew.store.passage_table import PassageTable

    graphs = [asdict(graph) for graph in stored_graphs(PassageTable.open(index).iter_shards(["metadata"]))]
    if json_:
        print(json.dumps(graphs, ensure_ascii=False, indent=2))
    else:
        print_graphs(graphs)
