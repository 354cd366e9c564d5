"""Mini-batch optimisation of small models that need no validation and no checkpoints."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

    from clew.types import LongArray


class MinibatchRecipe(Protocol):
    """Length, step size and seed of a training; `rate` is the initial learning rate."""

    @property
    def epochs(self) -> int:
        """Passes over the examples."""

    @property
    def batch(self) -> int:
        """Examples of a step."""

    @property
    def rate(self) -> float:
        """Initial learning rate."""

    @property
    def seed(self) -> int:
        """Random seed."""


def minimise(
    loss_of: "Callable[[LongArray], Tensor]",
    optimizer: "Optimizer",
    count: int,
    recipe: MinibatchRecipe,
) -> None:
    """Minimise a loss over `count` examples; the recipe's learning rate decays as a cosine.

    Each epoch has its own random order; `loss_of` returns the loss of a batch, given by its positions (b,).
    """
    generator = np.random.default_rng(recipe.seed)
    steps = recipe.epochs * math.ceil(count / recipe.batch)
    step = 0
    for _ in range(recipe.epochs):
        order = generator.permutation(count)
        for start in range(0, count, recipe.batch):
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate * 0.5 * (1 + math.cos(math.pi * step / steps))
            step += 1
            loss = loss_of(order[start : start + recipe.batch])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
