"""Order of the sentences that are quoted, and of the spans of questions in languages other than English.

The ranker is trained on English questions: of others the sentences come by the stems that they share with the question
and by the ranks of their passages, and the spans in the order of their sentences.

Source: own rules. Differs from the source: nothing.
"""

from collections.abc import Sequence

from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.sentence_selection import Sentence, place_of
from clew.answering.span_ranker import RankedSpan


def order_sentences(analysis: QuestionAnalysis, ranked: Sequence[RankedSpan]) -> list[Sentence]:
    """Return the selected sentences, the likelier to state the answer the earlier, by their best candidates.

    Of a question that is not English they come by their scores.
    """

    def fit(sentence: Sentence) -> float:
        return sum(one.probability for one in ranked if one.candidate.sentence == sentence)

    if analysis.query.language.is_english:
        return sorted(analysis.selected, key=fit, reverse=True)
    scores = score_by_sentence(analysis)
    return sorted(analysis.selected, key=lambda sentence: -scores[place_of(sentence)])


def order_by_sentence(analysis: QuestionAnalysis, ranked: Sequence[RankedSpan]) -> list[RankedSpan]:
    """Return the spans of sentences that share a stem with the question, those of better sentences first."""
    scores = score_by_sentence(analysis)
    shared = [one for one in ranked if analysis.query.overlap(one.candidate.sentence) > 0]
    return sorted(shared, key=lambda one: -scores[place_of(one.candidate.sentence)])


def score_by_sentence(analysis: QuestionAnalysis) -> dict[tuple[str, int], float]:
    """Return the score of each sentence that was scored, by its place."""
    return dict(zip(map(place_of, analysis.preselected), analysis.scores, strict=True))
