"""The graph that a random walk moves on: passages, and the entities that join several of them.

A node is a passage or an entity. An entity that only one passage knows, or that is the title of one passage alone, *is*
that passage: it would send back what it gets. Edges join a passage with what it mentions and are walked both ways.
Equivalent names are not joined: that leads from one Henry to the next (docs/decisions.md).
"""

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.csr import Adjacency, build_adjacency

if TYPE_CHECKING:
    from clew.types import IntArray


def entity_nodes(title_entities: "IntArray", mentioned_in: Adjacency) -> "IntArray":
    """Return the node (E,) of every entity: a passage's position, or P and above for a node of its own.

    Args:
        title_entities: (P,) the entity that titles a passage, -1 for none.
        mentioned_in: E rows of passages.
    """
    count = mentioned_in.row_count
    titled = title_entities[title_entities >= 0]
    times = np.bincount(titled, minlength=count)
    titles = np.full(count, -1, dtype=np.int64)
    titles[titled] = np.flatnonzero(title_entities >= 0)
    degrees = mentioned_in.degrees()
    nodes = np.full(count, -1, dtype=np.int64)
    single = degrees == 1
    nodes[single] = mentioned_in.indices[mentioned_in.indptr[:-1][single]]
    nodes[times == 1] = titles[times == 1]
    own = nodes < 0
    nodes[own] = len(title_entities) + np.arange(int(own.sum()))
    return nodes.astype(np.int32)


def walk_graph(nodes: "IntArray", mentions: Adjacency) -> Adjacency:
    """Return the walk's edges between nodes, both ways, without loops.

    Args:
        nodes: (E,) from `entity_nodes`.
        mentions: P rows of entities, weighted.
    """
    one = np.repeat(np.arange(mentions.row_count, dtype=np.int64), mentions.degrees())
    other = nodes[mentions.indices].astype(np.int64)
    weights = mentions.weights
    apart = one != other
    one, other, weights = one[apart], other[apart], weights[apart]
    count = max(mentions.row_count, int(nodes.max(initial=-1)) + 1)
    return build_adjacency(np.concatenate([one, other]), np.concatenate([other, one]), np.tile(weights, 2), count)
