"""The tagger of spans against plain Python."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.arrays import FloatArray
from clew.inference.span_tagger import (
    BEGIN,
    INSIDE,
    OUTSIDE,
    SpanTagger,
    best_tags,
    group_words,
    join_neighbours,
    pool_words,
    tag_spans,
)


@given(st.lists(st.tuples(*[st.integers(-8, 8)] * 3), min_size=1, max_size=6))
def test_the_best_tags_are_those_of_an_exhaustive_search(rows: list[tuple[int, int, int]]) -> None:
    tags = best_tags(np.array(rows, dtype=np.float32)).tolist()

    def total(sequence: tuple[int, ...] | list[int]) -> int:
        return sum(row[tag] for row, tag in zip(rows, sequence, strict=True))

    def is_allowed(sequence: tuple[int, ...] | list[int]) -> bool:
        return all(
            tag != INSIDE or before != OUTSIDE for before, tag in zip([OUTSIDE, *sequence], sequence, strict=False)
        )

    assert is_allowed(tags)
    assert total(tags) == max(total(s) for s in product(range(3), repeat=len(rows)) if is_allowed(s))


def test_spans_of_tags() -> None:
    tags = np.array([BEGIN, BEGIN, INSIDE, OUTSIDE, BEGIN, INSIDE, INSIDE])
    assert tag_spans(tags) == [(0, 1), (1, 3), (4, 7)]
    assert tag_spans(tags[:0]) == []


def test_tokens_of_one_word_are_one() -> None:
    text = "o'neill's re-entry, 挪威 x1"
    offsets = [(0, 1), (1, 2), (2, 4), (4, 7), (7, 8), (8, 9), (10, 12), (12, 13), (13, 18), (18, 19), (20, 21),
               (21, 22), (23, 24), (24, 25)]  # fmt: skip
    groups = group_words(text, offsets)
    words = [text[start:end] for start, end in zip(groups.starts, groups.ends, strict=True)]
    assert words == ["o", "'", "neill", "'", "s", "re", "-", "entry", ",", "挪", "威", "x1"]
    states = np.random.default_rng(0).normal(size=(len(offsets), 4)).astype(np.float32)
    pooled = pool_words(states, groups)
    assert pooled.shape == (len(words), 4)
    np.testing.assert_allclose(pooled[2], states[2:4].mean(0), rtol=1e-5)
    np.testing.assert_allclose(pooled[-1], states[12:14].mean(0), rtol=1e-5)
    assert pool_words(states[:0], group_words("", [])).shape == (0, 4)


def plain_scores(tagger: SpanTagger, states: FloatArray) -> list[list[float]]:
    """Return the scores of every word's tags with loops over words and hidden units."""
    zeros = [0.0] * states.shape[1]
    padded = [zeros, *states.tolist(), zeros]
    rows = []
    for word in range(1, len(padded) - 1):
        inputs = [*padded[word - 1], *padded[word], *padded[word + 1]]
        units = [
            max(0.0, sum(x * w for x, w in zip(inputs, column, strict=True)) + bias)
            for column, bias in zip(tagger.hidden.T.tolist(), tagger.hidden_bias.tolist(), strict=True)
        ]
        rows.append(
            [
                sum(u * w for u, w in zip(units, column, strict=True)) + bias
                for column, bias in zip(tagger.output.T.tolist(), tagger.output_bias.tolist(), strict=True)
            ]
        )
    return rows


def test_scores_are_those_of_loops() -> None:
    random = np.random.default_rng(1)
    shapes = (3 * 4, 5), (5,), (5, 3), (3,)
    tagger = SpanTagger(*(random.normal(size=shape).astype(np.float32) for shape in shapes))
    states = random.normal(size=(40, 4)).astype(np.float32)
    np.testing.assert_allclose(tagger.word_scores(states), plain_scores(tagger, states), rtol=1e-4, atol=1e-4)
    assert join_neighbours(states[:1]).tolist() == [[*[0.0] * 4, *states[0].tolist(), *[0.0] * 4]]
    spans = tagger.find_spans(states)
    assert spans == tag_spans(best_tags(tagger.word_scores(states)))
    assert 0 < sum(last - first for first, last in spans) < len(states)
    assert tagger.find_spans(states[:0]) == []
