"""Node features of a question graph: texts, relations, and a walk from the named nodes.

The walk starts at the nodes that the question names (where it names none, at nodes similar to it) and takes edges in
both directions, with probabilities that grow with the relevance of their relations.

Source: GCN-Retriever (Engel and Park, 2024), section 3.3, for the vectors of the nodes' texts alone (`TEXT`).
Differs from the source: `QUESTION` adds the relations around a node and its position relative to the question.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from clew.arrays import DoubleArray, FloatArray, LongArray
from clew.graph.subgraphs.textual_graph import GraphQuery
from clew.inference.relational_sums import FIRST, EdgeGroups, sum_messages
from clew.retrievers.subgraph.encoding import node_similarity

TEXT: Final = "text"
QUESTION: Final = "question"
WALK_STEPS = 4
_TEMPERATURE = 0.15  # divisor of a similarity, for the logarithm of a weight
_MIN_SHARE = 1e-6  # shares of the walk below it count as equal
SCALAR_COUNT = 6 + WALK_STEPS


def feature_width(kind: str, dimension: int) -> int:
    """Return the number of features of a node, given the dimension of the vectors."""
    return dimension if kind == TEXT else 2 * dimension + SCALAR_COUNT


def walk_shares(query: GraphQuery) -> FloatArray:
    """Return the share (WALK_STEPS + 1, n) of a walk at each node after each number of steps.

    The share of a node without edges is lost with the next step; all else adds up to 1.
    """
    count = len(query.graph.node_vectors)
    shares = np.zeros((WALK_STEPS + 1, count), dtype=np.float32)
    if not count:
        return shares
    current = _start_distribution(query)
    shares[0] = current
    sources, targets, relations = _directed_steps(query)
    if not len(sources):
        return shares
    logits = relation_relevance(query)[relations].astype(np.float64) / _TEMPERATURE
    weights = np.exp(logits - logits.max())
    weights /= np.bincount(sources, weights, count)[sources]
    for step in range(WALK_STEPS):
        current = np.asarray(np.bincount(targets, weights * current[sources], count), dtype=np.float64)
        shares[step + 1] = current
    return shares


def walk_prior(shares: FloatArray) -> FloatArray:
    """Return the logarithm (n,) of the greatest share of the walk (WALK_STEPS + 1, n) at each node."""
    greatest: FloatArray = shares.max(axis=0)
    return np.log(np.maximum(greatest, _MIN_SHARE))


def relation_relevance(query: GraphQuery) -> FloatArray:
    """Return the relevance (r,) of each distinct relation to the question."""
    if query.relation_relevance is not None:
        return query.relation_relevance
    return np.asarray(query.graph.relation_vectors @ query.question_vector, dtype=np.float32)


def node_features(query: GraphQuery, kind: str, shares: FloatArray) -> FloatArray:
    """Return the features (n, `feature_width`) of every node, given its `walk_shares` (WALK_STEPS + 1, n).

    They are for `TEXT` the vectors of the nodes alone; for `QUESTION` those, the mean of the relations around each
    node, and `SCALAR_COUNT` numbers: its cosine to the question, the same less the mean over the nodes, whether it is
    named, the greatest relevance of a relation around it (at least 0), the logarithm of its number of edges, and the
    walk's shares, the greatest first, on a logarithmic scale from 0 (none) to 1 (all).
    """
    nodes = query.graph.node_vectors
    if kind == TEXT:
        return nodes
    count, dimension = nodes.shape
    sources, _, relations = _directed_steps(query)
    degrees = np.bincount(sources, minlength=count)
    features = np.zeros((count, feature_width(kind, dimension)), dtype=np.float32)
    features[:, :dimension] = nodes
    if len(sources):
        order = np.argsort(sources, kind="stable")
        rows = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        inverse_degrees = (1.0 / degrees[sources[order]]).astype(np.float32)
        around = relations[order].astype(np.int64)
        groups = EdgeGroups(rows, np.arange(len(order)), around, around)
        vectors = np.ascontiguousarray(query.graph.relation_vectors, dtype=np.float32)
        features[:, dimension : 2 * dimension] = sum_messages(groups, inverse_degrees, vectors, vectors, FIRST)
    similarity, scalars = node_similarity(query), features[:, 2 * dimension :]
    scalars[:, 0] = similarity
    scalars[:, 1] = similarity - (similarity.mean() if count else 0.0)
    scalars[query.topics, 2] = 1.0
    np.maximum.at(scalars[:, 3], sources, relation_relevance(query)[relations])
    scalars[:, 4] = np.log1p(degrees)
    log_shares = 1.0 - np.log(np.maximum(shares, _MIN_SHARE)) / np.log(_MIN_SHARE)
    scalars[:, 5] = log_shares.max(axis=0)
    scalars[:, 6:] = log_shares[1:].T
    return features


def node_offsets(counts: Sequence[int]) -> LongArray:
    """Return where the nodes of each of b graphs start in a batch, and the end of the last, (b + 1,)."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _start_distribution(query: GraphQuery) -> DoubleArray:
    start = np.zeros(len(query.graph.node_vectors))
    named = np.unique(query.topics)
    if len(named):
        start[named] = 1.0 / len(named)
        return start
    logits = node_similarity(query).astype(np.float64) / _TEMPERATURE
    start = np.exp(logits - logits.max())
    return np.asarray(start / start.sum())


def _directed_steps(query: GraphQuery) -> tuple[LongArray, LongArray, LongArray]:
    """Return source, target and relation of every step: edges both ways, loops once."""
    edges = query.graph.graph.edges.reshape(-1, 2).astype(np.int64)
    relations = query.graph.edge_relations.astype(np.int64)
    is_no_loop = edges[:, 0] != edges[:, 1]
    reversed_edges = edges[is_no_loop]
    return (
        np.concatenate([edges[:, 0], reversed_edges[:, 1]]),
        np.concatenate([edges[:, 1], reversed_edges[:, 0]]),
        np.concatenate([relations, relations[is_no_loop]]),
    )
