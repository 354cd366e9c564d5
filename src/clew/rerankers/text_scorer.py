"""Rerankers that score each passage by itself: by a model of pairs of texts, or by a language model.

Source: Nogueira and Cho, "Passage Re-ranking with BERT" (2019).
Differs from the source: any scorer of texts; the title is scored with the text.

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
from clew.models.validation import replace_surrogates
from clew.protocols import LanguageModel, TextScorer, check_lengths, fingerprint_of
from clew.text.display import format_count
from clew.types import Evidence, Failure, Passage, Reply, Scored


def sort_by_score(evidence: Evidence, scores: Sequence[float]) -> Evidence:
    """Return evidence with its n passages by descending score (n,), finite; ties keep their order."""
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    passages = tuple(Scored(evidence.passages[place].item, float(scores[place])) for place in order)
    return replace(evidence, passages=passages)


@final
class TextReranker:
    """Scores each passage on its own, so a later hop's passage that shares nothing with the question drops."""

    def __init__(self, scorer: TextScorer) -> None:
        self._scorer = scorer

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the scorer."""
        return fingerprint_of(self._scorer)

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the passages of each question by descending score; ties keep their order."""
        check_lengths(questions, evidence)
        return [self._rerank_one(question, item) for question, item in zip(questions, evidence, strict=True)]

    def _rerank_one(self, question: str, evidence: Evidence) -> Evidence:
        valid = replace_surrogates(question)  # tokenizers refuse lone surrogates
        scores = self._scorer.score(valid, [text_with_title(scored.item) for scored in evidence.passages])
        return sort_by_score(evidence, scores.tolist())


def text_with_title(passage: Passage) -> str:
    """Return the title of a passage, if it has one, and its text on the next line."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


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
