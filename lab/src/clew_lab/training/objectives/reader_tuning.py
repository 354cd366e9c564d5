"""Tuning of a reader on given subgraphs: the weights of its model, a soft prompt, or a graph token.

Source: He et al., "G-Retriever" (2024), section 5.4, for a soft prompt and a graph token trained on subgraphs selected
without learned weights; Perozzi et al., "Let Your Graph Do the Talking" (2024), for the same on whole graphs.
Differs from the source: nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from torch import Tensor, nn

from clew.errors import InputError
from clew_lab.graph.reader_context import GraphContext
from clew_lab.graph_readers.protocols import TrainableGraphReader
from clew_lab.training.trainable_parameters import ReaderParameters, swap_parameters


@dataclass(frozen=True, slots=True, eq=False)
class ReaderExample:
    """A question, the subgraph given with it, and the expected answer."""

    question: str
    context: GraphContext
    answer: str


@final
class ReaderTuning:
    """Objective of tuning a reader with trainable parameters (see `clew.training.loop.Objective`).

    There is at least one training example, and they may be created lazily. `batch` examples make a step; `epoch_size`
    of them, resampled in each, an epoch; 0 for all.
    """

    no_signal_message = "no answer costs the reader anything, so there is nothing to learn from: give other questions"

    def __init__(
        self,
        examples: Sequence[ReaderExample],
        validation: Sequence[ReaderExample],
        reader: TrainableGraphReader,
        batch: int,
        epoch_size: int = 0,
    ) -> None:
        if batch < 1 or not 0 <= epoch_size <= len(examples):
            raise InputError(
                f"batch is {batch} and an epoch {epoch_size} of {len(examples)} examples: wanted a batch of at least 1 "
                "and at most all examples"
            )
        if not len(examples):
            raise InputError("there are no examples, so there is nothing to learn from: give others")
        if not reader.parameters():
            raise InputError(
                f"the reader {reader.name} has no trainable parameters: open its model with trainable=True, or give it "
                "a soft prompt"
            )
        self._examples = examples
        self._validation = validation
        self._reader = reader
        self._batch_size = batch
        self._epoch_size = epoch_size or len(examples)

    def trainable_module(self) -> ReaderParameters:
        """Return the module to train, which holds the reader's own parameters."""
        return ReaderParameters(self._reader.parameters())

    def batches(self, epoch_seed: int) -> Iterator[list[ReaderExample]]:
        """Yield the examples of an epoch in random order."""
        order = np.random.default_rng(epoch_seed).choice(len(self._examples), self._epoch_size, replace=False).tolist()
        for start in range(0, len(order), self._batch_size):
            yield [self._examples[position] for position in order[start : start + self._batch_size]]

    def __len__(self) -> int:
        return -(-self._epoch_size // self._batch_size)

    def halve(self, batch: list[ReaderExample]) -> tuple[list[ReaderExample], list[ReaderExample]] | None:
        """Split a batch; None for a single example."""
        middle = len(batch) // 2
        return (batch[:middle], batch[middle:]) if middle else None

    def loss(self, model: nn.Module, batch: list[ReaderExample]) -> Tensor:
        """Return the reader's mean loss of the answers, a scalar in nats; `model` shares the reader's parameters."""
        del model
        return self._reader.losses(*_columns(batch)).mean()

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the negated mean loss of the validation examples; empty without any."""
        if not self._validation:
            return {}
        with swap_parameters(self._reader.parameters(), model):
            return {"minus loss": -float(self._reader.loss(*_columns(self._validation)).mean())}


def _columns(examples: Sequence[ReaderExample]) -> tuple[list[str], list[GraphContext], list[str]]:
    return [one.question for one in examples], [one.context for one in examples], [one.answer for one in examples]
