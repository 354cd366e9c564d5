"""Losses for rankings of nodes, by logits (n,) and which nodes are relevant (n,), at least one of each kind.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.2.2, and the
authors' code, which differ. Differs from the source: `listwise_loss` is in neither.
"""

import torch
from torch import Tensor
from torch.nn import functional

_EPSILON = 1e-10
_CODE_EPSILON = 1e-5  # added to the sum and to the ratio in the authors' code: in a large graph they bound the loss


def binary_loss(logits: Tensor, relevant: Tensor, temperature: float | None = None) -> Tensor:
    """Return the cross-entropy of a question's nodes: the mean over the relevant ones plus the mean over the others.

    A `temperature` gives the form of the authors' code: the others are weighted by their softmax at it, and the sum is
    divided by that of all weights, which is 2. None weights them equally and divides by nothing, as the paper does.
    `logits` (n,) and `relevant` (n,) give a scalar in nats.
    """
    losses = functional.binary_cross_entropy_with_logits(logits, relevant.to(logits.dtype), reduction="none")
    others = logits[~relevant]
    if temperature is None:
        weights = torch.full_like(others, 1.0 / max(len(others), 1))
        return losses[relevant].mean() + (weights * losses[~relevant]).sum()
    weights = functional.softmax(others.detach() / temperature, dim=0)
    return (losses[relevant].mean() + (weights * losses[~relevant]).sum()) / (1.0 + weights.sum())


def ratio_loss(logits: Tensor, relevant: Tensor, *, as_paper: bool = False) -> Tensor:
    """Return the loss of the relevant nodes' share of the probability: the code's mean of -log(p / sum of all p).

    As there, 1e-5 is added to the sum and to the share. With `as_paper` it is minus the mean of p / sum of the others'
    p. Here p is the logistic function of `logits` (n,), and the mean is over the `relevant` (n,); a scalar.
    """
    scores = torch.sigmoid(logits)
    if as_paper:
        return -(scores[relevant] / scores[~relevant].sum().clamp_min(_EPSILON)).mean()
    return -torch.log(scores[relevant] / (scores.sum() + _CODE_EPSILON) + _CODE_EPSILON).mean()


def listwise_loss(logits: Tensor, relevant: Tensor) -> Tensor:
    """Return the mean of -log softmax over the relevant nodes, each among itself and the others.

    Relevant nodes do not compete with each other, so that the last passage of a path is raised like the first.
    `logits` (n,) and `relevant` (n,) give a scalar in nats.
    """
    others = torch.logsumexp(logits[~relevant], dim=0)
    return (torch.logaddexp(logits[relevant], others) - logits[relevant]).mean()
