"""Training the selection of subgraphs by what a reader makes of them.

`policy`: selections are drawn; one that a reader answers better from than from the others of the same question becomes
likelier, one that it answers worse from less likely (REINFORCE, each draw's baseline the mean of the others).
`paper`: the likeliest nodes are selected, and the printed loss is minimised,

    L = - sum over questions of loss * (sum over selected nodes of log(p + eps) + the same sum over selected edges)

which raises the probability of whatever was selected, the more the worse it was answered from.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3.2, for `paper`; Kool, van Hoof and Welling, "Buy 4 REINFORCE Samples, Get a Baseline for Free!" (2019), for
the baseline of `policy`.
Differs from the source: `policy` follows what the source says its loss is for, and not the loss as printed; a node
that is selected has a price, where one is set. Where the reader learns too (its soft prompt, say), the mean of its own
losses on the same selections is added, and does not reach the network.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from clew.answering.graph_readers.protocols import GraphReader
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import (
    GraphContext,
    GraphQuery,
    Subgraph,
    TextualGraph,
    build_context,
    induced_subgraph,
)
from clew.nn.node_gcn import edge_log_probabilities
from clew.nn.subgraph_policy import sample_without_replacement, selection_log_probability
from clew.retrievers.subgraph.gcn_features import node_offsets
from clew.retrievers.subgraph.gcn_weights import ScorerSettings, make_node_batch
from clew.training.trainable_parameters import SelectorAndReader, as_trainable, swap_parameters

if TYPE_CHECKING:
    from torch import Tensor, nn

    from clew.types import FloatArray, LongArray

POLICY, PAPER = "policy", "paper"
_EPS = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackExample:
    """A question on a graph, and what it should be answered.

    Attributes:
        question_graph: The question on its graph of at least one node.
        question: Its words, for the reader.
        answers: Any of them will do: a selection is worth what the easiest of them is.

    Raises:
        InputError: There is no answer.
    """

    question_graph: GraphQuery
    question: str
    answers: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what no selection can be judged by."""
        if not self.answers:
            raise InputError(f"the question {self.question!r} has no answer: wanted at least one; leave it out")


@dataclass(frozen=True, slots=True)
class FeedbackRecipe:
    """How selections are drawn and judged.

    Attributes:
        objective: `policy` or `paper`.
        budget: Nodes of a selection at most.
        draws: Selections of each question (`policy`), at least 2.
        price: Of one selected node, in nats of the reader's loss.
        batch: Questions a step.
    """

    objective: str = POLICY
    budget: int = 20
    draws: int = 4
    price: float = 0.0
    batch: int = 16

    def __post_init__(self) -> None:
        """Refuse numbers that train nothing."""
        if self.objective not in (POLICY, PAPER):
            raise InputError(f"objective is {self.objective!r}: wanted {POLICY} or {PAPER}")
        wanted = {
            "budget": (self.budget, 1),
            "draws": (self.draws, 2),
            "batch": (self.batch, 1),
            "price": (self.price, 0),
        }
        for name, (seen, least) in wanted.items():
            if not seen >= least:
                raise InputError(f"{name} is {seen}: at least {least} is wanted")


def check_stopping(settings: ScorerSettings, recipe: FeedbackRecipe) -> None:
    """Refuse a network whose selections may end under an objective that never says when.

    Raises:
        InputError: It is such a one.
    """
    if settings.stops and recipe.objective == PAPER:
        raise InputError(
            "the objective paper says nothing of where a selection ends, so a network with stops would end anywhere: "
            "wanted the objective policy, or no stops"
        )


@final
class SubgraphFeedback:
    """The objective (see `clew.training.loop.Objective`).

    Args:
        examples: To learn from.
        validation: Not learned from; their mean loss chooses the epoch.
        reader: Gives the feedback. One with weights of its own that learn (`losses`, `parameters`) learns with it.
        settings: Of the network.
        recipe: How.

    Raises:
        InputError: The network may end a selection, and the objective does not teach where.
    """

    no_signal_message = (
        "the reader answers every selection of a question alike, so there is nothing to learn from: give graphs that "
        "are larger than the budget, or another reader"
    )

    def __init__(
        self,
        examples: Sequence[FeedbackExample],
        validation: Sequence[FeedbackExample],
        reader: GraphReader,
        settings: ScorerSettings,
        recipe: FeedbackRecipe,
    ) -> None:
        check_stopping(settings, recipe)
        self._examples = examples
        self._validation = validation
        self._reader = reader
        self._trainable = as_trainable(reader)
        self._settings = settings
        self._recipe = recipe

    def trainable_module(self, scorer: "nn.Module") -> "nn.Module":
        """Return what the loop is to train: the network, and with it what the reader learns, where it does.

        A loop that trains the network alone leaves such a reader as it is.
        """
        return scorer if self._trainable is None else SelectorAndReader(scorer, self._trainable.parameters())

    def batches(self, epoch_seed: int) -> "Iterator[tuple[int, list[FeedbackExample]]]":
        """Yield a seed for the draws and questions."""
        order = np.random.default_rng(epoch_seed).permutation(len(self._examples))
        for start in range(0, len(order), self._recipe.batch):
            yield epoch_seed * 1_000_003 + start, [self._examples[i] for i in order[start : start + self._recipe.batch]]

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return -(-len(self._examples) // self._recipe.batch)

    def halve(
        self, batch: tuple[int, list[FeedbackExample]]
    ) -> tuple[tuple[int, list[FeedbackExample]], tuple[int, list[FeedbackExample]]] | None:
        """Return a batch as two; None for a single question."""
        seed, questions = batch
        middle = len(questions) // 2
        return ((seed, questions[:middle]), (seed + 1, questions[middle:])) if middle else None

    def loss(self, model: "nn.Module", batch: tuple[int, list[FeedbackExample]]) -> "Tensor | None":
        """Return the loss of a batch: a number whose gradient, not whose value, says something."""
        seed, questions = batch
        recipe, paper = self._recipe, self._recipe.objective == PAPER
        whole = make_node_batch([one.question_graph for one in questions], self._settings)
        scores, ends = model(whole)
        each = scores.split(torch.bincount(whole.graph_of, minlength=whole.graph_count).tolist())
        generator = torch.Generator().manual_seed(seed)
        orders = [
            [_select_likeliest(own, recipe.budget)]
            if paper
            else [sample_without_replacement(own, end, recipe.budget, generator) for _ in range(recipe.draws)]
            for own, end in zip(each, ends, strict=True)
        ]
        repeated = [one for one, some in zip(questions, orders, strict=True) for _ in some]
        flat = [order for some in orders for order in some]
        contexts = [_selected_context(one, order) for one, order in zip(repeated, flat, strict=True)]
        judged = self._differentiable_losses(repeated, contexts, trainable=isinstance(model, SelectorAndReader))
        costs = judged.detach().reshape(len(questions), -1)
        found: Tensor | None
        if paper:
            graphs = [one.question_graph.graph.graph for one in questions]
            found = paper_loss(each, [context.subgraph for context in contexts], graphs, costs[:, 0])
        else:
            sizes = torch.tensor([len(context.subgraph.nodes) for context in contexts]).reshape(costs.shape)
            found = reinforce_loss(each, ends, orders, costs + recipe.price * sizes, recipe.budget)
        if not judged.requires_grad:
            return found
        return judged.mean() if found is None else found + judged.mean()

    def validate(self, model: "nn.Module") -> dict[str, float]:
        """Return the likelihood of the held-out answers as the reader has them from the likeliest selections."""
        if not self._validation:
            return {}
        contexts: list[GraphContext] = []
        with torch.no_grad():
            for one in self._validation:
                scores, ends = model(make_node_batch([one.question_graph], self._settings))
                nodes = sample_without_replacement(scores, ends[0], self._recipe.budget, None)
                contexts.append(_selected_context(one, nodes))
        with self._averaged_reader(model):
            losses = self._reader_losses(self._validation, contexts)
        sizes = np.array([len(context.subgraph.nodes) for context in contexts])
        worth = float(np.mean(losses + self._recipe.price * sizes))
        return {"minus loss": -worth, "nodes": float(sizes.mean())}

    def _reader_losses(self, examples: Sequence[FeedbackExample], contexts: Sequence[GraphContext]) -> "FloatArray":
        """Return the reader's loss (n,) of the easiest answer of each."""
        found = self._reader.loss(*_reader_inputs(examples, contexts))
        return np.minimum.reduceat(found, _answer_offsets(examples))

    def _differentiable_losses(
        self, examples: Sequence[FeedbackExample], contexts: Sequence[GraphContext], *, trainable: bool
    ) -> "Tensor":
        """Return the same, with gradients where the reader learns."""
        if self._trainable is None or not trainable:
            return torch.from_numpy(self._reader_losses(examples, contexts))
        found = self._trainable.losses(*_reader_inputs(examples, contexts)).float().cpu()
        each = torch.split(found, [len(one.answers) for one in examples])
        return torch.stack([losses.min() for losses in each])

    def _averaged_reader(self, model: "nn.Module") -> "AbstractContextManager[None]":
        """Let the reader read with what a model that the loop validates has for it."""
        if self._trainable is None or not isinstance(model, SelectorAndReader):
            return nullcontext()
        return swap_parameters(self._trainable.parameters(), model.reader)


def reinforce_loss(
    scores: "Sequence[Tensor]", ends: "Tensor", orders: "Sequence[Sequence[Tensor]]", costs: "Tensor", budget: int
) -> "Tensor | None":
    """Return the loss of `policy`, whose gradient is that of the expected cost in the mean; None where it has none.

    Args:
        scores: For each of b questions those of its nodes (n,).
        ends: (b,) of ending the selection.
        orders: For each question d >= 2 selections as they were drawn, each (k,).
        costs: (b, d) of each selection.
        budget: Nodes of a selection at most.
    """
    # From the least on, so that equal costs have no advantage at all, where rounding would leave them a little one.
    extra, draws = costs - costs.min(1, keepdim=True).values, costs.shape[1]
    advantages = (extra.sum(1, keepdim=True) - extra) / (draws - 1) - extra
    terms = [
        advantage * selection_log_probability(own, end, order, budget)
        for own, end, row, some in zip(scores, ends, advantages, orders, strict=True)
        for advantage, order in zip(row, some, strict=True)
        if bool(advantage != 0)
    ]
    return -torch.stack(terms).sum() / costs.numel() if terms else None


def paper_loss(
    scores: "Sequence[Tensor]", parts: Sequence[Subgraph], graphs: Sequence[TextualGraph], losses: "Tensor"
) -> "Tensor":
    """Return the loss of `paper`, the mean over questions.

    Args:
        scores: For each of b questions those of its nodes (n,), before the softmax.
        parts: What was selected.
        graphs: From what.
        losses: (b,) of the reader.
    """
    total = scores[0].new_zeros(())
    for own, part, graph, loss in zip(scores, parts, graphs, losses, strict=True):
        nodes = torch.log_softmax(own, 0)
        told = (nodes[torch.from_numpy(part.nodes).long()].exp() + _EPS).log().sum()
        if len(part.edges):
            ends = torch.from_numpy(np.ascontiguousarray(graph.edges)).long()
            edges = edge_log_probabilities(nodes, ends)
            told = told + (edges[torch.from_numpy(part.edges).long()].exp() + _EPS).log().sum()
        total = total - told * loss
    return total / len(parts)


def _select_likeliest(scores: "Tensor", budget: int) -> "Tensor":
    return torch.argsort(scores.detach(), descending=True, stable=True)[:budget]


def _selected_context(example: FeedbackExample, order: "Tensor") -> GraphContext:
    return build_context(example.question_graph, induced_subgraph(example.question_graph.graph.graph, order.tolist()))


def _reader_inputs(
    examples: Sequence[FeedbackExample], contexts: Sequence[GraphContext]
) -> tuple[list[str], list[GraphContext], list[str]]:
    """Return question, context and answer of every answer of every example."""
    return (
        [one.question for one in examples for _ in one.answers],
        [context for one, context in zip(examples, contexts, strict=True) for _ in one.answers],
        [answer for one in examples for answer in one.answers],
    )


def _answer_offsets(examples: Sequence[FeedbackExample]) -> "LongArray":
    return node_offsets([len(one.answers) for one in examples])[:-1]
