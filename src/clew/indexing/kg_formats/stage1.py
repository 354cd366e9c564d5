"""The graph of the package gfmrag: a folder with `nodes.csv`, `relations.csv` and `edges.csv`, its stage 1.

    file           columns                               read as
    nodes.csv      name, type, attributes                nodes of the type document are places, all others entities
    relations.csv  name, attributes                      relations without an edge are written, and not read
    edges.csv      source, relation, target, attributes  triples of entities; an edge of an entity and a document is a
                                                         mention

Source: the documentation and the code of the authors' package gfmrag (G-reasoner). A document is written with its
content, which that code embeds, as the literal of a Python dictionary, which it parses. A name may be that of one node
alone there: an entity called exactly as a document is written in lower case, or where that is a document too, with
` (entity)` behind it. Differs from the source: attributes are not read, and edges between two documents are left out
and counted as malformed.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

from clew.indexing.kg_formats.statements import (
    EntityMention,
    EntityNames,
    MalformedStatement,
    RawTriple,
    Statement,
    find_name_fault,
)
from clew.indexing.kg_formats.tables import find_text_fault
from clew.text.counts import format_count

NODES, RELATIONS, EDGES = "nodes.csv", "relations.csv", "edges.csv"
DOCUMENT, ENTITY, MENTION = "document", "entity", "is_mentioned_in"


def is_stage1(path: Path) -> bool:
    """Return whether a path is a folder of this layout."""
    return (path / NODES).is_file() and (path / EDGES).is_file()


def read_stage1(folder: Path, encoding: str = "utf-8") -> Iterator[Statement]:
    """Yield the entities of a folder, its triples and its mentions; a row that cannot be used is malformed."""
    documents: set[str] = set()
    names: set[str] = set()
    for place, cells in _read_rows(folder / NODES, ("name", "type"), encoding):
        if isinstance(cells, str):
            yield MalformedStatement(place, cells)
        elif cells[1].casefold() == DOCUMENT:
            documents.add(cells[0])
        else:
            names.add(cells[0])
            yield EntityNames(cells[0], cells[0], is_listed=True)
    for place, cells in _read_rows(folder / EDGES, ("source", "relation", "target"), encoding):
        if isinstance(cells, str):
            yield MalformedStatement(place, cells)
            continue
        source, relation, target = cells
        if unknown := [name for name in (source, target) if name not in documents and name not in names]:
            yield MalformedStatement(place, f"the node {unknown[0]!r} is not in {NODES}")
        elif relation == MENTION and source in names and target in documents:
            yield EntityMention(source, target)  # also where an entity has the name of the document
        elif source in names and target in names:
            yield source, relation, target
        elif source not in names and target not in names:
            yield MalformedStatement(place, "an edge between two documents, which is not read")
        else:
            yield EntityMention(source, target) if source in names else EntityMention(target, source)


def format_stage1(
    entities: Iterable[str],
    triples: Iterable[RawTriple],
    documents: Mapping[str, str],
    mentions: Iterable[tuple[str, str]],
) -> dict[str, str]:
    """Return the text of each file; documents have their texts, mentions are pairs of an entity and a document."""

    def own_name(entity: str) -> str:
        free = (name for name in (entity, entity.lower(), f"{entity} (entity)") if name not in documents)
        return next(free, f"{entity} ({ENTITY}) ({ENTITY})")

    stated = sorted({(own_name(head), relation, own_name(tail)) for head, relation, tail in triples})
    rows: dict[str, Sequence[tuple[str, ...]]] = {
        NODES: [(name, ENTITY, "{}") for name in sorted({*map(own_name, entities)})]
        + [(name, DOCUMENT, repr({"content": documents[name]})) for name in sorted(documents)],
        RELATIONS: [(name, "{}") for name in sorted({*(relation for _, relation, _ in stated), MENTION})],
        EDGES: [(*triple, "{}") for triple in stated]
        + [(one, MENTION, document, "{}") for one, document in sorted({(own_name(e), d) for e, d in mentions})],
    }
    heads = {NODES: ("name", "type"), RELATIONS: ("name",), EDGES: ("source", "relation", "target")}
    texts = {}
    for name, own in rows.items():
        stream = StringIO(newline="")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow((*heads[name], "attributes"))
        writer.writerows(own)
        texts[name] = stream.getvalue()
    return texts


def _read_rows(path: Path, columns: tuple[str, ...], encoding: str) -> Iterator[tuple[str, tuple[str, ...] | str]]:
    """Yield the place of each row with its cells under some columns, or with what is wrong with it."""
    with path.open(
        encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="", errors="surrogateescape"
    ) as file:
        rows = csv.reader(file)
        header = [cell.strip().casefold() for cell in next(rows, [])]
        if missing := [name for name in columns if name not in header]:
            yield f"{path.name}:1", f"no column is called {missing[0]!r}; the header is {json.dumps(header)}"
            return
        places = [header.index(name) for name in columns]
        while True:
            number = rows.line_num + 1
            try:
                row = next(rows, None)
            except csv.Error as error:
                yield f"{path.name}:{number}", f"not a row of a table: {error}; check its quotes"
                continue
            if row is None:
                return
            if not any(map(str.strip, row)):
                continue
            if len(row) <= max(places):
                count = format_count(len(row), "cell")
                yield f"{path.name}:{number}", f"{count}, wanted {len(header)}: {', '.join(header)}"
                continue
            cells = tuple(row[place].strip() for place in places)
            fault = next(filter(None, map(find_text_fault, cells)), "") or find_name_fault(*cells)
            yield f"{path.name}:{number}", fault or cells
