"""Spans that are known to be of another kind than the question asks for: a town for "who", a person for "where".

What a name is, the passage with that title says ("Vik is a village"), or its last word ("Elephant Island"). "Who" may
ask for a company or a museum, "where" for a ship: only places answer no "who", and only persons no "where".

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import replace

from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.span_ranker import RankedSpan
from clew.query.referents import PERSON, PLACE, Described, answer_referent

_EXCLUDED = {"person": PLACE, "place": PERSON}
_MAX_SPANS = 20  # the best ones, of which the answer and its alternatives are taken


def drop_other_kinds(ranked: Sequence[RankedSpan], analysis: QuestionAnalysis) -> list[RankedSpan]:
    """Return spans without those that are known to be no answer to "who" or "where".

    The probabilities sum to what they summed to. Questions of other kinds and languages keep all.
    """
    excluded = _EXCLUDED.get(analysis.query.question_type.kind)
    if excluded is None or not analysis.query.language.is_english:
        return list(ranked)
    passages = {sentence.passage.id: sentence.passage for sentence in analysis.sentences}.values()
    described = [Described(passage.title, passage.text) for passage in passages]
    best = [one for one in ranked[:_MAX_SPANS] if answer_referent("", one.candidate.text, described).kind != excluded]
    left = [*best, *ranked[_MAX_SPANS:]]
    total, rest = (sum(one.probability for one in some) for some in (ranked, left))
    scale = total / rest if rest > 0 else 1.0
    return [replace(one, probability=one.probability * scale) for one in left]
