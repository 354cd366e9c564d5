"""Relational edges for message passing between nodes.

For a triple (head, relation, tail) the head receives messages from the tail through the relation, and the tail from the
head through its inverse. Nodes are passages and the entities that join them; the package `clew_lab` has the graphs of
entities as published.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.1.
Differs from the source: passages are nodes; an entity that is a passage's title is that passage.
"""

from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray, sort_distinct
from clew.arrays.kernels import njit
from clew.graph.node_table import find_slot, node_position, table_size
from clew.graph.snapshot.snapshot import Snapshot

MENTIONS_RELATION = "mentions"
_INSERTION_LIMIT = 32
EQUIVALENT_RELATION = "equivalent"  # as published, so that published checkpoints apply


@dataclass(frozen=True, slots=True, eq=False)
class RelationalEdges:
    """Directed edges grouped by receiver: n nodes, m edges, R relations."""

    indptr: LongArray  # (n + 1,) where the edges of each receiver begin
    senders: IntArray  # (m,) ascending within a receiver
    relations: IntArray  # (m,) below R for a relation, R and above for the inverse of relation minus R
    triples: IntArray  # (m,) the triple of an edge, -1 for a mention or a synonym
    relation_count: int  # R; the last two are `MENTIONS_RELATION` and `EQUIVALENT_RELATION`

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.indptr) - 1


def relation_texts(snapshot: Snapshot) -> list[str]:
    """Return the texts of the R relations of a snapshot's graphs."""
    return [*snapshot.relations, MENTIONS_RELATION, EQUIVALENT_RELATION]


def stated_edge_mask(edges: RelationalEdges, positions: LongArray, snapshot: Snapshot, allowed: BoolArray) -> BoolArray:
    """Return for the edges at some positions (m,) whether they are stated by an allowed passage (P,).

    Mentions, synonyms and triples of an imported graph are always stated.
    """
    triples = edges.triples[positions]
    mask: BoolArray = triples < 0
    distinct = sort_distinct(triples[~mask])
    stated = snapshot.imported[distinct].copy()
    for position in np.flatnonzero(~stated):
        stated[position] = allowed[snapshot.triple_passages.row(int(distinct[position]))].any()
    mask[~mask] = stated[distinct.searchsorted(triples[~mask])]
    return mask


def passage_graph(snapshot: Snapshot) -> RelationalEdges:
    """Return the edges between the nodes of the walk graph: passages, and the entities that join several of them.

    A mention between nodes that a triple joins adds no edge; equivalent names are not joined, as in the walk graph.
    """
    nodes, mention = snapshot.entity_nodes, len(snapshot.relations)
    return build_edges(snapshot, nodes, [mention_pairs(snapshot, nodes, mention)], snapshot.walk.row_count, weak=True)


def mention_pairs(snapshot: Snapshot, nodes: IntArray, relation: int) -> IntArray:
    """Return passage, relation and entity (m, 3) of the mentions, for the nodes (E,) of the entities."""
    mentioning = snapshot.mentions.row_indices().astype(np.int32)
    return np.column_stack([mentioning, np.full_like(mentioning, relation), nodes[snapshot.mentions.indices]])


def build_edges(
    snapshot: Snapshot, nodes: IntArray, others: list[IntArray], node_count: int, *, weak: bool
) -> RelationalEdges:
    """Return the edges of the snapshot's triples between the nodes (E,) of its entities, and of other pairs of nodes.

    The other pairs (m, 3) have their relation between them; if they are weak, one that a triple joins is left out.
    """
    relation_count = len(snapshot.relations) + 2
    indptr, senders, relations, triples = _group_edges(
        snapshot.triples, nodes, np.concatenate(others), relation_count, node_count, weak
    )
    return RelationalEdges(indptr, senders, relations, triples, relation_count)


@njit
def _place_edge(cursor, receiver, sender, relation, triple, senders, relations, triples):  # type: ignore[no-untyped-def]
    to = cursor[receiver]
    senders[to], relations[to], triples[to] = sender, relation, triple
    cursor[receiver] = to + 1


@njit
def _group_edges(  # type: ignore[no-untyped-def]  # noqa: C901
    stated, nodes, others, relation_count, node_count, weak
):
    """Group edges by receiver, each group ascending by sender and relation; of equal ones the first triple stays.

    Entities with one node may give several triples with the same ends and relation: they are one edge.
    """
    starts = np.zeros(node_count + 1, dtype=np.int64)
    for i in range(len(stated)):
        head, tail = nodes[stated[i, 0]], nodes[stated[i, 2]]
        if head != tail:
            starts[head + 1] += 1
            starts[tail + 1] += 1
    for i in range(len(others)):
        if others[i, 0] != others[i, 2]:
            starts[others[i, 0] + 1] += 1
            starts[others[i, 2] + 1] += 1
    for node in range(node_count):
        starts[node + 1] += starts[node]
    size = starts[node_count]
    senders, relations = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    triples = np.empty(size, dtype=np.int32)
    cursor = starts[:-1].copy()
    for i in range(len(stated)):
        head, tail, relation = nodes[stated[i, 0]], nodes[stated[i, 2]], stated[i, 1]
        if head != tail:
            _place_edge(cursor, head, tail, relation, i, senders, relations, triples)
            _place_edge(cursor, tail, head, relation + relation_count, i, senders, relations, triples)
    for i in range(len(others)):
        one, relation, other = others[i, 0], others[i, 1], others[i, 2]
        if one != other:
            _place_edge(cursor, one, other, relation, -1, senders, relations, triples)
            _place_edge(cursor, other, one, relation + relation_count, -1, senders, relations, triples)
    indptr = np.zeros(node_count + 1, dtype=np.int64)
    count = 0
    for node in range(node_count):
        begin, end = starts[node], starts[node + 1]
        _sort_edges(senders[begin:end], relations[begin:end], triples[begin:end])
        edge = begin
        while edge < end:
            stop, joined = edge, False
            sender = senders[edge]
            while stop < end and senders[stop] == sender:
                joined = joined or triples[stop] >= 0
                stop += 1
            last = -1  # writing may overwrite the edge before
            for i in range(edge, stop):
                is_repeated = relations[i] == last
                last = relations[i]
                if not is_repeated and not (weak and joined and triples[i] < 0):
                    senders[count], relations[count], triples[count] = senders[i], relations[i], triples[i]
                    count += 1
            edge = stop
        indptr[node + 1] = count
    return indptr, senders[:count].copy(), relations[:count].copy(), triples[:count].copy()


@njit
def _sort_edges(senders, relations, triples):  # type: ignore[no-untyped-def]
    """Sort by sender and relation, stably."""
    size = len(senders)
    if size > _INSERTION_LIMIT:
        keys = senders.astype(np.int64) << 32 | relations.astype(np.int64)
        order = np.argsort(keys, kind="mergesort")
        senders[:], relations[:], triples[:] = senders[order], relations[order], triples[order]
        return
    for i in range(1, size):
        sender, relation, triple = senders[i], relations[i], triples[i]
        j = i
        while j > 0 and (senders[j - 1] > sender or (senders[j - 1] == sender and relations[j - 1] > relation)):
            senders[j], relations[j], triples[j] = senders[j - 1], relations[j - 1], triples[j - 1]
            j -= 1
        senders[j], relations[j], triples[j] = sender, relation, triple


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
