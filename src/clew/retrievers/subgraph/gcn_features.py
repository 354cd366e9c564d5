"""What is known of the nodes of a question graph before anything is learned: their texts, their relations, a walk.

The walk starts at what the question names (where it names nothing, at the nodes that are like it) and takes edges,
whichever way they point, the oftener the more the question asks for their relation.

Source: GCN-Retriever (Engel and Park, 2024), section 3.3, for the vectors of the nodes' texts alone (`TEXT`).
Differs from the source: `QUESTION` adds the relations around a node and where it stands to the question.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from clew.graph.subgraphs.textual_graph import GraphQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, LongArray

    DoubleArray = NDArray[np.float64]

TEXT, QUESTION = "text", "question"
WALK_STEPS = 4
_TEMPERATURE = 0.15  # what a likeness is divided by to be the logarithm of a weight
_MIN_SHARE = 1e-6  # share of the walk below which nodes are equally far
SCALAR_COUNT = 6 + WALK_STEPS


def feature_width(kind: str, dimension: int) -> int:
    """Return how many numbers are known of a node whose text has a vector of some dimension."""
    return dimension if kind == TEXT else 2 * dimension + SCALAR_COUNT


def node_similarities(asked: GraphQuery) -> "FloatArray":
    """Return the cosine (n,) of every node's text with the question."""
    return np.asarray(asked.graph.node_vectors @ asked.question_vector, dtype=np.float32)


def walk_shares(asked: GraphQuery) -> "FloatArray":
    """Return the share (STEPS + 1, n) of a walk that is at each node after so many steps.

    What comes to a node without edges is lost with the next step; all else adds up to 1.
    """
    count = len(asked.graph.node_vectors)
    shares = np.zeros((WALK_STEPS + 1, count), dtype=np.float32)
    if not count:
        return shares
    here = _start_distribution(asked)
    shares[0] = here
    froms, tos, relations = _directed_steps(asked)
    if not len(froms):
        return shares
    worth = relation_relevance(asked)[relations].astype(np.float64) / _TEMPERATURE
    weights = np.exp(worth - worth.max())
    weights /= np.bincount(froms, weights, count)[froms]
    for step in range(WALK_STEPS):
        here = np.asarray(np.bincount(tos, weights * here[froms], count), dtype=np.float64)
        shares[step + 1] = here
    return shares


def walk_prior(shares: "FloatArray") -> "FloatArray":
    """Return the logarithm (n,) of the greatest share of the walk (STEPS + 1, n) that is at each node at some step."""
    greatest: FloatArray = shares.max(axis=0)
    return np.log(np.maximum(greatest, _MIN_SHARE))


def relation_relevance(asked: GraphQuery) -> "FloatArray":
    """Return how strongly the question asks for each distinct relation, (r,)."""
    if asked.relation_relevance is not None:
        return asked.relation_relevance
    return np.asarray(asked.graph.relation_vectors @ asked.question_vector, dtype=np.float32)


def node_features(asked: GraphQuery, kind: str, shares: "FloatArray") -> "FloatArray":
    """Return what is known of every node (n, `width`).

    Args:
        asked: The question on its graph.
        kind: `TEXT` for the vectors of the nodes alone; `QUESTION` for those, the mean of the relations around each
            node, and `SCALARS` numbers that say where it stands to the question: its cosine, the same less the mean
            over the nodes, whether it is named, how strongly the relation around it that is asked for most is (0 at
            least), the logarithm of its edges, and the walk's shares, the greatest first, as 0 (none) to 1 (all).
        shares: (STEPS + 1, n) of the walk.
    """
    nodes = asked.graph.node_vectors
    if kind == TEXT:
        return nodes
    count, dimension = nodes.shape
    froms, _, relations = _directed_steps(asked)
    degrees = np.bincount(froms, minlength=count)
    found = np.zeros((count, feature_width(kind, dimension)), dtype=np.float32)
    found[:, :dimension] = nodes
    if len(froms):
        order = np.argsort(froms, kind="stable")
        rows = np.concatenate([[0], np.cumsum(degrees)])
        each = (1.0 / degrees[froms[order]]).astype(np.float32)
        around = sparse.csr_matrix((each, relations[order], rows), shape=(count, len(asked.graph.relation_vectors)))
        found[:, dimension : 2 * dimension] = around @ asked.graph.relation_vectors
    alike, scalars = node_similarities(asked), found[:, 2 * dimension :]
    scalars[:, 0] = alike
    scalars[:, 1] = alike - (alike.mean() if count else 0.0)
    scalars[asked.topics, 2] = 1.0
    np.maximum.at(scalars[:, 3], froms, relation_relevance(asked)[relations])
    scalars[:, 4] = np.log1p(degrees)
    logs = 1.0 - np.log(np.maximum(shares, _MIN_SHARE)) / np.log(_MIN_SHARE)
    scalars[:, 5] = logs.max(axis=0)
    scalars[:, 6:] = logs[1:].T
    return found


def node_offsets(counts: Sequence[int]) -> "LongArray":
    """Return where the nodes of each graph begin, and where the last ends, when graphs lie side by side."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _start_distribution(asked: GraphQuery) -> "DoubleArray":
    start = np.zeros(len(asked.graph.node_vectors))
    named = np.unique(asked.topics)
    if len(named):
        start[named] = 1.0 / len(named)
        return start
    alike = node_similarities(asked).astype(np.float64) / _TEMPERATURE
    start = np.exp(alike - alike.max())
    return np.asarray(start / start.sum())


def _directed_steps(asked: GraphQuery) -> "tuple[LongArray, LongArray, LongArray]":
    """Return where every step comes from, where it leads and its relation: edges both ways, loops once."""
    edges = asked.graph.graph.edges.reshape(-1, 2).astype(np.int64)
    relations = asked.graph.edge_relations.astype(np.int64)
    proper = edges[:, 0] != edges[:, 1]
    back = edges[proper]
    return (
        np.concatenate([edges[:, 0], back[:, 1]]),
        np.concatenate([edges[:, 1], back[:, 0]]),
        np.concatenate([relations, relations[proper]]),
    )
