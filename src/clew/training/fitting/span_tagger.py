"""Training of the tagger of names on the states of words.

Loss: the mean over words of the cross-entropy of the right tag.

Source: own. Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from clew.arrays import LongArray
from clew.errors import InputError
from clew.inference.span_tagger import BEGIN, NEIGHBOURS, SpanTagger, join_neighbours
from clew.training.fitting.minibatches import minimise
from clew.training.hyperparameters import MAX_WIDTH, CheckedRecord

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class ExtractorRecipe(CheckedRecord):
    """Hyper-parameters of the tagger of names."""

    hidden: Annotated[int, Field(ge=1, le=MAX_WIDTH, description="Hidden units.")] = 128
    epochs: Annotated[int, Field(ge=1, description="Passes over the passages.")] = 5
    batch: Annotated[int, Field(ge=1, description="Passages per step.")] = 16
    rate: Annotated[float, Field(gt=0, description="Highest learning rate.")] = 3e-3
    decay: Annotated[float, Field(ge=0)] = 1e-2
    dropout: Annotated[float, Field(ge=0, lt=1, description="Share of hidden units left out in a step.")] = 0.1
    cased_passages: Annotated[int, Field(ge=1, description="Passages of a corpus whose capitals teach, at most.")] = (
        4000
    )
    held_out: Annotated[float, Field(ge=0, lt=1, description="Share of the titles that only measures.")] = 0.2
    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 0


@dataclass(frozen=True, slots=True, eq=False)
class TaggedWords:
    """The n words of a passage."""

    states: NDArray[np.float16]  # (n, d)
    tags: LongArray  # (n,)


def train_tagger(examples: Sequence[TaggedWords], recipe: ExtractorRecipe) -> SpanTagger:
    """Train the tagger; InputError is raised if no passage has a name."""
    import torch

    useful = [example for example in examples if len(example.tags)]
    if not any((example.tags == BEGIN).any() for example in useful):
        raise InputError("no annotated name stands in its passage: check that annotations and corpus fit")
    generator = torch.Generator().manual_seed(recipe.seed)
    width = NEIGHBOURS * useful[0].states.shape[1]
    hidden = (torch.randn(width, recipe.hidden, generator=generator) * (2 / width) ** 0.5).requires_grad_()
    hidden_bias = torch.zeros(recipe.hidden, requires_grad=True)
    output = torch.randn(recipe.hidden, 3, generator=generator) * (1 / recipe.hidden) ** 0.5
    output = output.requires_grad_()
    output_bias = torch.zeros(3, requires_grad=True)

    def drop(values: "Tensor") -> "Tensor":
        keep = torch.rand(values.shape, generator=generator) >= recipe.dropout
        return values * keep / (1 - recipe.dropout)

    def loss_of(positions: LongArray) -> "Tensor":
        picked = [useful[i] for i in positions.tolist()]
        states = torch.from_numpy(np.concatenate([join_neighbours(one.states.astype(np.float32)) for one in picked]))
        tags = torch.from_numpy(np.concatenate([one.tags for one in picked]))
        scores = drop(torch.relu(states @ hidden + hidden_bias)) @ output + output_bias
        return torch.nn.functional.cross_entropy(scores, tags)

    optimizer = torch.optim.AdamW([hidden, hidden_bias, output, output_bias], lr=recipe.rate, weight_decay=recipe.decay)
    minimise(loss_of, optimizer, len(useful), recipe)
    return SpanTagger(*(array.detach().numpy() for array in (hidden, hidden_bias, output, output_bias)))
