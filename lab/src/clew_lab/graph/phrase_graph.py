"""Graphs of HippoRAG: phrases joined by triples and synonyms, with the passages that mention them or without."""

import numpy as np

from clew.arrays import BoolArray, FloatArray, LongArray
from clew.graph.csr import Adjacency
from clew.graph.snapshot.snapshot import Snapshot
from clew_lab.graph.power_iteration import summed_adjacency


def build_phrase_graph(snapshot: Snapshot, allowed: BoolArray, synonyms: Adjacency) -> Adjacency:
    """Return passages 0 to P - 1 and phrases P to P + E - 1 with triple, mention and synonym edges, both ways.

    Only allowed passages (P,) state a triple or mention a phrase. A triple weighs the number of passages that state it,
    a mention 1, and a synonym, of those of each of E phrases, its similarity.
    """
    count = len(snapshot.passage_ids)
    passages = np.repeat(np.arange(count), snapshot.mentions.degrees())
    is_allowed = allowed[passages]
    phrases = snapshot.mentions.indices[is_allowed].astype(np.int64) + count
    one, two, weights = _phrase_pairs(snapshot, allowed, synonyms)
    mentions = np.concatenate([passages[is_allowed], phrases]), np.concatenate([phrases, passages[is_allowed]])
    rows = np.concatenate([mentions[0], one + count])
    columns = np.concatenate([mentions[1], two + count])
    ones = np.ones(2 * len(phrases), dtype=np.float32)
    return summed_adjacency(rows, columns, np.concatenate([ones, weights]), count + len(snapshot.entities))


def build_triple_graph(snapshot: Snapshot, allowed: BoolArray, synonyms: Adjacency) -> Adjacency:
    """Return the phrases (E,) alone, with the triple and synonym edges of `build_phrase_graph`."""
    return summed_adjacency(*_phrase_pairs(snapshot, allowed, synonyms), len(snapshot.entities))


def _phrase_pairs(
    snapshot: Snapshot, allowed: BoolArray, synonyms: Adjacency
) -> tuple[LongArray, LongArray, FloatArray]:
    """Return the ends of triple and synonym edges between phrases, in both directions, and their weights."""
    stated = snapshot.triple_passages
    triples = np.repeat(np.arange(stated.row_count), stated.degrees())[allowed[stated.indices]]
    triples = np.concatenate([triples, np.flatnonzero(snapshot.imported)])  # an imported graph states each triple once
    heads, tails = snapshot.triples[triples, 0].astype(np.int64), snapshot.triples[triples, 2].astype(np.int64)
    rows = np.concatenate([heads, tails, synonyms.row_indices()])  # synonyms are stored in both directions
    columns = np.concatenate([tails, heads, synonyms.indices.astype(np.int64)])
    ones = np.ones(2 * len(triples), dtype=np.float32)
    return rows, columns, np.concatenate([ones, synonyms.weights])
