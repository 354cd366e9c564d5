"""Reranks by the score from 0 to 100 that a language model gives each passage.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), section 4: language
models as rerankers, whose scores tie often.
Differs from the source: words of our own (`models/llm/prompts/relevance.py`); passages that tie keep the order
they came in; those that the model gives no score for keep their places.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast, final

from clew.errors import BudgetError
from clew.models.llm.prompts import relevance
from clew.models.llm.prompts.relevance import Relevance
from clew.protocols import LanguageModel
from clew.rerankers.ordering import check_lengths
from clew.types import Evidence, Failure, Passage, Reply, Scored


@final
class LLMReranker:
    """Asks a language model for a score of every passage alone; all passages of all questions are asked at once.

    Args:
        model: Any.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def fingerprint(self) -> str:
        """The model and the hash of its prompt."""
        return f"{self._model.name}:{relevance.TEMPLATE.fingerprint}"

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the same passages of each question by descending score; those of one score keep their order.

        A passage without a score, since the reply cannot be used or the budget is spent, keeps its place with the
        score of the one before it, and a note counts such passages; where none has a score, those that came stay.

        Raises:
            InputError: There are not as many questions as pieces of evidence.
            ProviderError: The model cannot be used at all.
        """
        check_lengths(questions, evidence)
        pairs = [(q, scored.item) for q, found in zip(questions, evidence, strict=True) for scored in found.passages]
        prompts = [relevance.build_prompt(question, passage) for question, passage in pairs]
        results = iter(self._model.complete(prompts) if prompts else ())
        return [self._rerank_one(found, [next(results) for _ in found.passages]) for found in evidence]

    def _rerank_one(self, evidence: Evidence, results: Sequence[Reply | Failure]) -> Evidence:
        failures = [result for result in results if isinstance(result, Failure)]
        for failure in failures:
            if failure.run_error is not None and not isinstance(failure.run_error, BudgetError):
                raise failure.run_error
        notes = evidence.notes
        if failures:
            counted = f"{len(failures)} of {len(results)} passages have no score and keep their places"
            notes = (*notes, f"{self._model.name}: {counted}: {failures[0].reason}")
        usage = sum((result.usage for result in results), evidence.usage)
        passages = _order_by_score(evidence.passages, [_reply_score(result) for result in results])
        return replace(evidence, passages=passages, notes=notes, usage=usage)


def _reply_score(result: Reply | Failure) -> float | None:
    return None if isinstance(result, Failure) else cast("Relevance", result.value).score


def _order_by_score(passages: Sequence[Scored[Passage]], scores: Sequence[float | None]) -> tuple[Scored[Passage], ...]:
    """Return scored passages by descending score in the places that those without a score leave."""
    known = [(-score, place) for place, score in enumerate(scores) if score is not None]
    if not known:
        return tuple(passages)
    ranked = iter(sorted(known))
    last = -min(known)[0]
    ordered: list[Scored[Passage]] = []
    for scored, score in zip(passages, scores, strict=True):
        item = scored.item
        if score is not None:
            negative, place = next(ranked)
            last, item = -negative, passages[place].item
        ordered.append(Scored(item, last))
    return tuple(ordered)
