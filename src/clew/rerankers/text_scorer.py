"""Reranks by a score of each passage's words against the question, such as a cross-encoder's.

Source: Nogueira and Cho, "Passage Re-ranking with BERT" (2019).
Differs from the source: any scorer of texts; the title is read before the text.
"""

from collections.abc import Sequence
from typing import final

from clew.protocols import TextScorer, fingerprint_of
from clew.rerankers.ordering import check_lengths, sort_by_score
from clew.types import Evidence, Passage


@final
class TextReranker:
    """Scores every passage alone, so a passage that names nothing of the question falls, whatever it is needed for.

    Args:
        scorer: Is given a question and the titles and texts of its passages.
    """

    def __init__(self, scorer: TextScorer) -> None:
        self._scorer = scorer

    @property
    def fingerprint(self) -> str:
        """That of the scorer."""
        return fingerprint_of(self._scorer)

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return the same passages of each question by descending score; those of one score keep their order.

        Raises:
            InputError: There are not as many questions as pieces of evidence.
            ProviderError: The scorer's model cannot be used.
        """
        check_lengths(questions, evidence)
        return [self._rerank_one(question, found) for question, found in zip(questions, evidence, strict=True)]

    def _rerank_one(self, question: str, evidence: Evidence) -> Evidence:
        read = question.encode(errors="replace").decode()  # what UTF-8 cannot write no tokenizer takes
        scores = self._scorer.score(read, [text_with_title(scored.item) for scored in evidence.passages])
        return sort_by_score(evidence, scores.tolist())


def text_with_title(passage: Passage) -> str:
    """Return the title of a passage, if it has one, and its text."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
