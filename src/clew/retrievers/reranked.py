"""Reranked: the head of another retriever's ranking, in the order that a reranker gives it.

Source: Nogueira and Cho, "Passage Re-ranking with BERT" (2019), for the two stages: a first ranking of fixed depth, and
a slower reader of each passage in it.
Differs from the source: any retriever and any reranker; what the reranker is not shown follows behind what it is shown.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.protocols import Reranker, Retriever, fingerprint_of
from clew.retrievers.evidence import check_k
from clew.types import Evidence, Filter, Path, Scored

RERANK_DEPTH = 100
"""Passages a question that are reranked (Dong et al., "Don't Forget to Connect!", 2024, section 4)."""


@dataclass(frozen=True, slots=True)
class RerankedRetriever:
    """Retrieves `rerank_depth` passages a question, or `k` if that is more, and reranks the first `rerank_depth`.

    Scores are the reranker's, at single precision; those behind the pool go down from its lowest, one a passage. Where
    a reranker gives several passages one score, they come in its order, each the least double above the next: so the
    order is that of the scores, no two are equal, and as single-precision numbers (`np.float32`) the ties are there
    again, for measures that count them.

    Attributes:
        base: Finds the passages.
        reranker: Orders them.
        rerank_depth: At least 1.
        name: Of the reranker, for the notes.
        explainer: Gives the paths, where the base would explain a whole pool at a price; it is asked for the `k`
            passages that it finds itself. None where the base gives them.
    """

    base: Retriever
    reranker: Reranker
    rerank_depth: int = RERANK_DEPTH
    name: str = "reranker"
    explainer: Retriever | None = None

    @property
    def fingerprint(self) -> str:
        """What tells its rankings from those of other weights, models and prompts below it."""
        return fingerprint_of(self.base, self.reranker)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question; notes and steps are the base's, usage is that of both.

        Of paths over passages those are kept that a returned passage states a triple of.
        """
        check_k(k)
        found = self.base.retrieve(questions, max(k, self.rerank_depth), where)
        if self.explainer is not None:
            explained = self.explainer.retrieve(questions, k, where)
            found = [_replace_paths(own, other) for own, other in zip(found, explained, strict=True)]
        started = time.perf_counter()
        pools = [replace(evidence, passages=evidence.passages[: self.rerank_depth]) for evidence in found]
        ranked = self.reranker.rerank(questions, pools)
        each = (time.perf_counter() - started) / max(len(questions), 1)
        return [self._merge(first, then, k, each) for first, then in zip(found, ranked, strict=True)]

    def _merge(self, found: Evidence, ranked: Evidence, k: int, seconds: float) -> Evidence:
        """Return the reranked pool and what the base found behind it."""
        behind = found.passages[self.rerank_depth :]
        scores = [float(np.float32(scored.score)) for scored in ranked.passages]
        scores += [scores[-1] - step for step in range(1, len(behind) + 1)]
        order = zip((*ranked.passages, *behind), strictly_decreasing(scores), strict=True)
        passages = tuple(Scored(scored.item, score) for scored, score in order)[:k]
        kept = {scored.item.id for scored in passages}
        paths = tuple(path for path in found.paths if _is_supported(path.item, kept))
        notes = (*ranked.notes, *self._note(len(ranked.passages)))
        usage = replace(ranked.usage, seconds=found.usage.seconds + seconds)
        return replace(ranked, passages=passages, paths=paths, notes=notes, usage=usage)

    def _note(self, count: int) -> tuple[str, ...]:
        return (f"{self.name} reranked the first {count} passages",) if count else ()


def _replace_paths(found: Evidence, explained: Evidence) -> Evidence:
    """Return what was found with the paths of another search, and the time that it took."""
    usage = replace(found.usage, seconds=found.usage.seconds + explained.usage.seconds)
    return replace(found, paths=explained.paths, usage=usage)


def _is_supported(path: Path, passages: set[str]) -> bool:
    """Return whether one of some passages states a triple of a path, or none of its triples is of a passage at all."""
    stated = {passage for triple in path for passage in triple.passages}
    return not stated or not stated.isdisjoint(passages)


def strictly_decreasing(scores: Sequence[float]) -> list[float]:
    """Return descending scores as strictly descending ones: each is the least double above the next where it has to be.

    Args:
        scores: (n,) finite, none greater than the one before it.
    """
    raised: list[float] = []
    for score in reversed(scores):
        raised.append(max(score, math.nextafter(raised[-1], math.inf)) if raised else score)
    return raised[::-1]
