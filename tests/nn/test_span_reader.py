"""The loss of a reader, against the sum over all places of an answer one by one."""

import math

import pytest
import torch

from clew.nn.span_reader import span_loss


def test_the_loss_sums_the_probabilities_of_all_places() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 6, 2)
    allowed = torch.tensor([[False, True, True, True, True, False], [True] * 6])
    places = (((1, 2), (4, 4)), ((0, 5),))
    begins = torch.tensor([[begin for begin, _ in own] + [-1] * (2 - len(own)) for own in places])
    ends = torch.tensor([[end for _, end in own] + [-1] * (2 - len(own)) for own in places])
    found = span_loss(scores, begins, ends, allowed).tolist()
    for row, own in enumerate(places):
        shares = torch.exp(scores[row]) * allowed[row][:, None]
        shares = shares / shares.sum(0)
        total = sum(float(shares[begin, 0] * shares[end, 1]) for begin, end in own)
        assert found[row] == pytest.approx(-math.log(total), rel=1e-5)
