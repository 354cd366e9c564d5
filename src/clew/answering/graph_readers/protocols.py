"""The seams of a reader whose loss something can be trained by, and of what it reads beside words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from clew.graph.subgraphs.textual_graph import GraphContext
    from clew.types import FloatArray


if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.graph.subgraphs.textual_graph import GraphContext


class GraphReader(Protocol):
    """A question and a part of a graph in, how well it leads to an answer out; one result each, in order."""

    @property
    def name(self) -> str:
        """The name a user gives to ask for this reader."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever a loss or an answer would, an encoder that it was given left aside."""
        ...

    def loss(
        self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]
    ) -> "FloatArray":
        """Return (n,) the negative log-likelihood of each answer in nats, the mean over its tokens.

        Raises:
            ProviderError: The model cannot be used.
        """
        ...

    def generate(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[str]:
        """Return an answer to each question.

        Raises:
            ProviderError: The model cannot be used.
        """
        ...


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


@runtime_checkable
class TokenCounter(Protocol):
    """A reader of graphs whose text is cut into tokens, and may be too long."""

    @property
    def truncated_graphs(self) -> int:
        """How many different graphs were too long so far, and lost lines of their end."""
        ...

    def count_tokens(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[int]:
        """Return how many tokens it reads of each graph.

        Raises:
            ProviderError: The model cannot be used.
        """
        ...
