"""The text of a subgraph for a reader.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), for a node table and an edge table as the text of a graph.
Differs from the source: cells are quoted as in CSV, so a text with a comma, quote or line break stays one cell.
"""

from dataclasses import dataclass

import numpy as np

from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph, TextualGraph


@dataclass(frozen=True, slots=True, eq=False)
class GraphContext:
    """The context that a reader gets with a question."""

    query: GraphQuery
    subgraph: Subgraph
    text: str


def full_subgraph(graph: TextualGraph) -> Subgraph:
    """Return the full graph as a subgraph."""
    return Subgraph(np.arange(len(graph.nodes), dtype=np.int32), np.arange(len(graph.edges), dtype=np.int32))


def textualise(graph: TextualGraph, subgraph: Subgraph) -> str:
    """Return a node table and an edge table as CSV, separated by an empty line; node ids are positions in the graph."""
    lines = ["node_id,node_attr"]
    lines += [f"{node},{_quote_cell(graph.nodes[node])}" for node in subgraph.nodes.tolist()]
    lines += ["", "src,edge_attr,dst"]
    ends = graph.edges[subgraph.edges].tolist()
    for edge, (source, target) in zip(subgraph.edges.tolist(), ends, strict=True):
        lines.append(f"{source},{_quote_cell(graph.relations[edge])},{target}")
    return "\n".join(lines) + "\n"


def build_context(query: GraphQuery, subgraph: Subgraph) -> GraphContext:
    """Return a subgraph as the context of a question's reader."""
    return GraphContext(query, subgraph, textualise(query.graph.graph, subgraph))


def _quote_cell(text: str) -> str:
    # Before Python 3.13 the csv module does not quote a lone carriage return, and cannot read it back.
    quoted = any(mark in text for mark in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted else text
