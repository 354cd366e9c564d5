"""Spans and their probabilities, against all pairs of tokens one by one."""

import numpy as np
import pytest

from clew.models.reader.decoding import MAX_SPAN_TOKENS, WindowScores, best_spans, none_probability
from clew.models.reader.windows import Window

TEXTS = ("aa bb aa cc dd", "bb ee aa ff gg")


def make_window() -> Window:
    """Two words of a question, then the words of both texts, a mark after each; the last sentence is a short cell."""
    text = [-1, -1, -1, *[0] * 5, -1, *[1] * 5, -1]
    starts = [0, 0, 0, *range(0, 15, 3), 0, *range(0, 15, 3), 0]
    ends = [0, 0, 0, *range(2, 16, 3), 0, *range(2, 16, 3), 0]
    zeros = np.zeros(len(text), dtype=np.int64)
    sentence = [-1, -1, -1, 0, 0, 0, 1, 1, -1, *[2] * 5, -1]
    whole = [int(number == 2) for number in sentence]
    return Window(zeros, zeros, *(np.array(values, dtype=np.int64) for values in (text, sentence, starts, ends, whole)))


def every_answer(scores: WindowScores, window: Window) -> dict[str, float]:
    """Return the probability of each answer, summed over all places."""
    kinds = np.exp(scores.kinds) / np.exp(scores.kinds).sum()
    found = {"yes": float(kinds[1]), "no": float(kinds[2])}
    allowed = [at for at, text in enumerate(window.text) if text >= 0]
    spans = {
        (first, last): float(np.exp(scores.spans[first, 0] + scores.spans[last, 1]))
        for first in allowed
        for last in allowed
        if first <= last < first + MAX_SPAN_TOKENS and window.sentence[first] == window.sentence[last]
        if not window.whole[first] or last - first == 4
    }
    for (first, last), value in spans.items():
        words = TEXTS[window.text[first]][window.starts[first] : window.ends[last]]
        found[words] = found.get(words, 0.0) + value / sum(spans.values()) * float(kinds[0])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_those_of_all_places(seed: int) -> None:
    random = np.random.default_rng(seed)
    window = make_window()
    scores = WindowScores(
        random.normal(size=(len(window.ids), 2)).astype(np.float32) * 3, random.normal(size=4).astype(np.float32)
    )
    spans, wanted = best_spans(scores, window, TEXTS), every_answer(scores, window)
    assert [one.probability for one in spans] == sorted((one.probability for one in spans), reverse=True)
    for one in spans[:5]:
        assert one.probability == pytest.approx(wanted[one.text], abs=1e-3)
        if one.is_text:
            assert TEXTS[one.source][one.start : one.end] == one.text
    assert spans[0].text == max(wanted, key=lambda words: wanted[words])
    assert sum(wanted.values()) + none_probability(scores) <= 1 + 1e-6


def test_a_window_without_text_has_no_words() -> None:
    window = Window(*(np.full(3, -1, dtype=np.int64) for _ in range(7)))
    spans = best_spans(WindowScores(np.zeros((3, 2), np.float32), np.zeros(4, np.float32)), window, ())
    assert {one.text for one in spans} == {"yes", "no"}
