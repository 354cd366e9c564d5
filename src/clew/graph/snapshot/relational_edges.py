"""The edges that messages pass along: who hears whom, through which relation.

For a triple (head, relation, tail) the head hears the tail through the relation, and the tail hears the head through
its inverse. Two graphs can be made of one snapshot: of passages and the entities that join them, which is where
retrieval happens; and of entities alone, as in the published GFM-RAG.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.1.
Differs from the source: passages may be nodes; an entity that is a passage's title is that passage.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from clew.graph.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from clew.types import BoolArray, IntArray, LongArray

MENTIONS_RELATION = "mentions"
EQUIVALENT_RELATION = "equivalent"  # as published; imported networks read it


@dataclass(frozen=True, slots=True, eq=False)
class RelationalEdges:
    """Directed edges by the node that hears: n nodes, m edges, R relations.

    Attributes:
        indptr: (n + 1,) where the edges of a receiver begin.
        senders: (m,) ascending within a receiver.
        relations: (m,) below R for a relation, R and above for the inverse of relation minus R.
        triples: (m,) the triple an edge stands for, -1 for a mention or an equivalence.
        relation_count: R; the last two are `MENTIONS` and `EQUIVALENT`.
    """

    indptr: "LongArray"
    senders: "IntArray"
    relations: "IntArray"
    triples: "IntArray"
    relation_count: int

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.indptr) - 1


def relation_texts(snapshot: Snapshot, *, inverses: bool = False) -> list[str]:
    """Return the texts of the R relations of a snapshot's graphs, and those of their inverses after them when asked."""
    texts = [*snapshot.relations, MENTIONS_RELATION, EQUIVALENT_RELATION]
    return [*texts, *map(inverse_text, texts)] if inverses else texts


def inverse_text(relation: str) -> str:
    """Return the text of a relation's inverse, as the authors of GFM-RAG write it."""
    return f"inverse_{relation}"


def stated_edge_mask(
    edges: RelationalEdges, positions: "LongArray", snapshot: Snapshot, allowed: "BoolArray"
) -> "BoolArray":
    """Return for some edges (m,) whether an allowed passage (P,) states them.

    What is no triple, or stands in an imported graph, counts as stated.
    """
    triples = edges.triples[positions]
    kept: BoolArray = triples < 0
    asked = np.unique(triples[~kept])
    open_ = snapshot.imported[asked].copy()
    for place in np.flatnonzero(~open_):
        open_[place] = allowed[snapshot.triple_passages.row(int(asked[place]))].any()
    kept[~kept] = open_[asked.searchsorted(triples[~kept])]
    return kept


def passage_graph(snapshot: Snapshot) -> RelationalEdges:
    """Return the edges between the nodes of the walk: passages, and the entities that join several of them.

    As in the walk, equivalent names are not joined.
    """
    nodes = snapshot.entity_nodes.astype(np.int64)
    heads, tails = nodes[snapshot.triples[:, 0]], nodes[snapshot.triples[:, 2]]
    passages = np.repeat(np.arange(snapshot.mentions.row_count, dtype=np.int64), snapshot.mentions.degrees())
    mentioned = nodes[snapshot.mentions.indices]
    told = np.unique(np.concatenate([_pair_keys(heads, tails), _pair_keys(tails, heads)]))
    untold = ~np.isin(_pair_keys(passages, mentioned), told)
    none = np.zeros(0, dtype=np.int64)
    return _build_edges(
        snapshot, (heads, tails), (passages[untold], mentioned[untold]), (none, none), snapshot.walk.row_count
    )


def entity_graph(snapshot: Snapshot) -> RelationalEdges:
    """Return the edges between entities alone."""
    nodes = np.arange(len(snapshot.entities), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    ends = snapshot.triples[:, 0].astype(np.int64), snapshot.triples[:, 2].astype(np.int64)
    alike = np.repeat(nodes, snapshot.equivalences.degrees()), snapshot.equivalences.indices.astype(np.int64)
    return _build_edges(snapshot, ends, (none, none), alike, len(nodes))


def _pair_keys(one: "LongArray", other: "LongArray") -> "LongArray":
    return (one << 32) | other


def _build_edges(
    snapshot: Snapshot,
    triple_ends: "tuple[LongArray, LongArray]",
    mention_ends: "tuple[LongArray, LongArray]",
    equivalence_ends: "tuple[LongArray, LongArray]",
    node_count: int,
) -> RelationalEdges:
    relation_count = len(snapshot.relations) + 2
    heads = np.concatenate([triple_ends[0], mention_ends[0], equivalence_ends[0]])
    tails = np.concatenate([triple_ends[1], mention_ends[1], equivalence_ends[1]])
    relations = np.concatenate(
        [
            snapshot.triples[:, 1].astype(np.int64),
            np.full(len(mention_ends[0]), relation_count - 2),
            np.full(len(equivalence_ends[0]), relation_count - 1),
        ]
    )
    triples = np.full(len(heads), -1, dtype=np.int32)
    triples[: len(triple_ends[0])] = np.arange(len(triple_ends[0]))
    apart = heads != tails
    heads, tails, relations, triples = heads[apart], tails[apart], relations[apart], triples[apart]
    receivers, senders = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    relations = np.concatenate([relations, relations + relation_count])
    triples = np.tile(triples, 2)
    order = np.lexsort((triples, relations, senders, receivers))
    receivers, senders, relations, triples = (a[order] for a in (receivers, senders, relations, triples))
    # Several triples between two nodes may differ only in how an entity is called: they say the same thing once.
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(receivers) != 0) | (np.diff(senders) != 0) | (np.diff(relations) != 0)
    indptr = np.zeros(node_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(receivers[first], minlength=node_count), out=indptr[1:])
    return RelationalEdges(
        indptr,
        senders[first].astype(np.int32),
        relations[first].astype(np.int32),
        triples[first].astype(np.int32),
        relation_count,
    )


def induced_edges(edges: RelationalEdges, nodes: "IntArray") -> "tuple[IntArray, IntArray, LongArray]":
    """Return the edges between some nodes, in the order of the whole graph.

    Args:
        edges: The whole graph.
        nodes: (n,) distinct, ascending.

    Returns:
        Senders (m,) and receivers (m,) as positions in `nodes`, and positions (m,) in `edges`.
    """
    found: tuple[IntArray, IntArray, LongArray] = _select_induced(edges.indptr, edges.senders, nodes.astype(np.int32))
    return found


@njit(cache=True, nogil=True)
def _select_induced(indptr, senders, nodes):  # type: ignore[no-untyped-def]
    places = np.zeros(len(indptr) - 1, dtype=np.int32)
    most = 0
    for i in range(len(nodes)):
        places[nodes[i]] = i + 1
        most += indptr[nodes[i] + 1] - indptr[nodes[i]]
    froms, tos = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    positions = np.empty(most, dtype=np.int64)
    count = 0
    for i in range(len(nodes)):
        for edge in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
            if places[senders[edge]] > 0:
                froms[count], tos[count], positions[count] = places[senders[edge]] - 1, i, edge
                count += 1
    return froms[:count].copy(), tos[:count].copy(), positions[:count].copy()
