"""Search of the grid of rates, widths and dropout of G-RAG for the reranker with the best development figure.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), section 4.1, for the
three sets and for the choice by MRR. Differs from the source: nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from clew.errors import InputError
from clew.training.hyperparameters import TrainingResult
from clew.types import Progress
from clew_lab.training.recipes.rerank_recipe import RerankRecipe

RATES, WIDTHS, DROPOUTS = (5e-5, 1e-4, 5e-4), (8, 64, 128), (0.1, 0.2, 0.4)


@dataclass(frozen=True, slots=True)
class GridPoint:
    """One network of the grid."""

    rate: float
    width: int
    dropout: float
    figure: float  # mean of the development figures at its best epoch

    def describe(self) -> str:
        """Return the point in words."""
        return f"rate {self.rate:g}, width {self.width}, dropout {self.dropout:g}"


def search_grid(
    train: Callable[[RerankRecipe, Path], TrainingResult],
    recipe: RerankRecipe,
    out: Path,
    run: Path,
    progress: Progress,
) -> tuple[TrainingResult, tuple[GridPoint, ...]]:
    """Train every network of the grid, and write the weights of the best into `out`.

    `train` trains a recipe and writes its weights into a folder; networks that it has trained already it takes from
    its run, so that a search that was stopped goes on. Those of the grid are written below `run`. Returns the training
    of the best network, and all points in the order of the grid; of equal figures the first wins. Raises InputError
    where no development figure tells networks apart.
    """
    choices = list(product(RATES, WIDTHS, DROPOUTS))
    recipes = [
        replace(recipe, width=width, dropout=dropout, loop=replace(recipe.loop, rate=rate))
        for rate, width, dropout in choices
    ]
    points: list[GridPoint] = []
    for number, (one, (rate, width, dropout)) in enumerate(zip(recipes, choices, strict=True)):
        progress("networks of the grid", number, len(recipes))
        result = train(one, run / "grid" / f"rate-{rate:g}-width-{width}-dropout-{dropout:g}")
        if not result.figures:
            raise InputError("a grid is searched by development figures, and there is no --validate: give one")
        points.append(GridPoint(rate, width, dropout, result.figures["mean"]))
    best = max(range(len(points)), key=lambda place: points[place].figure)
    return train(recipes[best], out), tuple(points)
