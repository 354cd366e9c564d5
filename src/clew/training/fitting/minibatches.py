"""Mini-batch optimisation of small models that need no validation and no checkpoints."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

    from clew.types import LongArray


def minimise(
    loss_of: "Callable[[LongArray], Tensor]",
    optimizer: "Optimizer",
    count: int,
    *,
    epochs: int,
    batch: int,
    rate: float,
    seed: int,
) -> None:
    """Minimise a loss over `count` examples; the learning rate decays from `rate` as a cosine.

    Each epoch has its own order, drawn by `seed`; `loss_of` returns the loss of a batch of examples, given by their
    positions (b,).
    """
    generator = np.random.default_rng(seed)
    steps = epochs * math.ceil(count / batch)
    step = 0
    for _ in range(epochs):
        order = generator.permutation(count)
        for start in range(0, count, batch):
            for group in optimizer.param_groups:
                group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * step / steps))
            step += 1
            loss = loss_of(order[start : start + batch])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
