"""A graph whose nodes and edges are texts, a part of it, and that part written out for a reader.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), for a node table and an edge table as the text of a graph.
Differs from the source: cells are quoted as CSV asks, so a text with a comma, a quote or a line's end stays one cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TextualGraph:
    """Nodes and edges with texts; parallel edges and loops are allowed.

    Attributes:
        nodes: (n,) texts.
        edges: (m, 2) positions of source and target among the nodes.
        relations: (m,) texts.
    """

    nodes: Sequence[str]
    edges: "IntArray"
    relations: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """A part of a textual graph.

    Attributes:
        nodes: (k,) positions, ascending.
        edges: (e,) positions of edges both of whose ends are among the nodes, ascending.
    """

    nodes: "IntArray"
    edges: "IntArray"


@dataclass(frozen=True, slots=True, eq=False)
class EncodedGraph:
    """A textual graph with the vectors of its texts.

    Attributes:
        graph: Itself.
        node_vectors: (n, d) unit rows of the node texts.
        relation_vectors: (r, d) unit rows of the distinct relation texts.
        edge_relations: (m,) row of each edge in `relation_vectors`.
    """

    graph: TextualGraph
    node_vectors: "FloatArray"
    relation_vectors: "FloatArray"
    edge_relations: "IntArray"


@dataclass(frozen=True, slots=True, eq=False)
class GraphQuery:
    """A question on an encoded graph.

    Attributes:
        graph: With vectors.
        question_vector: (d,) unit vector of the question; of a question that names nodes, without their names.
        topics: (t,) positions of the nodes that it names; may be empty.
        relation_relevance: (r,) how strongly some word of the question asks for each distinct relation, more than for
            the
            others; None where only the question as a whole is known.
    """

    graph: EncodedGraph
    question_vector: "FloatArray"
    topics: "IntArray"
    relation_relevance: "FloatArray | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class GraphContext:
    """What a reader is given beside a question.

    Attributes:
        query: The graph that the question is on, and its vectors.
        subgraph: What of it was selected.
        text: That part written out.
    """

    query: GraphQuery
    subgraph: Subgraph
    text: str


def induced_subgraph(graph: TextualGraph, nodes: "IntArray | Sequence[int]") -> Subgraph:
    """Return the nodes, each once, and all edges among them.

    Args:
        graph: Any.
        nodes: Positions, from 0 on, in any order.
    """
    chosen = np.unique(np.asarray(nodes, dtype=np.int32))
    inside: BoolArray = np.zeros(len(graph.nodes), dtype=np.bool_)
    inside[chosen] = True
    among = inside[graph.edges[:, 0]] & inside[graph.edges[:, 1]] if len(graph.edges) else np.zeros(0, dtype=np.bool_)
    return Subgraph(chosen, np.flatnonzero(among).astype(np.int32))


def full_subgraph(graph: TextualGraph) -> Subgraph:
    """Return all of a graph."""
    return Subgraph(np.arange(len(graph.nodes), dtype=np.int32), np.arange(len(graph.edges), dtype=np.int32))


def textualise(graph: TextualGraph, subgraph: Subgraph) -> str:
    """Return a node table and an edge table in CSV, an empty line between; nodes keep their positions as ids."""
    lines = ["node_id,node_attr"]
    lines += [f"{node},{_quote_cell(graph.nodes[node])}" for node in subgraph.nodes.tolist()]
    lines += ["", "src,edge_attr,dst"]
    ends = graph.edges[subgraph.edges].tolist()
    for edge, (source, target) in zip(subgraph.edges.tolist(), ends, strict=True):
        lines.append(f"{source},{_quote_cell(graph.relations[edge])},{target}")
    return "\n".join(lines) + "\n"


def build_context(query: GraphQuery, subgraph: Subgraph) -> GraphContext:
    """Return a part of the graph that a question is on as its reader's context."""
    return GraphContext(query, subgraph, textualise(query.graph.graph, subgraph))


def _quote_cell(text: str) -> str:
    # The csv module leaves a lone carriage return unquoted before Python 3.13, and cannot read it back.
    quoted = any(mark in text for mark in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted else text
