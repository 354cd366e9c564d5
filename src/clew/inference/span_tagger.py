"""Finding of names and lower-case terms by a small network on the states of an encoder's tokens.

The state of a word is the mean over its tokens. A hidden layer reads three neighbouring words; the output layer gives
every word scores of "outside", "begin" and "inside". The best sequence in which a span begins before it continues is
taken (Viterbi).

Source: tags as in Ramshaw and Marcus, "Text chunking using transformation-based learning" (1995).
Differs from the source: the scores are those of a network on the frozen states of an encoder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from clew.arrays import FloatArray, LongArray
from clew.arrays.kernels import njit
from clew.text.normalization import is_unspaced_letter

OUTSIDE, BEGIN, INSIDE = range(3)
NEIGHBOURS = 3
"""Words that the hidden layer reads: the word, the one before it and the one after it."""


class WordGroups(NamedTuple):
    """The n words that the tokens of a text make."""

    first: LongArray  # (n,) position of each word's first token
    starts: LongArray  # (n,) where each begins in the text, in characters
    ends: LongArray  # (n,)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SpanTagger:
    """A trained tagger with h hidden units on states of width d."""

    hidden: FloatArray  # (3 d, h)
    hidden_bias: FloatArray  # (h,)
    output: FloatArray  # (h, 3): outside, begin, inside
    output_bias: FloatArray  # (3,)

    def find_spans(self, states: FloatArray) -> list[tuple[int, int]]:
        """Return the first word and the one after the last of each span of a text, given its words' states (n, d)."""
        return tag_spans(best_tags(self.word_scores(states))) if len(states) else []

    def word_scores(self, states: FloatArray) -> FloatArray:
        """Return the scores (n, 3) of the tags of each word, given states (n, d)."""
        activation = np.maximum(join_neighbours(states) @ self.hidden + self.hidden_bias, np.float32(0.0))
        return np.asarray(activation @ self.output + self.output_bias)


def group_words(text: str, offsets: Sequence[tuple[int, int]]) -> WordGroups:
    """Return the words of a text: tokens with no character between them that are letters or digits are one.

    Letters of scripts without spaces are words of their own. `offsets` are those of its tokens, without special ones.
    """
    first: list[int] = []
    for token, (start, end) in enumerate(offsets):
        if start == end:
            continue
        is_joined = token > 0 and start == offsets[token - 1][1] and text[start].isalnum() and text[start - 1].isalnum()
        if not is_joined or is_unspaced_letter(text[start]):
            first.append(token)
    bounds = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    heads = np.array(first, dtype=np.int64)
    lasts = np.append(heads[1:], len(bounds))[: len(heads)] - 1
    return WordGroups(heads, bounds[heads, 0], bounds[lasts, 1])


def pool_words(states: FloatArray, groups: WordGroups) -> FloatArray:
    """Return the mean state (n, d) of each word's tokens, given those of all tokens (m, d)."""
    if not len(groups.first):
        return np.zeros((0, states.shape[1]), dtype=np.float32)
    counts = np.diff(np.append(groups.first, len(states))).astype(np.float32)
    sums: FloatArray = np.add.reduceat(states, groups.first, axis=0, dtype=np.float32)
    return sums / counts[:, None]


def join_neighbours(states: FloatArray) -> FloatArray:
    """Return for each word its state beside those before and after it (n, 3 d), given (n, d); zeros beyond the ends."""
    count, width = states.shape
    joined = np.zeros((count, NEIGHBOURS * width), dtype=np.float32)
    joined[1:, :width] = states[:-1]
    joined[:, width : 2 * width] = states
    joined[:-1, 2 * width :] = states[1:]
    return joined


def tag_spans(tags: LongArray) -> list[tuple[int, int]]:
    """Return the first word and the one after the last of each span, given tags (n,)."""
    spans: list[tuple[int, int]] = []
    for word, tag in enumerate(tags.tolist()):
        if tag == BEGIN:
            spans.append((word, word + 1))
        elif tag == INSIDE:
            spans[-1] = spans[-1][0], word + 1
    return spans


def best_tags(scores: FloatArray) -> LongArray:
    """Return the tags (n,) of the greatest total score, given scores (n, 3); no `INSIDE` follows an `OUTSIDE`."""
    tags = np.empty(len(scores), dtype=np.int64)
    _best_tags(np.ascontiguousarray(scores, dtype=np.float64), tags)
    return tags


@njit
def _best_tags(scores, tags):  # type: ignore[no-untyped-def]
    count = len(scores)
    before = np.empty((count, 3), dtype=np.int64)  # tag of the word before in the best sequence that ends in each tag
    total = np.array([scores[0, 0], scores[0, 1], -np.inf])
    for word in range(1, count):
        any_best = 0
        for tag in range(1, 3):
            if total[tag] > total[any_best]:
                any_best = tag
        in_span = 2 if total[2] > total[1] else 1
        before[word, 0] = before[word, 1] = any_best
        before[word, 2] = in_span
        outside, begin = total[any_best] + scores[word, 0], total[any_best] + scores[word, 1]
        inside = total[in_span] + scores[word, 2]
        total[0], total[1], total[2] = outside, begin, inside
    tag = 0
    for other in range(1, 3):
        if total[other] > total[tag]:
            tag = other
    for word in range(count - 1, 0, -1):
        tags[word] = tag
        tag = before[word, tag]
    tags[0] = tag
