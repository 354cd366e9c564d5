"""The weights that a reader learns, as modules that the loop can train, average, write and read back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast, final

from torch import nn

from clew.answering.graph_readers.protocols import GraphReader

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.answering.graph_readers.protocols import TrainableGraphReader
    from clew.nn.subgraph_policy import NodeBatch


@final
class ReaderParameters(nn.Module):
    """What a reader learns, shared with it and not copied.

    Args:
        parameters: As `TrainableGraphReader.parameters` gives them.
    """

    def __init__(self, parameters: "Sequence[Parameter]") -> None:
        super().__init__()
        self.values = nn.ParameterList(parameters)


@final
class SelectorAndReader(nn.Module):
    """A network that selects and what its reader learns, trained together; called as the network is.

    Args:
        scorer: Such as `SubgraphScorer`.
        parameters: As `TrainableGraphReader.parameters` gives them.
    """

    def __init__(self, scorer: nn.Module, parameters: "Sequence[Parameter]") -> None:
        super().__init__()
        self.scorer = scorer
        self.reader = ReaderParameters(parameters)

    def forward(self, batch: "NodeBatch") -> "tuple[Tensor, Tensor]":
        """Return the network's scores of nodes (n,) and of ending each graph's selection (b,)."""
        scores: tuple[Tensor, Tensor] = self.scorer(batch)
        return scores


def as_trainable(reader: GraphReader) -> "TrainableGraphReader | None":
    """Return a reader as one that learns; None where it has nothing that does."""
    if not hasattr(reader, "losses") or not hasattr(reader, "parameters"):
        return None
    trainable = cast("TrainableGraphReader", reader)
    return trainable if trainable.parameters() else None


@contextmanager
def swap_parameters(parameters: "Sequence[Parameter]", values: nn.Module) -> Iterator[None]:
    """Let a reader read with the weights of a copy of what it learns, such as their average, for a while.

    Args:
        parameters: The reader's own.
        values: A `ReaderParameters` of the same shapes in the same order, or the reader's own.
    """
    pairs = list(zip(parameters, values.parameters(), strict=True))
    own = [parameter.data for parameter in parameters]
    for parameter, value in pairs:
        parameter.data = value.data
    try:
        yield
    finally:
        for parameter, data in zip(parameters, own, strict=True):
            parameter.data = data
