"""Training what a reader learns by, on parts of graphs that are given: a model's weights, a soft prompt, a graph token.

Source: He et al., "G-Retriever" (2024), section 5.4, for a soft prompt and a graph token trained on what a selection
without weights gives; Perozzi et al., "Let Your Graph Do the Talking" (2024), for the same on whole graphs.
Differs from the source: nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphContext
from clew.training.trainable_parameters import ReaderParameters, swap_parameters

if TYPE_CHECKING:
    from torch import Tensor, nn

    from clew.answering.graph_readers.protocols import TrainableGraphReader


@dataclass(frozen=True, slots=True, eq=False)
class ReaderExample:
    """A question, the part of a graph that is given with it, and what it should be answered."""

    question: str
    context: GraphContext
    answer: str


@final
class ReaderTuning:
    """The objective (see `clew.training.loop.Objective`).

    Args:
        examples: To learn from; may be made as they are asked for.
        validation: Not learned from; their mean loss chooses the epoch.
        reader: Which learns.
        batch: Examples a step, at least 1.
        epoch_size: Examples of an epoch, others in each; 0 for all.

    Raises:
        InputError: The reader has nothing that learns, or a number is too small.
    """

    no_signal_message = "no answer costs the reader anything, so there is nothing to learn from: give other questions"

    def __init__(
        self,
        examples: Sequence[ReaderExample],
        validation: Sequence[ReaderExample],
        reader: "TrainableGraphReader",
        batch: int,
        epoch_size: int = 0,
    ) -> None:
        if batch < 1 or not 0 <= epoch_size <= len(examples):
            raise InputError(
                f"batch is {batch}, an epoch {epoch_size} of {len(examples)} examples: at least 1 and at most all are "
                f"wanted"
            )
        if not len(examples):
            raise InputError("there is no example, so there is nothing to learn from: give others")
        if not reader.parameters():
            raise InputError(
                f"the reader {reader.name} has nothing that learns: open its model with trainable=True, or give it a "
                "soft prompt"
            )
        self._examples = examples
        self._validation = validation
        self._reader = reader
        self._batch_size = batch
        self._epoch_size = epoch_size or len(examples)

    def trainable_module(self) -> ReaderParameters:
        """Return what the loop is to train: the reader's own parameters, not a copy of them."""
        return ReaderParameters(self._reader.parameters())

    def batches(self, epoch_seed: int) -> Iterator[list[ReaderExample]]:
        """Yield examples in an order of the epoch's own."""
        order = np.random.default_rng(epoch_seed).choice(len(self._examples), self._epoch_size, replace=False).tolist()
        for start in range(0, len(order), self._batch_size):
            yield [self._examples[place] for place in order[start : start + self._batch_size]]

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return -(-self._epoch_size // self._batch_size)

    def halve(self, batch: list[ReaderExample]) -> tuple[list[ReaderExample], list[ReaderExample]] | None:
        """Return a batch as two; None for a single example."""
        middle = len(batch) // 2
        return (batch[:middle], batch[middle:]) if middle else None

    def loss(self, model: "nn.Module", batch: list[ReaderExample]) -> "Tensor":
        """Return the mean of what the answers cost the reader; `model` shares the reader's parameters."""
        del model
        losses = self._reader.losses(*_columns(batch))
        return losses.mean()

    def validate(self, model: "nn.Module") -> dict[str, float]:
        """Return minus the mean loss on what is held out; nothing where nothing is."""
        if not self._validation:
            return {}
        with swap_parameters(self._reader.parameters(), model):
            return {"minus loss": -float(self._reader.loss(*_columns(self._validation)).mean())}


def _columns(examples: Sequence[ReaderExample]) -> tuple[list[str], list[GraphContext], list[str]]:
    return [one.question for one in examples], [one.context for one in examples], [one.answer for one in examples]
