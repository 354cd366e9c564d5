"""JSON-LD 1.1: an object for each entity, with its triples as properties in a vocabulary of the index's own.

Source: W3C, "JSON-LD 1.1" (2020). Differs from the source: nothing.
"""

import json
from collections.abc import Iterator
from urllib.parse import quote

from clew.graph.exports.view import GraphView

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
