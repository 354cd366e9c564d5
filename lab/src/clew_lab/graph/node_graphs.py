"""The graphs of the published networks: of entities alone, and of passages and all entities.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.1; for
passages the authors' code of its second generation, G-reasoner. Differs from the source: in the graph of passages
entities without a triple are nodes too, two entities may be joined by several relations, and no edge joins a node to
itself.
"""

import numpy as np

from clew.arrays import IntArray
from clew.graph.csr import Adjacency
from clew.graph.snapshot.relational_edges import RelationalEdges, build_edges, mention_pairs, relation_texts
from clew.graph.snapshot.snapshot import Snapshot


def inverse_text(relation: str) -> str:
    """Return the text of a relation's inverse, as the authors of GFM-RAG write it."""
    return f"inverse_{relation}"


def entity_graph(snapshot: Snapshot, synonyms: Adjacency) -> RelationalEdges:
    """Return the edges between entities alone: triples and synonyms, which are those of each of E entities."""
    nodes = np.arange(len(snapshot.entities), dtype=np.int32)
    pairs = _synonym_pairs(synonyms, nodes, len(snapshot.relations) + 1)
    return build_edges(snapshot, nodes, [pairs], len(snapshot.entities), weak=False)


def mention_graph(snapshot: Snapshot, synonyms: Adjacency) -> RelationalEdges:
    """Return the edges between passages, the first nodes, and all entities: mentions, triples and synonyms (E rows)."""
    passages, first = len(snapshot.passage_ids), len(snapshot.relations)
    nodes = np.arange(passages, passages + len(snapshot.entities), dtype=np.int32)
    others = [mention_pairs(snapshot, nodes, first), _synonym_pairs(synonyms, nodes, first + 1)]
    return build_edges(snapshot, nodes, others, passages + len(nodes), weak=False)


def _synonym_pairs(synonyms: Adjacency, nodes: IntArray, relation: int) -> IntArray:
    other = nodes[synonyms.indices]
    return np.column_stack([nodes[synonyms.row_indices()], np.full_like(other, relation), other])


def both_relation_texts(snapshot: Snapshot) -> list[str]:
    """Return the texts of the R relations of a snapshot's graphs, followed by those of their inverses."""
    texts = relation_texts(snapshot)
    return [*texts, *map(inverse_text, texts)]
