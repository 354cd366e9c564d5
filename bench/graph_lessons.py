"""Curriculum that teaches a small language model to follow the edges of graphs.

Each lesson consists of edges and many questions on them; only the answers have a loss. Lessons grow from a few edges as
the model's accuracy rises.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from clew_lab.models.causal_lm import CausalModel
from clew_lab.training.trainable_parameters import ReaderParameters
from graph_task import NAMES, RELATIONS, TaskSettings, make_task, sample_connected

Edge = tuple[str, str, str]
"""Owner, relation and target: whose, what, who."""
Question = tuple[tuple[str, ...], str]
"""The words of a question (a name and relations), and its answer."""
MIN_EDGES, TARGET_ACCURACY, MAX_QUESTIONS = 4, 0.9, 8
SAME_RELATION_SHARE, SINGLE_EDGE_SHARE = 0.8, 0.2


class Lessons:
    """Objective of `clew.training.loop`; a killed run starts over with few edges.

    Args:
        settings: Settings of the graphs.
        hops: Maximum number of edges that a question takes, 1 or 2.
        max_nodes: Maximum number of nodes in a lesson's subgraph.
        model: Model to train.
        batch: Lessons per step.
        epoch: Steps per epoch.
        ends: Whether the end of answers is trained, too.
    """

    no_signal_message = "there are no lessons: give an epoch of one step at least"

    def __init__(
        self,
        settings: TaskSettings,
        hops: int,
        max_nodes: int,
        model: CausalModel,
        batch: int,
        epoch: int,
        *,
        ends: bool,
    ) -> None:
        self._settings = settings
        self._hops = hops
        self._max_nodes = max_nodes
        self._learner = model
        self._batch = batch
        self._epoch = epoch
        self._ends = ends
        self._edges, self._accuracy = MIN_EDGES, 0.0

    def trainable_module(self) -> ReaderParameters:
        """Return the module to train."""
        return ReaderParameters(self._learner.parameters())

    def batches(self, epoch_seed: int) -> Iterator[list[tuple[list[Edge], list[Question]]]]:
        """Yield lessons with as many edges as the model has reached."""
        random = np.random.default_rng([3, epoch_seed])
        for _ in range(self._epoch):
            yield [
                make_lesson(self._settings, self._hops, self._max_nodes, self._edges, random)
                for _ in range(self._batch)
            ]

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return self._epoch

    def halve(self, batch: list[tuple[list[Edge], list[Question]]]) -> None:
        """Return None: lessons are small enough."""
        del batch

    def loss(self, model: nn.Module, batch: list[tuple[list[Edge], list[Question]]]) -> "torch.Tensor":
        """Return the mean loss of all answers, in nats; `model` shares the learner's parameters."""
        del model
        learner = self._learner.load()
        ids, labels = collate(learner.tokenizer.get_vocab(), learner.end_token, batch, ends=self._ends)
        logits = learner.network(input_ids=ids, use_cache=False).logits[:, :-1]
        labelled = labels[:, 1:] >= 0
        predicted, targets = logits[labelled], labels[:, 1:][labelled]
        correct = (predicted.argmax(dim=1) == targets)[targets != learner.end_token]
        self._accuracy += 0.1 * (float(correct.float().mean()) - self._accuracy)
        if self._accuracy > TARGET_ACCURACY:
            self._edges, self._accuracy = self._edges + 1, TARGET_ACCURACY - 0.1
        return functional.cross_entropy(predicted, targets)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return no figures, so that the last epoch is kept: the losses of growing lessons are not comparable."""
        del model
        return {}


def make_lesson(
    settings: TaskSettings, hops: int, max_nodes: int, count: int, random: np.random.Generator
) -> tuple[list[Edge], list[Question]]:
    """Return at most `count` edges in random order, and questions on them.

    Lessons on single edges mostly have edges of one relation, which only the name distinguishes: among several
    relations, the relation alone predicts so much that the model ignores the name for a long time.
    """
    if hops == 1 and random.random() < SAME_RELATION_SHARE:
        edges = same_relation_edges(settings, min(count, settings.nodes), random)
    else:
        edges = connected_edges(settings, max_nodes, count, random)
    edges = [edges[i] for i in random.permutation(len(edges)).tolist()]
    questions = make_questions(edges, 1 if hops == 1 or random.random() < SINGLE_EDGE_SHARE else 2)
    return edges, [questions[i] for i in random.permutation(len(questions))[:MAX_QUESTIONS].tolist()]


def same_relation_edges(settings: TaskSettings, count: int, random: np.random.Generator) -> list[Edge]:
    """Return edges of one relation from different nodes."""
    names = [NAMES[i] for i in random.permutation(settings.names)[: settings.nodes].tolist()]
    kind = RELATIONS[int(random.integers(len(RELATIONS)))]
    steps = random.integers(1, settings.nodes, count).tolist()
    return [(names[i], kind, names[(i + step) % settings.nodes]) for i, step in enumerate(steps)]


def connected_edges(settings: TaskSettings, max_nodes: int, count: int, random: np.random.Generator) -> list[Edge]:
    """Return edges of a connected_edges subgraph, first the two that a question of the task takes."""
    one = make_task(settings, random)
    part = {*sample_connected(one.graph, one.chain, int(random.integers(4, max_nodes + 1)), random)}
    nodes, (start, middle, end) = one.graph.nodes, one.chain
    first, second = (RELATIONS[number] for number in one.relations)
    needed = {(nodes[start], first, nodes[middle]), (nodes[middle], second, nodes[end])}
    edges = [
        (nodes[source], kind, nodes[target])
        for (source, target), kind in zip(one.graph.edges.tolist(), one.graph.relations, strict=True)
        if {source, target} <= part
    ]
    others = [edge for edge in edges if edge not in needed]
    return [edge for edge in edges if edge in needed] + others[: max(count - 2, 0)]


def make_questions(edges: Sequence[Edge], hops: int) -> list[Question]:
    """Return all questions on edges that take 1 or 2 of them."""
    if hops == 1:
        return [((whose, what), who) for whose, what, who in edges]
    return [
        ((whose, first, second), who)
        for whose, first, middle in edges
        for begin, second, who in edges
        if middle == begin and who != whose
    ]


def collate(
    tokens: dict[str, int], end: int, batch: Sequence[tuple[Sequence[Edge], Sequence[Question]]], *, ends: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids (n, l) as in the task's prompt, padded at the end, and labels (n, l), -100 for none.

    With `ends`, the end token is a label after every answer, also where the next question begins: a reader's loss of an
    answer includes its end, so that the losses of a model that has not learned to end are mostly noise.
    """
    rows, labels = [], []
    for edges, questions in batch:
        row = [tokens[word] for whose, what, who in edges for word in (who, whose, what)]
        label = [-100] * len(row)
        for words, answer in questions:
            row += [tokens[word] for word in (*words, answer)]
            label += [-100] * len(words) + [tokens[answer]]
        after = [ends and before >= 0 for before in [-100, *label]]
        rows.append(torch.tensor([*row, end]))
        labels.append(
            torch.tensor([end if is_after else own for is_after, own in zip(after, [*label, -100], strict=True)])
        )
    pad = nn.utils.rnn.pad_sequence
    return pad(rows, batch_first=True, padding_value=end), pad(labels, batch_first=True, padding_value=-100)
