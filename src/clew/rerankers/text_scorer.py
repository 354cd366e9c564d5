"""Pointwise reranking by a text scorer, such as a cross-encoder.

Source: Nogueira and Cho, "Passage Re-ranking with BERT" (2019).
Differs from the source: any scorer of texts; the title is scored with the text.

Sorting passages by score, a step shared by rerankers.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import final

from clew.models.validation import replace_surrogates
from clew.protocols import TextScorer, check_lengths, fingerprint_of
from clew.types import Evidence, Passage, Scored


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
