"""Relational edges for message passing between nodes.

For a triple (head, relation, tail) the head receives messages from the tail through the relation, and the tail from the
head through its inverse. Two graphs can be built from a snapshot: of passages and the entities that join them, which
retrieval runs on; and of entities alone, as in the published GFM-RAG.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.1.
Differs from the source: passages may be nodes; an entity that is a passage's title is that passage.
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import row_pointers, run_starts
from clew.graph.ppr.node_table import find_slot, node_position, table_size
from clew.graph.snapshot.snapshot import Snapshot

MENTIONS_RELATION = "mentions"
EQUIVALENT_RELATION = "equivalent"  # as published, so that published checkpoints apply


@dataclass(frozen=True, slots=True, eq=False)
class RelationalEdges:
    """Directed edges grouped by receiver: n nodes, m edges, R relations."""

    indptr: LongArray  # (n + 1,) where the edges of each receiver begin
    senders: IntArray  # (m,) ascending within a receiver
    relations: IntArray  # (m,) below R for a relation, R and above for the inverse of relation minus R
    triples: IntArray  # (m,) the triple of an edge, -1 for a mention or an equivalence
    relation_count: int  # R; the last two are `MENTIONS_RELATION` and `EQUIVALENT_RELATION`

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.indptr) - 1

    @property
    def largest_degree(self) -> int:
        """The highest number of edges of a receiver; it reads all of them."""
        return int(np.diff(self.indptr).max(initial=0))


def relation_texts(snapshot: Snapshot, *, inverses: bool = False) -> list[str]:
    """Return the texts of the R relations of a snapshot's graphs, with `inverses` followed by those of the inverses."""
    texts = [*snapshot.relations, MENTIONS_RELATION, EQUIVALENT_RELATION]
    return [*texts, *map(inverse_text, texts)] if inverses else texts


def inverse_text(relation: str) -> str:
    """Return the text of a relation's inverse, as the authors of GFM-RAG write it."""
    return f"inverse_{relation}"


def stated_edge_mask(edges: RelationalEdges, positions: LongArray, snapshot: Snapshot, allowed: BoolArray) -> BoolArray:
    """Return for the edges at some positions (m,) whether they are stated by an allowed passage (P,).

    Mentions, equivalences and triples of an imported graph are always stated.
    """
    triples = edges.triples[positions]
    mask: BoolArray = triples < 0
    distinct = np.unique(triples[~mask])
    stated = snapshot.imported[distinct].copy()
    for position in np.flatnonzero(~stated):
        stated[position] = allowed[snapshot.triple_passages.row(int(distinct[position]))].any()
    mask[~mask] = stated[distinct.searchsorted(triples[~mask])]
    return mask


def passage_graph(snapshot: Snapshot) -> RelationalEdges:
    """Return the edges between the nodes of the walk graph: passages, and the entities that join several of them.

    A mention between nodes that a triple joins adds no edge; equivalent names are not joined, as in the walk graph.
    """
    nodes = snapshot.entity_nodes.astype(np.int64)
    heads, tails = nodes[snapshot.triples[:, 0]], nodes[snapshot.triples[:, 2]]
    passages, mentioned = snapshot.mentions.row_indices(), nodes[snapshot.mentions.indices]
    joined_by_triple = np.unique(np.concatenate([_pair_keys(heads, tails), _pair_keys(tails, heads)]))
    new = ~np.isin(_pair_keys(passages, mentioned), joined_by_triple)
    mention = len(snapshot.relations)
    return _build_edges(snapshot, (heads, tails), (passages[new], mentioned[new]), mention, snapshot.walk.row_count)


def entity_graph(snapshot: Snapshot) -> RelationalEdges:
    """Return the edges between entities alone: triples and equivalences."""
    ends = snapshot.triples[:, 0].astype(np.int64), snapshot.triples[:, 2].astype(np.int64)
    pairs = snapshot.equivalences.row_indices(), snapshot.equivalences.indices.astype(np.int64)
    return _build_edges(snapshot, ends, pairs, len(snapshot.relations) + 1, len(snapshot.entities))


def _pair_keys(one: LongArray, other: LongArray) -> LongArray:
    return (one << 32) | other


def _build_edges(
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


def induced_edges(edges: RelationalEdges, nodes: IntArray) -> tuple[IntArray, IntArray, LongArray]:
    """Return the edges between some nodes (n,), distinct and ascending, in the order of the full graph.

    These are senders (m,) and receivers (m,) as positions in `nodes`, and positions (m,) in `edges`.
    """
    induced: tuple[IntArray, IntArray, LongArray] = _select_induced(edges.indptr, edges.senders, nodes.astype(np.int32))
    return induced


@njit
def _select_induced(indptr, senders, nodes):  # type: ignore[no-untyped-def]
    slots = np.zeros(table_size(2 * len(nodes)), dtype=np.int64)
    capacity = 0
    for i in range(len(nodes)):
        slots[find_slot(slots, nodes[i])] = (np.int64(nodes[i]) + 1) << 32 | i
        capacity += indptr[nodes[i] + 1] - indptr[nodes[i]]
    sources, targets = np.empty(capacity, dtype=np.int32), np.empty(capacity, dtype=np.int32)
    positions = np.empty(capacity, dtype=np.int64)
    count = 0
    for i in range(len(nodes)):
        for edge in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            sender = node_position(slots, senders[edge])
            if sender >= 0:
                sources[count], targets[count], positions[count] = sender, i, edge
                count += 1
    return sources[:count].copy(), targets[:count].copy(), positions[:count].copy()
