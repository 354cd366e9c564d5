"""The graph of an index in three forms of others: GraphML, JSON-LD and the files of Neo4j's import.

`clew kg import` reads the same triples back, and networkx the same graph.

Source: Brandes et al., "GraphML Progress Report" (2002). Differs from the source: nothing.

Source: W3C, "JSON-LD 1.1" (2020). Differs from the source: nothing.

Source: the operations manual of Neo4j, "Import". Differs from the source: nothing.
"""

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from clew.graph.graph_view import GraphView

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML cannot hold
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="relation" for="edge" attr.name="relation" attr.type="string"/>
<key id="passages" for="edge" attr.name="passages" attr.type="string"/>
<graph edgedefault="directed">
"""


def write_graphml(view: GraphView) -> Iterator[str]:
    """Yield the pieces of the file; ids of passages are joined by spaces, and nodes go by their names."""
    labels = list(view.labels())
    ids = [quoteattr(_clean(label), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}) for label in labels]
    yield _HEAD
    for id_, label in zip(ids, labels, strict=True):
        yield f'<node id={id_}><data key="label">{escape(_clean(label))}</data></node>\n'
    for number, edge in enumerate(view.edges()):
        passages = f'<data key="passages">{escape(_clean(" ".join(edge.passages)))}</data>' if edge.passages else ""
        relation = f'<data key="relation">{escape(_clean(edge.relation))}</data>'
        yield f'<edge id="{number}" source={ids[edge.head]} target={ids[edge.tail]}>{relation}{passages}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


BASE = "urn:clew:"


def write_jsonld(view: GraphView) -> Iterator[str]:
    """Yield the pieces of the document; entities and relations are named by their names in IRIs."""
    labels = list(view.labels())
    context = {"label": "http://www.w3.org/2000/01/rdf-schema#label"}
    yield f'{{"@context": {json.dumps(context)}, "@graph": [\n'
    by_head: dict[int, dict[str, list[dict[str, str]]]] = {}
    for edge in view.edges():
        relations = by_head.setdefault(edge.head, {})
        relations.setdefault(_iri("relation", edge.relation), []).append({"@id": _iri("entity", labels[edge.tail])})
    for number, label in enumerate(labels):
        entity = {"@id": _iri("entity", label), "label": label, **by_head.get(number, {})}
        yield json.dumps(entity, ensure_ascii=False) + (",\n" if number + 1 < len(labels) else "\n")
    yield "]}\n"


def _iri(kind: str, name: str) -> str:
    return f"{BASE}{kind}:{quote(name, safe='')}"


NODES, RELATIONSHIPS = "nodes.csv", "relationships.csv"


def write_nodes(view: GraphView) -> Iterator[str]:
    """Yield the lines of `nodes.csv`."""
    yield from _lines([["id:ID", "name", ":LABEL"]])
    yield from _lines([str(number), label, "Entity"] for number, label in enumerate(view.labels()))


def write_relationships(view: GraphView) -> Iterator[str]:
    """Yield the lines of `relationships.csv`; a relation is the type, with the ids of its passages as a list."""
    yield from _lines([[":START_ID", ":END_ID", ":TYPE", "passages:string[]"]])
    for edge in view.edges():
        yield from _lines([[str(edge.head), str(edge.tail), edge.relation, ";".join(edge.passages)]])


def _lines(rows: "Iterator[list[str]] | list[list[str]]") -> Iterator[str]:
    for row in rows:
        line = StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        yield line.getvalue()
