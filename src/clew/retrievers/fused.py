"""Reciprocal rank fusion: several rankings merged into one.

Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet" (2009), equation 1 with k = 60.
Differs from the source: each ranking is read to a fixed depth; a passage's better rank counts once more, unless
`least=0` is set: what one of two unlike rankings has first is more often wanted than what both have somewhere.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from clew.plugins.records import Amount, SettingsRecord, setting
from clew.protocols import Retriever
from clew.query.context import IndexContext
from clew.retrievers.evidence import check_k, make_evidence
from clew.retrievers.spec import OpenRetriever
from clew.types import Evidence, Filter, Passage, Path, Scored

RANK_CONSTANT = 60
FUSION_DEPTH = 100


@dataclass(frozen=True, slots=True)
class FusedRetriever:
    """Ranks passages by the sum over rankings of 1 / (60 + rank), and by their least rank."""

    retrievers: Sequence[Retriever]  # retrievers to fuse; each returns `depth` passages, or `k` if that is more
    depth: int = FUSION_DEPTH  # depth to which each ranking is read
    least: float = 0.0  # weight of the least rank

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, by fused score; ties by id."""
        check_k(k, questions)
        rankings = [retriever.retrieve(questions, max(k, self.depth), where) for retriever in self.retrievers]
        return [self._fuse([ranking[i] for ranking in rankings], k) for i in range(len(questions))]

    def _fuse(self, rankings: Sequence[Evidence], k: int) -> Evidence:
        started = time.perf_counter() - sum(ranking.usage.seconds for ranking in rankings)
        found = [[scored.item for scored in ranking.passages] for ranking in rankings]
        passages = weighted_rank_fusion(found, [1.0] * len(found), least=self.least)[:k]
        paths: list[Scored[Path]] = [path for ranking in rankings for path in ranking.paths]
        notes = dict.fromkeys(note for ranking in rankings for note in ranking.notes)
        return make_evidence(passages, sorted(paths, key=lambda p: -p.score), list(notes), started)


def weighted_rank_fusion(
    rankings: Sequence[Sequence[Passage]],
    weights: Sequence[float],
    constant: float = RANK_CONSTANT,
    least: float = 0.0,
) -> list[Scored[Passage]]:
    """Return every passage of the rankings with the sum of weight / (constant + rank), best first, ties by id.

    The smaller the constant, the more the first ranks count. The least rank of a passage counts once more, with the
    weight `least`.
    """
    scores: dict[str, float] = {}
    passages: dict[str, Passage] = {}
    ranks: dict[str, int] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, passage in enumerate(ranking, 1):
            scores[passage.id] = scores.get(passage.id, 0.0) + weight / (constant + rank)
            passages[passage.id] = passage
            ranks[passage.id] = min(rank, ranks.get(passage.id, rank))
    scores = {id_: score + least / (constant + ranks[id_]) for id_, score in scores.items()}
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return [Scored(passages[id_], scores[id_]) for id_ in order]


class Fused(SettingsRecord):
    """Settings of `fused`."""

    label: ClassVar[str] = "fused"

    least: Amount = setting(1.0, "weight of a passage's least rank beside the sum; 0 as published")


def build_fused(context: IndexContext, settings: Fused, open_retriever: OpenRetriever) -> FusedRetriever:
    """Return the fusion of `bm25` and `dense` over one index; raises InputError where the index has no vectors."""
    rankings = open_retriever("bm25", context), open_retriever("dense", context)
    return FusedRetriever(rankings, least=settings.least)
