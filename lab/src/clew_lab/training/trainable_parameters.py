"""Modules around a reader's trainable parameters, so that the training loop can optimise, average and save them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast, final

from torch import nn

from clew_lab.graph_readers.protocols import GraphReader, TrainableGraphReader

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew_lab.nn.subgraph_policy import NodeBatch


@final
class ReaderParameters(nn.Module):
    """Trainable parameters of a reader, shared with it rather than copied."""

    def __init__(self, parameters: "Sequence[Parameter]") -> None:
        super().__init__()
        self.values = nn.ParameterList(parameters)


@final
class SelectorAndReader(nn.Module):
    """A node-selecting network and the trainable parameters of its reader; called like the network."""

    def __init__(self, scorer: nn.Module, parameters: "Sequence[Parameter]") -> None:
        super().__init__()
        self.scorer = scorer
        self.reader = ReaderParameters(parameters)

    def forward(self, batch: "NodeBatch") -> "tuple[Tensor, Tensor]":
        """Return the scores of nodes (n,) and of ending the selection of each graph (b,)."""
        scores: tuple[Tensor, Tensor] = self.scorer(batch)
        return scores


def as_trainable(reader: GraphReader) -> TrainableGraphReader | None:
    """Return the reader if it has trainable parameters, else None."""
    if not hasattr(reader, "losses") or not hasattr(reader, "parameters"):
        return None
    trainable = cast("TrainableGraphReader", reader)
    return trainable if trainable.parameters() else None


@contextmanager
def swap_parameters(parameters: "Sequence[Parameter]", values: nn.Module) -> Iterator[None]:
    """Temporarily replace a reader's own parameters by those of a module in the same order, such as averages."""
    pairs = list(zip(parameters, values.parameters(), strict=True))
    own = [parameter.data for parameter in parameters]
    for parameter, value in pairs:
        parameter.data = value.data
    try:
        yield
    finally:
        for parameter, data in zip(parameters, own, strict=True):
            parameter.data = data
