"""Protocols of graph readers, with and without differentiable losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clew.errors import InputError
from clew.text.display import format_count

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.types import FloatArray
    from clew_lab.graph.reader_context import GraphContext


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


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A text that a model wrote, and the number of tokens that it read and wrote for it."""

    text: str
    input_tokens: int
    output_tokens: int  # with the one that ends the text


@runtime_checkable
class TokenCounter(Protocol):
    """A reader that tokenizes the text of graphs, truncates long ones, and counts the tokens of what it generates."""

    @property
    def truncated_graphs(self) -> int:
        """Number of distinct graphs that were truncated so far, at the end of a line."""

    def count_tokens(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[int]:
        """Return the number of tokens it reads of each graph."""

    def generate_counted(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[GeneratedText]:
        """Return `GraphReader.generate` with numbers of tokens."""


def check_counts(
    questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str] | None = None
) -> None:
    """Raise InputError unless there is one context, and one answer if any are given, per question."""
    for name, items in (("graphs", contexts), ("answers", answers)):
        if items is not None and len(items) != len(questions):
            raise InputError(f"{name}: {len(items)} for {format_count(len(questions), 'question')}; give one each")
