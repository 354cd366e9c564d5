"""`clew export`, which writes what extractors found."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.opening import open_index
from clew.commands.options import IndexOption, WhereOption, check_file, check_folder
from clew.commands.output import print_note
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.store.atomic import atomic_file, write_text
from clew.store.passage_table import PassageTable
from clew.text.display import format_count
from clew.types import Extraction, Question
from clew_lab.datasets.gfm_rag import TITLES_FILE, format_documents, format_questions, format_stage1
from clew_lab.datasets.loaders import load_questions
from clew_lab.extraction.export import GFMRAG_LINES, LAYOUTS, ExtractedPassage, format_extractions, read_extractions
from clew_lab.graph.exports import NODES, RELATIONSHIPS, write_graphml, write_jsonld, write_nodes, write_relationships

GFMRAG = "gfmrag"
GRAPHML, NEO4J, JSONLD = "graphml", "neo4j", "jsonld"
GRAPH_LAYOUTS = (GRAPHML, NEO4J, JSONLD)


def export(
    file: Annotated[
        Path,
        typer.Argument(help="File to write, or folder for gfmrag and neo4j; an existing file is replaced whole."),
    ],
    index: IndexOption,
    layout: Annotated[
        str,
        typer.Option(
            help="lines, hipporag or gfmrag-lines for their result files, gfmrag for all files of that package, or "
            "graphml, neo4j or jsonld for the graph."
        ),
    ] = "lines",
    questions: Annotated[
        Path | None, typer.Option(help="Questions with gold, written as test.json; with --layout gfmrag.")
    ] = None,
    where: WhereOption = None,
) -> None:
    """Write what extractors found, to be read again by `clew index --extractor published:FILE`."""
    known = (*LAYOUTS, *GRAPH_LAYOUTS, GFMRAG)
    if layout not in known:
        raise InputError(f"no layout is called {layout!r}; choose {', '.join(known[:-1])} or {known[-1]}")
    if where is not None and layout not in GRAPH_LAYOUTS:
        raise InputError(f"--where is for the layouts {', '.join(GRAPH_LAYOUTS)}, not {layout}: leave it out")
    if questions is not None and layout != GFMRAG:
        raise InputError(f"--questions are for the layout {GFMRAG}, not {layout}: leave them out")
    if layout in GRAPH_LAYOUTS:
        _export_graph(file, index, layout, where)
        return
    if layout == GFMRAG:
        _export_gfmrag(file, index, None if questions is None else load_questions(questions))
        return
    check_file("the file", file)
    table = PassageTable.open(index)
    with atomic_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(format_extractions(layout, _read_extracted(table)))
    failed = table.read(["failure"])["failure"]
    left_out = len(failed) - failed.null_count
    without = f", without {left_out} at which the extractor failed" if left_out else ""
    print(f"wrote what was found in {format_count(failed.null_count, 'passage')}{without}")


def _export_graph(place: Path, index: str, layout: str, where: str | None) -> None:
    """Write the entities and triples that a filter lets be seen."""
    check = check_folder if layout == NEO4J else check_file
    check("the folder" if layout == NEO4J else "the file", place)
    with progress_on_stderr() as progress:
        view = open_index(index, progress).graph_view(where)
    if layout == NEO4J:
        place.mkdir(parents=True, exist_ok=True)
        files = {place / NODES: write_nodes(view), place / RELATIONSHIPS: write_relationships(view)}
    else:
        files = {place: write_graphml(view) if layout == GRAPHML else write_jsonld(view)}
    for file, pieces in files.items():
        with atomic_file(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(pieces)
    counts = f"{format_count(len(view.entities), 'entity')}, {format_count(len(view.triples), 'triple')}"
    print(f"wrote {', '.join(file.name for file in files)}: {counts}")


def _export_gfmrag(folder: Path, index: str, questions: list[Question] | None) -> None:
    """Write documents, what extractors found, and the graph with its mentions, in the files of the package gfmrag."""
    check_folder("the folder", folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = PassageTable.open(index)
    with progress_on_stderr() as progress:
        snapshot = open_index(index, progress).snapshot
    passages = [snapshot.passage(position) for position in range(len(snapshot.passage_ids))]
    texts: dict[str, list[str]] = {}
    titles = {passage.document_id: passage.title for passage in passages if passage.title != passage.document_id}
    for passage in sorted(passages, key=lambda passage: (passage.document_id, passage.start)):
        texts.setdefault(passage.document_id, []).append(passage.text)
    documents = {id_: "\n".join(parts) for id_, parts in texts.items()}
    mentions = snapshot.mentions
    pairs = zip(mentions.row_indices().tolist(), mentions.indices.tolist(), strict=True)
    names, relations = list(snapshot.entities), list(snapshot.relations)
    triples = [(names[head], relations[relation], names[tail]) for head, relation, tail in snapshot.triples.tolist()]
    files = {
        "documents.json": format_documents(documents.items()),
        "openie_results.jsonl": "".join(format_extractions(GFMRAG_LINES, _read_documents(table, documents))),
        **format_stage1(
            snapshot.entities, triples, documents, ((snapshot.entities[e], passages[p].document_id) for p, e in pairs)
        ),
    }
    if titles:
        files[TITLES_FILE] = format_documents(sorted(titles.items()))
    if questions is not None:
        files["test.json"] = format_questions(questions)
    if not titles:
        (folder / TITLES_FILE).unlink(missing_ok=True)  # of an earlier export
    for name, text in files.items():
        write_text(folder / name, text)
    numbers = {"document": len(documents), "triple": len(triples), "mention": len(mentions.indices)}
    counts = ", ".join(format_count(number, noun) for noun, number in numbers.items())
    print(f"wrote {', '.join(files)}: {counts}")
    if not documents:
        print_note("the index holds facts and no documents, so that documents.json and the mentions are empty")


def _read_documents(table: PassageTable, documents: Mapping[str, str]) -> Iterator[ExtractedPassage]:
    """Yield what was found in each document, given with its text; one is left out if the extractor failed in it."""
    document_of = dict(zip(*(table.read([name])[name].to_pylist() for name in ("id", "document_id")), strict=True))
    counts = Counter(document_of.values())
    found: dict[str, list[Extraction]] = {}
    for passage in _read_extracted(table):
        found.setdefault(document_of[passage.id], []).append(passage.extraction)
    for id_, parts in found.items():
        if len(parts) == counts[id_]:
            mentions = tuple(mention for part in parts for mention in part.mentions)
            triples = tuple(dict.fromkeys(triple for part in parts for triple in part.triples))
            yield ExtractedPassage(id_, id_, documents[id_], Extraction(mentions, triples))


def _read_extracted(table: PassageTable) -> Iterator[ExtractedPassage]:
    """Yield the passages whose extraction succeeded, sorted by document and position."""
    rows = table.read()
    columns = (rows[name].to_pylist() for name in ("id", "title", "text", "failure"))
    for id_, title, text, failure, extraction in zip(*columns, read_extractions(rows), strict=True):
        if failure is None:
            yield ExtractedPassage(id_, title, text, extraction)
