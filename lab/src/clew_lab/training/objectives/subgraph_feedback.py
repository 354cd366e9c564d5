"""Training of a subgraph selector on a reader's feedback.

`policy`: selections are sampled; one from which the reader answers better than from the other samples of the same
question becomes likelier, a worse one less likely (REINFORCE; the baseline of a sample is the mean of the others).
`paper`: the likeliest nodes are selected, and the loss as published is minimised,

    L = - sum over questions of loss * (sum over selected nodes of log(p + eps) + the same sum over selected edges)

which raises the probability of whatever was selected, the more so the worse the answer was.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3.2, for `paper`, and equation 5 for the choice of the model by it; Kool, van Hoof and Welling, "Buy 4 REINFORCE
Samples, Get a Baseline for Free!" (2019), for the baseline of `policy`.
Differs from the source: the published loss is the mean over questions, not their sum; `policy` follows the stated
purpose of the source's loss instead of its formula; a selected node may have a price. If the reader is trained as well
(for example its soft prompt), the mean of its losses on the same selections is added, without a gradient to the
network.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, final

import numpy as np
import torch
from torch import Tensor, nn

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import Subgraph, TextualGraph, induced_subgraph
from clew.retrievers.subgraph.gcn import make_node_batch
from clew.retrievers.subgraph.settings import ScorerSettings
from clew_lab.graph.reader_context import GraphContext, build_context
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.nn.subgraph_policy import (
    NodeBatch,
    edge_log_probabilities,
    sample_without_replacement,
    selection_log_probability,
)
from clew_lab.training.data.graph_questions import EncodedQuestion, lowest_losses, reader_inputs
from clew_lab.training.hyperparameters import FeedbackRecipe
from clew_lab.training.trainable_parameters import SelectorAndReader, as_trainable, swap_parameters

POLICY: Final = "policy"
PAPER: Final = "paper"
_EPS = 1e-8


@final
class SubgraphFeedback:
    """Objective of selector training (see `clew.training.loop.Objective`).

    If the reader that gives the feedback has trainable parameters, they are trained as well. The network's settings may
    not let it end a selection if the recipe does not train that.
    """

    no_signal_message = (
        "the reader's answers do not depend on the selection, so there is nothing to learn from: give graphs that "
        "are larger than the budget, or another reader"
    )

    def __init__(
        self,
        examples: Sequence[EncodedQuestion],
        validation: Sequence[EncodedQuestion],
        reader: GraphReader,
        settings: ScorerSettings,
        recipe: FeedbackRecipe,
    ) -> None:
        for one in (*examples, *validation):
            if not one.question.answers:
                raise InputError(f"the question {one.question.text!r} has no answer: wanted at least one; leave it out")
        recipe.check_stops(stops=settings.stops)
        self._examples = examples
        self._validation = validation
        self._reader = reader
        self._trainable = as_trainable(reader)
        self._settings = settings
        self._recipe = recipe

    def trainable_module(self, scorer: nn.Module) -> nn.Module:
        """Return the module to train: the network, together with the reader's trainable parameters if it has any.

        If the network alone is passed to the loop, such a reader stays unchanged.
        """
        return scorer if self._trainable is None else SelectorAndReader(scorer, self._trainable.parameters())

    def batches(self, epoch_seed: int) -> Iterator[tuple[int, list[EncodedQuestion]]]:
        """Yield a sampling seed with the questions of a batch."""
        order = np.random.default_rng(epoch_seed).permutation(len(self._examples))
        for start in range(0, len(order), self._recipe.batch):
            yield epoch_seed * 1_000_003 + start, [self._examples[i] for i in order[start : start + self._recipe.batch]]

    def __len__(self) -> int:
        return -(-len(self._examples) // self._recipe.batch)

    def halve(
        self, batch: tuple[int, list[EncodedQuestion]]
    ) -> tuple[tuple[int, list[EncodedQuestion]], tuple[int, list[EncodedQuestion]]] | None:
        """Split a batch; None for a single question."""
        seed, questions = batch
        middle = len(questions) // 2
        return ((seed, questions[:middle]), (seed + 1, questions[middle:])) if middle else None

    def loss(self, model: nn.Module, batch: tuple[int, list[EncodedQuestion]]) -> Tensor | None:
        """Return a surrogate loss, a scalar; its gradient is meaningful, its value is not. None if all costs equal."""
        seed, questions = batch
        recipe, paper = self._recipe, self._recipe.objective == PAPER
        scores, ends, sizes = self._score_nodes(model, questions)
        by_question = torch.split(scores, sizes)
        generator = torch.Generator().manual_seed(seed)
        orders = [
            [torch.argsort(own.detach(), descending=True, stable=True)[: recipe.budget]]
            if paper
            else [sample_without_replacement(own, end, recipe.budget, generator) for _ in range(recipe.draws)]
            for own, end in zip(by_question, ends, strict=True)
        ]
        repeated = [one for one, samples in zip(questions, orders, strict=True) for _ in samples]
        flat = [order for samples in orders for order in samples]
        contexts = [_selected_context(one, order) for one, order in zip(repeated, flat, strict=True)]
        reader_losses = self._differentiable_losses(repeated, contexts, trainable=isinstance(model, SelectorAndReader))
        costs = reader_losses.detach().reshape(len(questions), -1)
        loss: Tensor | None
        if paper:
            graphs = [one.question_graph.graph.graph for one in questions]
            loss = paper_loss(by_question, [context.subgraph for context in contexts], graphs, costs[:, 0])
        else:
            counts = torch.tensor([len(context.subgraph.nodes) for context in contexts]).reshape(costs.shape)
            loss = reinforce_loss(by_question, ends, orders, costs + recipe.price * counts, recipe.budget)
        if not reader_losses.requires_grad:
            return loss
        return reader_losses.mean() if loss is None else loss + reader_losses.mean()

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return figures of the likeliest selections on validation questions.

        They are the negated mean cost and the mean size; before them, with `choose_by="published"`, the negated
        published loss, which is equation 5 of the source.
        """
        if not self._validation:
            return {}
        contexts: list[GraphContext] = []
        all_scores: list[Tensor] = []
        with torch.no_grad():
            for one in self._validation:
                scores, ends, _ = self._score_nodes(model, [one])
                nodes = sample_without_replacement(scores, ends[0], self._recipe.budget, None)
                contexts.append(_selected_context(one, nodes))
                all_scores.append(scores)
        with self._averaged_reader(model):
            losses = lowest_losses(self._reader, self._validation, contexts)
        sizes = np.array([len(context.subgraph.nodes) for context in contexts])
        cost = float(np.mean(losses + self._recipe.price * sizes))
        figures = {"minus loss": -cost, "nodes": float(sizes.mean())}
        if self._recipe.choose_by == "reader":
            return figures
        graphs = [one.question_graph.graph.graph for one in self._validation]
        published = paper_loss(all_scores, [one.subgraph for one in contexts], graphs, torch.from_numpy(losses))
        return {"minus published loss": -float(published)} | figures

    def _score_nodes(self, model: nn.Module, questions: Sequence[EncodedQuestion]) -> tuple[Tensor, Tensor, list[int]]:
        """Return the scores of all nodes (n,) and of ending (b,), on the processor, and the nodes of each question.

        The network runs on the model's device; sampling from some hundred nodes is fastest on the processor.
        """
        graphs = make_node_batch([one.question_graph for one in questions], self._settings)
        scores, ends = model(NodeBatch.from_input(graphs, next(model.parameters()).device))
        return scores.cpu(), ends.cpu(), np.bincount(graphs.graph_of, minlength=graphs.graph_count).tolist()

    def _differentiable_losses(
        self, examples: Sequence[EncodedQuestion], contexts: Sequence[GraphContext], *, trainable: bool
    ) -> Tensor:
        """Return the same losses (n,), with gradients if the reader is trained."""
        if self._trainable is None or not trainable:
            return torch.from_numpy(lowest_losses(self._reader, examples, contexts))
        losses = self._trainable.losses(*reader_inputs(examples, contexts)).float().cpu()
        by_example = torch.split(losses, [len(one.question.answers) for one in examples])
        return torch.stack([own.min() for own in by_example])

    def _averaged_reader(self, model: nn.Module) -> AbstractContextManager[None]:
        """Give the reader the parameters of a model under validation, which may be moving averages."""
        if self._trainable is None or not isinstance(model, SelectorAndReader):
            return nullcontext()
        return swap_parameters(self._trainable.parameters(), model.reader)


def reinforce_loss(
    scores: Sequence[Tensor], ends: Tensor, orders: Sequence[Sequence[Tensor]], costs: Tensor, budget: int
) -> Tensor | None:
    """Return the loss of `policy`, whose expected gradient is that of the expected cost; None if all costs are equal.

    Each of b questions has node scores (n,) and d >= 2 selections of at most `budget` nodes, in the order in which they
    were sampled. `ends` (b,) are the scores of ending a selection, `costs` (b, d) those of the selections.
    """
    # Relative to the lowest cost, so that equal costs give an advantage of exactly 0 despite rounding.
    extra, draws = costs - costs.min(1, keepdim=True).values, costs.shape[1]
    advantages = (extra.sum(1, keepdim=True) - extra) / (draws - 1) - extra
    terms = [
        advantage * selection_log_probability(own, end, order, budget)
        for own, end, row, samples in zip(scores, ends, advantages, orders, strict=True)
        for advantage, order in zip(row, samples, strict=True)
        if bool(advantage != 0)
    ]
    return -torch.stack(terms).sum() / costs.numel() if terms else None


def paper_loss(
    scores: Sequence[Tensor], subgraphs: Sequence[Subgraph], graphs: Sequence[TextualGraph], losses: Tensor
) -> Tensor:
    """Return the loss of `paper`, averaged over b questions, each with node scores (n,) before the softmax.

    `graphs` are those that `subgraphs` were selected from, `losses` (b,) those of the reader.
    """
    total = scores[0].new_zeros(())
    for own, subgraph, graph, loss in zip(scores, subgraphs, graphs, losses, strict=True):
        nodes = torch.log_softmax(own, 0)
        log_probability = (nodes[torch.from_numpy(subgraph.nodes).long()].exp() + _EPS).log().sum()
        if len(subgraph.edges):
            ends = torch.from_numpy(np.ascontiguousarray(graph.edges)).long()
            edges = edge_log_probabilities(nodes, ends)
            selected = edges[torch.from_numpy(subgraph.edges).long()]
            log_probability = log_probability + (selected.exp() + _EPS).log().sum()
        total = total - log_probability * loss
    return total / len(subgraphs)


def _selected_context(example: EncodedQuestion, order: Tensor) -> GraphContext:
    return build_context(example.question_graph, induced_subgraph(example.question_graph.graph.graph, order.tolist()))
