"""Losses against their formulas, and the signs of their gradients."""

import math

import pytest
import torch

from clew.nn.ranking_losses import binary_loss, listwise_loss, ratio_loss

LOGITS = torch.tensor([2.0, -1.0, 0.5, 0.0])
RELEVANT = torch.tensor([True, False, True, False])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_cross_entropy_as_in_the_paper() -> None:
    positive = -(math.log(sigmoid(2.0)) + math.log(sigmoid(0.5))) / 2
    negative = -(math.log(1 - sigmoid(-1.0)) + math.log(1 - sigmoid(0.0))) / 2
    assert float(binary_loss(LOGITS, RELEVANT)) == pytest.approx(positive + negative, rel=1e-5)


def test_cross_entropy_as_in_the_code_weights_the_hardest_most() -> None:
    hard, easy = math.exp(0.0 / 0.2), math.exp(-1.0 / 0.2)
    negative = -(hard * math.log(1 - sigmoid(0.0)) + easy * math.log(1 - sigmoid(-1.0))) / (hard + easy)
    positive = -(math.log(sigmoid(2.0)) + math.log(sigmoid(0.5))) / 2
    assert float(binary_loss(LOGITS, RELEVANT, 0.2)) == pytest.approx((positive + negative) / 2, rel=1e-5)


@pytest.mark.parametrize(("relevant", "others"), [(1, 1), (1, 128), (7, 40)])
def test_cross_entropy_of_the_code_is_divided_by_the_sum_of_the_weights(relevant: int, others: int) -> None:
    logits = torch.randn(relevant + others, generator=torch.Generator().manual_seed(0))
    right = torch.arange(relevant + others) < relevant
    weights = [1 / relevant] * relevant
    scale = sum(math.exp(x) for x in logits[relevant:].tolist())
    weights += [math.exp(x) / scale for x in logits[relevant:].tolist()]
    losses = [
        -math.log(sigmoid(x) if r else 1 - sigmoid(x)) for x, r in zip(logits.tolist(), right.tolist(), strict=True)
    ]
    wanted = sum(w * x for w, x in zip(weights, losses, strict=True)) / sum(weights)
    assert float(binary_loss(logits, right, 1.0)) == pytest.approx(wanted, rel=1e-4)


def test_ratios_of_paper_and_code() -> None:
    others, every = sigmoid(-1.0) + sigmoid(0.0), sum(map(sigmoid, LOGITS.tolist()))
    as_paper = -(sigmoid(2.0) / others + sigmoid(0.5) / others) / 2
    as_code = -(math.log(sigmoid(2.0) / every) + math.log(sigmoid(0.5) / every)) / 2
    assert float(ratio_loss(LOGITS, RELEVANT, as_paper=True)) == pytest.approx(as_paper, rel=1e-5)
    assert float(ratio_loss(LOGITS, RELEVANT)) == pytest.approx(as_code, rel=1e-4)


def test_the_ratio_of_the_code_has_its_small_numbers_which_count_in_large_graphs() -> None:
    logits = torch.randn(100_000, generator=torch.Generator().manual_seed(0)) * 3
    right = torch.arange(100_000) < 3
    every = sum(map(sigmoid, logits.tolist()))
    wanted = -sum(math.log(sigmoid(x) / (every + 1e-5) + 1e-5) for x in logits[:3].tolist()) / 3
    assert float(ratio_loss(logits, right)) == pytest.approx(wanted, abs=1e-5)
    hopeless = torch.tensor([-100.0, 5.0])
    assert float(ratio_loss(hopeless, torch.tensor([True, False]))) == pytest.approx(-math.log(1e-5), rel=1e-6)


def test_listwise_relevant_nodes_do_not_compete() -> None:
    others = math.exp(-1.0) + math.exp(0.0)
    wanted = -sum(math.log(math.exp(x) / (math.exp(x) + others)) for x in (2.0, 0.5)) / 2
    assert float(listwise_loss(LOGITS, RELEVANT)) == pytest.approx(wanted, rel=1e-5)
    raised = LOGITS + torch.tensor([5.0, 0.0, 0.0, 0.0])
    alone = listwise_loss(raised, torch.tensor([False, False, True, False]))
    assert float(listwise_loss(raised, RELEVANT)) < float(alone)
