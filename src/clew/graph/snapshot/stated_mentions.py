"""Mentions of entities in passages that a user states beside those that extractors find."""

from dataclasses import replace

import numpy as np

from clew.arrays import IntArray
from clew.graph.csr import build_adjacency
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.walk_graph import entity_nodes, walk_graph


def with_mentions(snapshot: Snapshot, passages: IntArray, entities: IntArray) -> Snapshot:
    """Return a snapshot in which `passages` (m,) mention `entities` (m,), with weight 1, beside its own mentions."""
    old, count = snapshot.mentions, len(snapshot.entities)
    rows = np.concatenate([np.asarray(passages, dtype=np.int64), old.row_indices()])
    columns = np.concatenate([np.asarray(entities, dtype=np.int64), old.indices])
    weights = np.concatenate([np.ones(len(passages), dtype=np.float32), old.weights])
    # Of equal pairs the first stays, which is the stated one.
    _, first = np.unique(rows * count + columns, return_index=True)
    mentions = build_adjacency(rows[first], columns[first], weights[first], old.row_count)
    mentioned_in = mentions.transpose(count)
    nodes = entity_nodes(snapshot.title_entities, mentioned_in)
    return replace(
        snapshot,
        mentions=mentions,
        mentioned_in=mentioned_in,
        entity_nodes=nodes,
        walk=walk_graph(nodes, mentions),
    )
