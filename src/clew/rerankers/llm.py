"""Pointwise reranking by the relevance score, 0 to 100, that a language model gives each passage.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), section 4: language
models as rerankers, whose scores tie often.
Differs from the source: our own prompt (`models/llm/prompts/relevance.py`); ties keep their order; passages without a
score keep their places.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast, final

from clew.errors import BudgetError
from clew.models.llm.prompts import relevance
from clew.models.llm.prompts.relevance import Relevance
from clew.protocols import LanguageModel, check_lengths
from clew.text.counts import format_count
from clew.types import Evidence, Failure, Passage, Reply, Scored


@final
class LLMReranker:
    """Scores each passage on its own by a language model; all prompts of all questions are sent in one call."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def fingerprint(self) -> str:
        """Name of the model and hash of the prompt."""
        return f"{self._model.name}:{relevance.TEMPLATE.fingerprint}"

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the passages of each question by descending score; ties keep their order.

        A passage without a score (unusable reply, or budget spent) keeps its place and gets the score of the one before
        it; a note counts such passages. Without any score the evidence keeps its order and scores. Raises ProviderError
        where the model cannot be used at all.
        """
        check_lengths(questions, evidence)
        prompts = [
            relevance.build_prompt(question, scored.item)
            for question, item in zip(questions, evidence, strict=True)
            for scored in item.passages
        ]
        results = iter(self._model.complete(prompts) if prompts else ())
        return [self._rerank_one(item, [next(results) for _ in item.passages]) for item in evidence]

    def _rerank_one(self, evidence: Evidence, results: Sequence[Reply | Failure]) -> Evidence:
        failures = [result for result in results if isinstance(result, Failure)]
        for failure in failures:
            if failure.run_error is not None and not isinstance(failure.run_error, BudgetError):
                raise failure.run_error
        notes = evidence.notes
        if failures:
            share = f"{len(failures)} of {format_count(len(results), 'passage')}"
            verbs = "has no score and keeps its place" if len(failures) == 1 else "have no score and keep their places"
            count = f"{share} {verbs}"
            notes = (*notes, f"{self._model.name}: {count}: {failures[0].reason}")
        usage = sum((result.usage for result in results), evidence.usage)
        scores = [cast("Relevance", r.value).score if isinstance(r, Reply) else None for r in results]
        passages = _order_by_score(evidence.passages, scores)
        return replace(evidence, passages=passages, notes=notes, usage=usage)


def _order_by_score(passages: Sequence[Scored[Passage]], scores: Sequence[float | None]) -> tuple[Scored[Passage], ...]:
    """Sort the passages that have a score within their places; the others stay and repeat the score before them."""
    ranking = sorted((-score, place) for place, score in enumerate(scores) if score is not None)
    if not ranking:
        return tuple(passages)
    ranked = iter(ranking)
    last = -ranking[0][0]
    ordered: list[Scored[Passage]] = []
    for scored, score in zip(passages, scores, strict=True):
        item = scored.item
        if score is not None:
            negative, place = next(ranked)
            last, item = -negative, passages[place].item
        ordered.append(Scored(item, last))
    return tuple(ordered)
