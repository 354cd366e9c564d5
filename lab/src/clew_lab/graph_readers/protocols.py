"""Protocols of graph readers, with and without differentiable losses, and of the soft tokens that they read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from clew.errors import InputError
from clew.text.counts import format_count

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.graph.subgraphs.textual_graph import GraphContext
    from clew.types import FloatArray


class GraphReader(Protocol):
    """Reads a question and a subgraph, and returns losses of given answers or an answer; one result each, in order.

    All calls raise InputError if the lengths differ, and ProviderError if the model cannot be used.
    """

    @property
    def name(self) -> str:
        """The name of this reader on the command line."""

    @property
    def fingerprint(self) -> str:
        """Changes if a loss or an answer would change, apart from the encoder that was passed in."""

    def loss(
        self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]
    ) -> "FloatArray":
        """Return the negative log-likelihood of each answer (n,) in nats, the mean over its tokens."""

    def generate(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[str]:
        """Return one answer per question."""


class TrainableGraphReader(GraphReader, Protocol):
    """A reader whose losses keep their gradients."""

    def losses(self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]) -> "Tensor":
        """Return `loss` (n,) as a differentiable tensor."""

    def parameters(self) -> "list[Parameter]":
        """Return the trainable parameters in a fixed order; [] for a frozen reader."""


@runtime_checkable
class TokenCounter(Protocol):
    """A reader that tokenizes the text of graphs and truncates long ones."""

    @property
    def truncated_graphs(self) -> int:
        """Number of distinct graphs that were truncated so far, at the end of a line."""

    def count_tokens(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[int]:
        """Return the number of tokens it reads of each graph."""


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A text that a model wrote, and the number of tokens that it read and wrote for it."""

    text: str
    input_tokens: int
    output_tokens: int  # with the one that ends the text


@runtime_checkable
class CountedReader(Protocol):
    """A reader that counts the tokens of what it generates."""

    def generate_counted(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[GeneratedText]:
        """Return `GraphReader.generate` with numbers of tokens."""


class SoftTokenEncoder(Protocol):
    """Encodes graph contexts as vectors that a reader takes for tokens."""

    def __call__(self, contexts: Sequence["GraphContext"], /) -> "Tensor":
        """Return (n, tokens, width) vectors to place before the prompts; a row depends on its own context only."""


class TrainableSoftTokenEncoder(SoftTokenEncoder, Protocol):
    """A soft token encoder with weights, such as a `torch.nn.Module` with a matching `forward`."""

    def parameters(self) -> "Iterator[Parameter]":
        """Return the trainable parameters."""

    def state_dict(self) -> "Mapping[str, Tensor]":
        """Return the weights by name, each in the shape that it has in the encoder."""

    def load_state_dict(self, state_dict: "Mapping[str, Tensor]", /) -> Any:
        """Load weights by name; raises RuntimeError if names or shapes do not match."""


def check_counts(
    questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str] | None = None
) -> None:
    """Raise InputError unless there is one context, and one answer if any are given, per question."""
    for name, items in (("graphs", contexts), ("answers", answers)):
        if items is not None and len(items) != len(questions):
            raise InputError(f"{name}: {len(items)} for {format_count(len(questions), 'question')}; give one each")
