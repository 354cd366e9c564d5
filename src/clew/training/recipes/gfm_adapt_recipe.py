"""Settings of `clew adapt`; loading this module loads no torch."""

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from clew.training.hyperparameters import CheckedRecord, Recipe, RetrievalLoss


@dataclass(frozen=True, slots=True)
class AdaptRecipe(CheckedRecord):
    """Adaptation of weights to an index; their shape stays."""

    questions: Annotated[int, Field(ge=1, description="Questions made of the index, at most.")] = 1500
    loss: RetrievalLoss = field(default_factory=RetrievalLoss)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=1, rate=2e-4, average=0.98))
