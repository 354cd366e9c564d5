"""Reranked: the first passages of another retriever, in the order of a reranker.

Source: Nogueira and Cho, "Passage Re-ranking with BERT" (2019), for the two stages: a first ranking of fixed depth, and
a slower reader of each passage in it.
Differs from the source: any retriever and any reranker; passages beyond the reranked ones follow them.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.plugins.tracing import span
from clew.protocols import Reranker, Retriever, fingerprint_of
from clew.retrievers.evidence import check_k
from clew.text.display import format_count
from clew.types import Evidence, Filter, Path, Scored

RERANK_DEPTH = 100
"""Number of passages a question that are reranked (Dong et al., "Don't Forget to Connect!", 2024, section 4)."""


@dataclass(frozen=True, slots=True)
class RerankedRetriever:
    """Retrieves `rerank_depth` passages a question, or `k` if that is more, and reranks the first `rerank_depth`.

    Scores are the reranker's, at single precision; passages beyond the reranked ones follow in steps of 1 below the
    lowest of them. Passages with equal scores keep the reranker's order, each with the least double above the next: no
    two scores are equal, and as single-precision numbers (`np.float32`) the ties reappear, for metrics that count them.
    """

    base: Retriever  # retrieves the passages
    reranker: Reranker
    rerank_depth: int = RERANK_DEPTH  # at least 1
    name: str = "reranker"  # name of the reranker, for the notes
    # returns the paths to its own best `k` passages, where paths to all `rerank_depth` passages would be costly; None
    # where the base returns paths
    explainer: Retriever | None = None

    @property
    def fingerprint(self) -> str:
        """Joined fingerprints of base and reranker."""
        return fingerprint_of(self.base, self.reranker)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question; notes and steps are the base's, usage is the sum of both.

        Paths over passages are kept if a returned passage states one of their triples, chains if one is of it.
        """
        check_k(k, questions)
        bases = self.base.retrieve(questions, max(k, self.rerank_depth), where)
        if self.explainer is not None:
            explanations = self.explainer.retrieve(questions, k, where)
            bases = [_replace_paths(base, explanation) for base, explanation in zip(bases, explanations, strict=True)]
        started = time.perf_counter()
        pools = [replace(evidence, passages=evidence.passages[: self.rerank_depth]) for evidence in bases]
        with span("clew.rerank"):
            ranked = self.reranker.rerank(questions, pools)
        each = (time.perf_counter() - started) / max(len(questions), 1)
        return [self._merge(base, reranked, k, each) for base, reranked in zip(bases, ranked, strict=True)]

    def _merge(self, base: Evidence, reranked: Evidence, k: int, seconds: float) -> Evidence:
        further = base.passages[self.rerank_depth :]
        scores = [float(np.float32(scored.score)) for scored in reranked.passages]
        scores += [scores[-1] - step for step in range(1, len(further) + 1)]
        order = zip((*reranked.passages, *further), strictly_decreasing(scores), strict=True)
        passages = tuple(Scored(scored.item, score) for scored, score in order)[:k]
        ids = {scored.item.id for scored in passages}
        paths = tuple(path for path in base.paths if _is_supported(path.item, ids))
        chains = tuple(chain for chain in base.chains if any(quote.passage_id in ids for quote in chain.item.sentences))
        is_unchanged = reranked.passages == base.passages[: self.rerank_depth]  # not ranked, as the reranker notes
        note = f"{self.name} reranked the first {format_count(len(reranked.passages), 'passage')}"
        notes = reranked.notes if is_unchanged else (*reranked.notes, note)
        usage = replace(reranked.usage, seconds=base.usage.seconds + seconds)
        return replace(reranked, passages=passages, paths=paths, chains=chains, notes=notes, usage=usage)


def _replace_paths(evidence: Evidence, explanation: Evidence) -> Evidence:
    usage = replace(evidence.usage, seconds=evidence.usage.seconds + explanation.usage.seconds)
    return replace(evidence, paths=explanation.paths, chains=explanation.chains, usage=usage)


def _is_supported(path: Path, passages: set[str]) -> bool:
    """Return whether one of the passages states a triple of a path, or the path comes from no passage."""
    stated = {passage for triple in path for passage in triple.passages}
    return not stated or not stated.isdisjoint(passages)


def strictly_decreasing(scores: Sequence[float]) -> list[float]:
    """Break ties in finite, descending scores (n,): a tied one is raised to the least double above the next."""
    reversed_scores: list[float] = []
    for score in reversed(scores):
        reversed_scores.append(max(score, math.nextafter(reversed_scores[-1], math.inf)) if reversed_scores else score)
    return reversed_scores[::-1]
