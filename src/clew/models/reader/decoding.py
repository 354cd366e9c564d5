"""Spans of texts that the scores of a reader mean, with their probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import DoubleArray, FloatArray, LongArray
from clew.models.reader.windows import Window, strip_marks

MAX_SPAN_TOKENS = 40
_BEST = 20  # spans of a window that are looked at


@dataclass(frozen=True, slots=True, eq=False)
class WindowScores:
    """Scores of the network for a window."""

    spans: FloatArray  # (L, 2) scores of begin and end; the sum of two is the score of a span
    kinds: FloatArray  # (4,) of the kinds span, yes, no and none


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """An answer, its probability, and the place of its likeliest occurrence: -1 for yes and no."""

    text: str
    probability: float
    source: int = -1  # position of the text
    start: int = -1  # in characters of the text
    end: int = -1

    @property
    def is_text(self) -> bool:
        """Whether it is words of a text, not "yes" or "no"."""
        return self.source >= 0


def best_spans(scores: WindowScores, window: Window, texts: Sequence[str]) -> list[ReadSpan]:
    """Return the likeliest answers of a window, best first; those of the same words count together.

    The probabilities of all answers and of "not in these texts" sum to at most 1.
    """
    kinds = _softmax(scores.kinds)
    found = [ReadSpan(word, float(kinds[at])) for at, word in ((1, "yes"), (2, "no"))]
    if (window.text >= 0).any():
        merged: dict[str, ReadSpan] = {}
        for begin, end, share in _likeliest_places(scores.spans, window.sentence, window.whole):
            source, start, stop = int(window.text[begin]), int(window.starts[begin]), int(window.ends[end])
            words = " ".join(strip_marks(texts[source], start, stop).split())
            one = ReadSpan(words, share * float(kinds[0]), source, start, stop)
            key = words.lower()
            first = merged.get(key, ReadSpan("", 0.0))
            merged[key] = ReadSpan(
                first.text or one.text, first.probability + one.probability, *_place(first if first.text else one)
            )
        found += merged.values()
    return sorted(found, key=lambda one: -one.probability)


def none_probability(scores: WindowScores) -> float:
    """Return the probability that a window does not say the answer."""
    return float(_softmax(scores.kinds)[3])


def _place(span: ReadSpan) -> tuple[int, int, int]:
    return span.source, span.start, span.end


def _likeliest_places(scores: FloatArray, sentence: LongArray, whole: LongArray) -> list[tuple[int, int, float]]:
    """Return first and last token of the likeliest spans within one sentence or cell each, with their probabilities."""
    distance = np.arange(len(sentence))[None, :] - np.arange(len(sentence))[:, None]
    fits = (distance >= 0) & (distance < MAX_SPAN_TOKENS) & (sentence[:, None] == sentence) & (sentence >= 0)
    is_inner = (whole > 0) & (sentence == np.roll(sentence, 1))  # a token before it is of the same short cell
    fits &= ~is_inner[:, None] & ~np.roll(is_inner, -1)
    first, last = np.nonzero(fits)
    shares = _softmax(scores[first, 0] + scores[last, 1])
    best = np.argsort(-shares, kind="stable")[:_BEST]
    return list(zip(first[best].tolist(), last[best].tolist(), shares[best].tolist(), strict=True))


def _softmax(scores: FloatArray) -> DoubleArray:
    shifted = np.exp(scores.astype(np.float64) - scores.max())
    share: DoubleArray = shifted / shifted.sum()
    return share
