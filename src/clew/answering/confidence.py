"""The probability that an answer of the reader is right, calibrated on questions that it did not learn from.

Signals are what the reader says (its probability of an answer, the lead over the others, that the passages do not say
it), where the answer stands (its passage's rank, a chain of the search), what fits between question and evidence, and
the kind of the question; a logistic regression over them is fitted on held-back questions, with and without their gold
passages. The answer is the likeliest one by it, of the reader's best three.

Source: Platt, "Probabilistic outputs for support vector machines" (1999), with more inputs than one.
Differs from the source: nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import can_answer
from clew.answering.sentence_selection import Sentence
from clew.errors import ProviderError
from clew.models.reader.decoding import ReadSpan
from clew.models.reader.reader import Reading
from clew.text.normalization import name_key, token_keys
from clew.types import Evidence

WEIGHED = 3
"""Answers of the reader of which the calibration chooses."""
_SMALLEST = 1e-4


class Signals(NamedTuple):
    """Inputs of the calibration, none of them more than 10 in size."""

    best: float  # logit of the reader's probability of the answer
    lead: float  # by how much it is more than that of the best other one
    none: float  # logit of the probability that the passages do not say it
    rest: float  # probability of answers that are neither this one nor none
    coverage: float  # weighted share of the question's words that the evidence has
    nearness: float  # weighted share that the sentence of the answer has
    missing: float  # 1 where a name of the question is in no passage
    unfit: float  # 1 where the answer has not the form that is asked for, as a year
    length: float  # logarithm of the answer's words
    verdict: float  # 1 for yes and no
    asks_date: float
    asks_number: float
    asks_person: float
    asks_place: float
    compares: float  # 1 for "A or B"
    rank: float = 0.0  # position of the answer's passage; yes and no have no place
    named: float = 0.0  # 1 where the question names the passage's title
    linked: float = 0.0  # 1 where another passage names it
    title: float = 0.0  # 1 where the answer is the title
    repeated: float = 0.0  # logarithm of the number of times that the passages have its words
    opens: float = 0.0  # 1 where it stands in the first sentence of its passage
    in_chain: float = 0.0  # 1 where a chain of the search has its sentence
    in_best_chain: float = 0.0  # 1 where the best one has
    ends_chain: float = 0.0  # 1 where it ends the chain


@dataclass(frozen=True, slots=True)
class Confidence:
    """A calibration: weights of the signals, and the probabilities from which an answer is given and is asserted."""

    weights: tuple[float, ...]  # of `Signals`, then the bias
    threshold: float  # least probability of an answer, 0 to 1
    line: float  # least probability of an answer that is asserted, from the threshold to 1

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> "Confidence":
        """Return the calibration of a reader's folder; one of other signals is a ProviderError."""
        try:
            given = manifest["calibration"]
            weights = tuple(float(given["weights"][name]) for name in (*Signals._fields, "bias"))
            made = cls(weights, float(given["threshold"]), float(given["line"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ProviderError(
                f"the reader's calibration cannot be used ({error!r}): train the reader with this version of clew"
            ) from error
        if not 0 <= made.threshold <= made.line <= 1:
            raise ProviderError(f"the reader's threshold {made.threshold} and line {made.line} are no probabilities")
        return made

    def probability(self, signals: Signals) -> float:
        """Return the probability, 0 to 1, that the answer is right."""
        score = sum(weight * signal for weight, signal in zip(self.weights, signals, strict=False)) + self.weights[-1]
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def read_signals(
    analysis: QuestionAnalysis, evidence: Evidence, reading: Reading, spans: Sequence[ReadSpan], missing: int
) -> list[Signals]:
    """Return the signals of the first `WEIGHED` of some spans, the best first, of whose passages the evidence is.

    `missing` names of the question are in no passage.
    """
    question_type = analysis.query.question_type
    known = {word for sentence in analysis.sentences for word in sentence.stem_set}
    coverage = sum(weight for word, weight in analysis.query.weights.items() if word in known)
    best = [span.probability for span in spans[:2]]
    found = []
    for at, span in enumerate(spans[:WEIGHED]):
        others = best[1:] if at == 0 else best[:1]
        own = find_own_sentences(analysis, evidence, span)
        form = "number" if not any(map(str.isalpha, span.text)) else "date"
        signals = Signals(
            best=_logit(span.probability),
            lead=span.probability - max(others, default=0.0),
            none=_logit(reading.none),
            rest=max(0.0, 1 - span.probability - reading.none),
            coverage=coverage,
            nearness=max((analysis.query.overlap(sentence) for sentence in own), default=0.0),
            missing=float(missing > 0),
            unfit=float(span.is_text and not can_answer(span.text, form, question_type)),
            length=math.log(1 + len(token_keys(span.text))),
            verdict=float(not span.is_text),
            asks_date=float(question_type.kind == "date"),
            asks_number=float(question_type.kind == "number"),
            asks_person=float(question_type.kind == "person"),
            asks_place=float(question_type.kind == "place"),
            compares=float(bool(question_type.options)),
        )
        found.append(signals._replace(**_describe_place(analysis, evidence, span)) if span.is_text else signals)
    return found


def find_own_sentences(analysis: QuestionAnalysis, evidence: Evidence, span: ReadSpan) -> list[Sentence]:
    """Return the sentences in which a span stands; [] for yes and no, and in a heading."""
    if not span.is_text:
        return []
    passage = evidence.passages[span.source].item
    return [s for s in analysis.sentences if s.passage.id == passage.id and s.start < span.end and span.start < s.end]


def _describe_place(analysis: QuestionAnalysis, evidence: Evidence, span: ReadSpan) -> dict[str, float]:
    """Return the signals of the place of a span, from `rank` on."""
    passages = [scored.item for scored in evidence.passages]
    passage = passages[span.source]
    title = name_key(passage.title)
    sentences = [one for one in analysis.sentences if one.passage.id == passage.id]
    own = find_own_sentences(analysis, evidence, span)
    chains = [scored.item.sentences for scored in evidence.chains]
    numbers = [at for at, quotes in enumerate(chains) if any(s.is_part_of(quote) for s in own for quote in quotes)]
    others = [one.text for one in passages if one is not passage]
    return {
        "rank": float(span.source),
        "named": float(bool(title) and f" {title} " in f" {analysis.query.text_key} "),
        "linked": float(bool(title) and any(passage.title in text for text in others)),
        "title": float(name_key(span.text) == title),
        "repeated": math.log(1 + sum(one.text.count(span.text) for one in passages)),
        "opens": float(bool(own) and own[0].start == sentences[0].start),
        "in_chain": float(bool(numbers)),
        "in_best_chain": float(0 in numbers),
        "ends_chain": float(bool(numbers) and any(s.is_part_of(chains[numbers[0]][-1]) for s in own)),
    }


def _logit(probability: float) -> float:
    bounded = min(max(probability, _SMALLEST), 1 - _SMALLEST)
    return math.log(bounded / (1 - bounded))
