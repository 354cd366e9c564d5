"""Graphs whose nodes and edges are texts, their subgraphs, and the text of a subgraph for a reader.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), for a node table and an edge table as the text of a graph.
Differs from the source: cells are quoted as in CSV, so a text with a comma, quote or line break stays one cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TextualGraph:
    """Nodes and edges with texts; parallel edges and loops are allowed."""

    nodes: Sequence[str]  # (n,) texts
    edges: IntArray  # (m, 2) positions of source and target among the nodes
    relations: Sequence[str]  # (m,) texts


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """A subgraph of a textual graph."""

    nodes: IntArray  # (k,) positions of nodes, ascending
    edges: IntArray  # (e,) positions of edges between these nodes, ascending


@dataclass(frozen=True, slots=True, eq=False)
class EncodedGraph:
    """A textual graph with the embeddings of its texts."""

    graph: TextualGraph
    node_vectors: FloatArray  # (n, d) unit rows of the node texts
    relation_vectors: FloatArray  # (r, d) unit rows of the distinct relation texts
    edge_relations: IntArray  # (m,) row of each edge in `relation_vectors`


@dataclass(frozen=True, slots=True, eq=False)
class GraphQuery:
    """A question about an encoded graph."""

    graph: EncodedGraph
    question_vector: FloatArray  # (d,) unit vector of the question, without the names of its topics
    topics: IntArray  # (t,) positions of the nodes that the question names; may be empty
    # (r,) highest relevance of a word of the question to each distinct relation, relative to the other relations; None
    # if only the embedding of the full question is known.
    relation_relevance: FloatArray | None = None
    # (d,) unit vector of the question with the names of its topics; None where it names none
    full_question_vector: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GraphContext:
    """The context that a reader gets with a question."""

    query: GraphQuery
    subgraph: Subgraph
    text: str


def induced_subgraph(graph: TextualGraph, nodes: IntArray | Sequence[int]) -> Subgraph:
    """Return the distinct nodes at some positions (s,), in any order, and all edges between them."""
    selected = np.unique(np.asarray(nodes, dtype=np.int32))
    inside: BoolArray = np.zeros(len(graph.nodes), dtype=np.bool_)
    inside[selected] = True
    between = inside[graph.edges].all(axis=1) if len(graph.edges) else np.zeros(0, dtype=np.bool_)
    return Subgraph(selected, np.flatnonzero(between).astype(np.int32))


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
