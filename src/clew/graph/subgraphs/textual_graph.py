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
        nodes: (n, d) unit rows of the node texts.
        relations: (r, d) unit rows of the distinct relation texts.
        relation_of: (m,) row of each edge in `relations`.
    """

    graph: TextualGraph
    nodes: "FloatArray"
    relations: "FloatArray"
    relation_of: "IntArray"


@dataclass(frozen=True, slots=True, eq=False)
class AskedGraph:
    """A question on an encoded graph.

    Attributes:
        graph: With vectors.
        question: (d,) unit vector of the question; of a question that names nodes, without their names.
        topics: (t,) positions of the nodes that it names; may be empty.
        relevance: (r,) how strongly some word of the question asks for each distinct relation, more than for the
            others; None where only the question as a whole is known.
    """

    graph: EncodedGraph
    question: "FloatArray"
    topics: "IntArray"
    relevance: "FloatArray | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class GraphContext:
    """What a reader is given beside a question.

    Attributes:
        asked: The graph that the question is on, and its vectors.
        part: What of it was selected.
        text: That part written out.
    """

    asked: AskedGraph
    part: Subgraph
    text: str


def induced(graph: TextualGraph, nodes: "IntArray | Sequence[int]") -> Subgraph:
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


def whole(graph: TextualGraph) -> Subgraph:
    """Return all of a graph."""
    return Subgraph(np.arange(len(graph.nodes), dtype=np.int32), np.arange(len(graph.edges), dtype=np.int32))


def textualised(graph: TextualGraph, part: Subgraph) -> str:
    """Return a node table and an edge table in CSV, an empty line between; nodes keep their positions as ids."""
    lines = ["node_id,node_attr"]
    lines += [f"{node},{_cell(graph.nodes[node])}" for node in part.nodes.tolist()]
    lines += ["", "src,edge_attr,dst"]
    ends = graph.edges[part.edges].tolist()
    for edge, (source, target) in zip(part.edges.tolist(), ends, strict=True):
        lines.append(f"{source},{_cell(graph.relations[edge])},{target}")
    return "\n".join(lines) + "\n"


def context_of(asked: AskedGraph, part: Subgraph) -> GraphContext:
    """Return a part of the graph that a question is on as its reader's context."""
    return GraphContext(asked, part, textualised(asked.graph.graph, part))


def _cell(text: str) -> str:
    # The csv module leaves a lone carriage return unquoted before Python 3.13, and cannot read it back.
    quoted = any(mark in text for mark in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted else text
