"""The graph of the random walk: passages, and the entities that join several of them.

A node is a passage or an entity. An entity that only one passage mentions, or that titles exactly one passage, is
represented by that passage: a node of its own would only return its probability. Edges join a passage with the entities
it mentions, in both directions. Equivalent names are not joined: that leads from one Henry to the next
(docs/decisions.md).
"""

import numpy as np

from clew.arrays import IntArray
from clew.graph.csr import Adjacency, build_adjacency


def entity_nodes(title_entities: IntArray, mentioned_in: Adjacency) -> IntArray:
    """Return the node (E,) of every entity: a passage's position, or P and above for a node of its own.

    `title_entities` (P,) is the entity that titles a passage, -1 for none; `mentioned_in` has E rows of passages.
    """
    count = mentioned_in.row_count
    titled = np.flatnonzero(title_entities >= 0)
    title_counts = np.bincount(title_entities[titled], minlength=count)
    title_passages = np.full(count, -1, dtype=np.int64)
    title_passages[title_entities[titled]] = titled
    nodes = np.full(count, -1, dtype=np.int64)
    single = mentioned_in.degrees() == 1
    nodes[single] = mentioned_in.indices[mentioned_in.indptr[:-1][single]]
    nodes[title_counts == 1] = title_passages[title_counts == 1]
    own = nodes < 0
    nodes[own] = len(title_entities) + np.arange(int(own.sum()))
    return nodes.astype(np.int32)


def walk_graph(nodes: IntArray, mentions: Adjacency) -> Adjacency:
    """Return the edges between `entity_nodes` (E,) in both directions, without loops, from P rows of mentions."""
    passages, entities = mentions.row_indices(), nodes[mentions.indices].astype(np.int64)
    proper = passages != entities
    passages, entities, weights = passages[proper], entities[proper], np.tile(mentions.weights[proper], 2)
    count = max(mentions.row_count, int(nodes.max(initial=-1)) + 1)
    return build_adjacency(np.concatenate([passages, entities]), np.concatenate([entities, passages]), weights, count)
