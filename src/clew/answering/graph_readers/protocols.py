"""The seams of a reader whose loss something can be trained by, and of what it reads beside words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from clew.protocols import GraphReader

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.graph.subgraphs.textual_graph import GraphContext


class TrainableGraphReader(GraphReader, Protocol):
    """A reader whose losses keep their gradients."""

    def losses(self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]) -> "Tensor":
        """Return (n,) the losses of `loss` in the order of the questions, to be differentiated.

        Raises:
            ProviderError: The model cannot be used.
        """
        ...

    def parameters(self) -> "list[Parameter]":
        """Return what training may change, always in one order; nothing of a frozen reader."""
        ...


class SoftTokenEncoder(Protocol):
    """Contexts in, vectors out that a reader takes for tokens."""

    def __call__(self, contexts: Sequence["GraphContext"], /) -> "Tensor":
        """Return (n, tokens, width) vectors to be read before the prompts; a row depends on its own context only."""
        ...


class TrainableSoftTokenEncoder(Protocol):
    """Soft tokens with weights of their own; any `torch.nn.Module` that is called so."""

    def __call__(self, contexts: Sequence["GraphContext"], /) -> "Tensor":
        """Return (n, tokens, width) vectors to be read before the prompts; a row depends on its own context only."""
        ...

    def parameters(self) -> "Iterator[Parameter]":
        """Return what can be trained."""
        ...

    def state_dict(self) -> "Mapping[str, Tensor]":
        """Return the weights by name."""
        ...

    def load_state_dict(self, state_dict: "Mapping[str, Tensor]", /) -> Any:
        """Take weights by name; raises RuntimeError where they do not fit."""
        ...
