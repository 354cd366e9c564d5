"""Ranking of passages by the scores of the entities that they mention.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.3. Differs
from the source: entities may be weighted by their score, not only the best may count, and rarity may be ignored.
"""

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, top_order
from clew.graph.snapshot.snapshot import Snapshot
from clew.retrievers.gfm.passage_graphs import QuestionGraph
from clew.retrievers.gfm.passage_ranking import RankedPassages

PUBLISHED_ENTITIES = 20


class EntityRanker:
    """Ranks passages by the best entities that they mention.

    If `weighted`, entities count by their score, and ties of passages are broken by similarity to the question; else
    each of the best entities counts the same, as published. `entities` is the number of best entities that count, None
    for all; `rarity` divides an entity's weight by the number of passages that mention it; `same_encoder` tells whether
    the snapshot's vectors and the question's are of one encoder.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        weighted: bool,
        entities: int | None = PUBLISHED_ENTITIES,
        rarity: bool = True,
        same_encoder: bool = True,
    ) -> None:
        self._mentions = snapshot.mentions
        self._mentioning = snapshot.mentions.row_indices()
        degrees = np.maximum(snapshot.mentioned_in.degrees(), 1)
        self._rarity: NDArray[np.float64] = 1.0 / degrees if rarity else np.ones(len(degrees))
        self._vectors = snapshot.vectors if weighted and same_encoder else None
        self._weighted = weighted
        self._entities = entities

    @property
    def entities(self) -> int | None:
        """Number of best entities that count; None for all."""
        return self._entities

    def rank(
        self, graph: QuestionGraph, logits: FloatArray, vector: FloatArray, k: int, allowed: BoolArray
    ) -> RankedPassages:
        """Return at most `k` allowed passages (P,) that mention an entity of the best logits (n,) (see `Ranker`)."""
        count = len(logits) if self._entities is None else min(self._entities, len(logits))
        if not count:
            return RankedPassages((), ())
        best = top_order(logits, count)
        chosen = graph.nodes[best]
        weights = np.zeros(len(self._rarity))
        value = 1.0 / (1.0 + np.exp(-logits[best].astype(np.float64))) if self._weighted else 1.0
        weights[chosen] = self._rarity[chosen] * value
        sums = np.bincount(self._mentioning, weights[self._mentions.indices], self._mentions.row_count)
        scores = np.where(allowed, sums, 0.0)
        candidates = np.flatnonzero(scores > 0)
        similarity = np.zeros(len(candidates)) if self._vectors is None else self._vectors.rows(candidates) @ vector
        ranked = candidates[np.lexsort((candidates, -similarity, -scores[candidates]))[:k]]
        node_of_entity = np.full(len(weights), -1, dtype=np.int64)
        node_of_entity[chosen] = best
        return RankedPassages(
            tuple((int(p), float(scores[p])) for p in ranked),
            tuple(self._strongest_entity(int(p), weights, node_of_entity) for p in ranked),
        )

    def _strongest_entity(self, passage: int, weights: NDArray[np.float64], node_of_entity: NDArray[np.int64]) -> int:
        mentioned = self._mentions.row(passage)
        return int(node_of_entity[mentioned[int(np.argmax(weights[mentioned]))]])
