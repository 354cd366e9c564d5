"""The probability that an answer of the reader is right, calibrated on questions that it did not learn from.

Signals are what the reader says (its probability of the best answer, the lead over the second, that the passages do not
say it), what fits between question and evidence, and the kind of the question; a logistic regression over them is
fitted on held-back questions, with and without their gold passages.

Source: Platt, "Probabilistic outputs for support vector machines" (1999), with more inputs than one.
Differs from the source: nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import can_answer
from clew.errors import ProviderError
from clew.models.reader.decoding import ReadSpan
from clew.models.reader.reader import Reading
from clew.text.normalization import token_keys

_SMALLEST = 1e-4


class Signals(NamedTuple):
    """Inputs of the calibration, none of them more than 10 in size."""

    best: float  # logit of the reader's probability of the best answer
    lead: float  # by how much it is more than that of the second
    none: float  # logit of the probability that the passages do not say it
    rest: float  # probability of answers that are neither the best nor none
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


def read_signals(analysis: QuestionAnalysis, reading: Reading, spans: Sequence[ReadSpan], missing: int) -> Signals:
    """Return the signals of the first of some spans, the best first; at least one."""
    best, second = spans[0], spans[1].probability if len(spans) > 1 else 0.0
    question_type = analysis.query.question_type
    own = [s for s in analysis.sentences if best.text in s.text] if best.is_text else []
    known = {word for sentence in analysis.sentences for word in sentence.stem_set}
    weights = analysis.query.weights
    form = "number" if not any(map(str.isalpha, best.text)) else "date"
    return Signals(
        best=_logit(best.probability),
        lead=best.probability - second,
        none=_logit(reading.none),
        rest=max(0.0, 1 - best.probability - reading.none),
        coverage=sum(weight for word, weight in weights.items() if word in known),
        nearness=max((analysis.query.overlap(sentence) for sentence in own), default=0.0),
        missing=float(missing > 0),
        unfit=float(best.is_text and not can_answer(best.text, form, question_type)),
        length=math.log(1 + len(token_keys(best.text))),
        verdict=float(not best.is_text),
        asks_date=float(question_type.kind == "date"),
        asks_number=float(question_type.kind == "number"),
        asks_person=float(question_type.kind == "person"),
        asks_place=float(question_type.kind == "place"),
        compares=float(bool(question_type.options)),
    )


def _logit(probability: float) -> float:
    bounded = min(max(probability, _SMALLEST), 1 - _SMALLEST)
    return math.log(bounded / (1 - bounded))
