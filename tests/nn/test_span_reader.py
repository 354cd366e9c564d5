"""The loss of a reader, against the sum over all spans of a sentence one by one."""

import math

import pytest
import torch

from clew.nn.span_reader import span_loss

LONGEST = 3


def test_the_loss_sums_the_probabilities_of_all_places() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 6, 2)
    sentences = torch.tensor([[-1, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, -1]])
    places = (((1, 2), (4, 4)), ((1, 3),))
    padded = torch.tensor([[*own, *[(-1, -1)] * (2 - len(own))] for own in places])
    found = span_loss(scores, sentences, padded, LONGEST).tolist()
    for row, own in enumerate(places):
        spans = {
            (first, last): math.exp(float(scores[row, first, 0] + scores[row, last, 1]))
            for first in range(6)
            for last in range(first, min(first + LONGEST, 6))
            if sentences[row, first] == sentences[row, last] >= 0
        }
        total = sum(spans[place] for place in own) / sum(spans.values())
        assert found[row] == pytest.approx(-math.log(total), rel=1e-5)
