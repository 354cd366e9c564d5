"""The two files of Neo4j's `neo4j-admin database import`: nodes, and relationships.

Source: the operations manual of Neo4j, "Import". Differs from the source: nothing.
"""

import csv
from collections.abc import Iterator
from io import StringIO

from clew.graph.exports.view import GraphView

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
