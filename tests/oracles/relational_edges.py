"""Relational edges by sorting all of them at once."""

import numpy as np

from clew.arrays import LongArray
from clew.graph.csr import Adjacency, row_pointers, run_starts
from clew.graph.snapshot.relational_edges import RelationalEdges
from clew.graph.snapshot.snapshot import Snapshot


def passage_graph(snapshot: Snapshot) -> RelationalEdges:
    """Return the edges between the nodes of the walk graph: passages, and the entities that join several of them.

    A mention between nodes that a triple joins adds no edge; synonyms are not joined, as in the walk graph.
    """
    nodes = snapshot.entity_nodes.astype(np.int64)
    heads, tails = nodes[snapshot.triples[:, 0]], nodes[snapshot.triples[:, 2]]
    passages, mentioned = snapshot.mentions.row_indices(), nodes[snapshot.mentions.indices]
    joined_by_triple = np.unique(np.concatenate([_pair_keys(heads, tails), _pair_keys(tails, heads)]))
    new = ~np.isin(_pair_keys(passages, mentioned), joined_by_triple)
    mention = len(snapshot.relations)
    return _edges(snapshot, (heads, tails), (passages[new], mentioned[new]), mention, snapshot.walk.row_count)


def entity_graph(snapshot: Snapshot, synonyms: Adjacency) -> RelationalEdges:
    """Return the edges between entities alone: triples and synonyms."""
    ends = snapshot.triples[:, 0].astype(np.int64), snapshot.triples[:, 2].astype(np.int64)
    pairs = synonyms.row_indices(), synonyms.indices.astype(np.int64)
    return _edges(snapshot, ends, pairs, len(snapshot.relations) + 1, len(snapshot.entities))


def _pair_keys(one: LongArray, other: LongArray) -> LongArray:
    return (one << 32) | other


def _edges(
    snapshot: Snapshot,
    triple_ends: tuple[LongArray, LongArray],
    other_ends: tuple[LongArray, LongArray],
    other_relation: int,
    node_count: int,
) -> RelationalEdges:
    """Return the edges of the snapshot's triples and of other pairs of nodes, which all have one relation."""
    relation_count = len(snapshot.relations) + 2
    heads, tails = (np.concatenate([triple_ends[i], other_ends[i]]) for i in (0, 1))
    relations = np.concatenate([snapshot.triples[:, 1].astype(np.int64), np.full(len(other_ends[0]), other_relation)])
    triples = np.full(len(heads), -1, dtype=np.int32)
    triples[: len(triple_ends[0])] = np.arange(len(triple_ends[0]))
    proper = heads != tails
    heads, tails, relations, triples = heads[proper], tails[proper], relations[proper], triples[proper]
    receivers, senders = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    relations = np.concatenate([relations, relations + relation_count])
    triples = np.tile(triples, 2)
    order = np.lexsort((triples, relations, senders, receivers))
    receivers, senders, relations, triples = (a[order] for a in (receivers, senders, relations, triples))
    # Entities with one node may give several triples with the same ends and relation: they are one edge.
    first = run_starts(receivers, senders, relations)
    return RelationalEdges(
        row_pointers(receivers[first], node_count),
        senders[first].astype(np.int32),
        relations[first].astype(np.int32),
        triples[first].astype(np.int32),
        relation_count,
    )
