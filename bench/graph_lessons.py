"""Lessons in following edges: how a small language model learns to read graphs.

Each lesson is some edges and many questions on them, with no loss but on the answers. Lessons grow from a few edges
on as the model gets them right.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from clew.models.causal_lm.model import CausalModel
from clew.training.trainable_parameters import ReaderParameters
from graph_task import NAMES, RELATIONS, TaskSettings, connected_part, task

Edge = tuple[str, str, str]
"""Whose, what, who."""
LookUp = tuple[tuple[str, ...], str]
"""The words of a question, a name and relations, and its answer."""
LEAST, RIGHT, ASKED = 4, 0.9, 8
ALIKE, SINGLE = 0.8, 0.2


class Lessons:
    """An objective of `clew.training.loop`; a run that is killed starts over with few edges.

    Args:
        settings: Of the graphs.
        hops: How many edges questions take at most, 1 or 2.
        most: Nodes of a part.
        model: Which learns.
        batch: Lessons of a step.
        epoch: Steps.
        ends: Whether the end of answers is taught, too.
    """

    no_signal_message = "there are no lessons: give an epoch of one step at least"

    def __init__(
        self, settings: TaskSettings, hops: int, most: int, model: CausalModel, batch: int, epoch: int, *, ends: bool
    ) -> None:
        self._settings = settings
        self._hops = hops
        self._most = most
        self._learner = model
        self._batch = batch
        self._epoch = epoch
        self._ends = ends
        self._edges, self._right = LEAST, 0.0

    def model(self) -> ReaderParameters:
        """Return what the loop is to train."""
        return ReaderParameters(self._learner.parameters())

    def batches(self, epoch_seed: int) -> Iterator[list[tuple[list[Edge], list[LookUp]]]]:
        """Yield lessons of as many edges as the model is ready for."""
        random = np.random.default_rng([3, epoch_seed])
        for _ in range(self._epoch):
            yield [lesson(self._settings, self._hops, self._most, self._edges, random) for _ in range(self._batch)]

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return self._epoch

    def halve(self, batch: list[tuple[list[Edge], list[LookUp]]]) -> None:
        """Return that lessons are small enough."""
        del batch

    def loss(self, model: nn.Module, batch: list[tuple[list[Edge], list[LookUp]]]) -> "torch.Tensor":
        """Return the mean over all answers, in nats; `model` shares the learner's parameters."""
        del model
        learner = self._learner.load()
        ids, labels = side_by_side(learner.tokenizer.get_vocab(), learner.end_token, batch, ends=self._ends)
        logits = learner.network(input_ids=ids, use_cache=False).logits[:, :-1]
        asked = labels[:, 1:] >= 0
        said, wanted = logits[asked], labels[:, 1:][asked]
        right = (said.argmax(dim=1) == wanted)[wanted != learner.end_token]
        self._right += 0.1 * (float(right.float().mean()) - self._right)
        if self._right > RIGHT:
            self._edges, self._right = self._edges + 1, RIGHT - 0.1
        return functional.cross_entropy(said, wanted)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return nothing, so that the last epoch is kept: lessons grow, and their losses are not alike."""
        del model
        return {}


def lesson(
    settings: TaskSettings, hops: int, most: int, count: int, random: np.random.Generator
) -> tuple[list[Edge], list[LookUp]]:
    """Return at most so many edges in any order, and questions on them.

    A learner of single edges mostly gets edges of one relation, which only the name tells apart: among others the
    relation alone answers so much that the name is not looked at for long.
    """
    if hops == 1 and random.random() < ALIKE:
        edges = alike(settings, min(count, settings.nodes), random)
    else:
        edges = connected(settings, most, count, random)
    edges = [edges[place] for place in random.permutation(len(edges)).tolist()]
    asked = questions(edges, 1 if hops == 1 or random.random() < SINGLE else 2)
    return edges, [asked[place] for place in random.permutation(len(asked))[:ASKED].tolist()]


def alike(settings: TaskSettings, count: int, random: np.random.Generator) -> list[Edge]:
    """Return edges of one relation from different nodes."""
    names = [NAMES[place] for place in random.permutation(settings.names)[: settings.nodes].tolist()]
    kind = RELATIONS[int(random.integers(len(RELATIONS)))]
    steps = random.integers(1, settings.nodes, count).tolist()
    return [(names[place], kind, names[(place + step) % settings.nodes]) for place, step in enumerate(steps)]


def connected(settings: TaskSettings, most: int, count: int, random: np.random.Generator) -> list[Edge]:
    """Return edges of a part that hangs together, the two first that a question of the task takes."""
    one = task(settings, random)
    part = {*connected_part(one.graph, one.chain, int(random.integers(4, most + 1)), random)}
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


def questions(edges: Sequence[Edge], hops: int) -> list[LookUp]:
    """Return what can be asked of edges that takes 1 or 2 of them."""
    if hops == 1:
        return [((whose, what), who) for whose, what, who in edges]
    return [
        ((whose, first, second), who)
        for whose, first, middle in edges
        for begin, second, who in edges
        if middle == begin and who != whose
    ]


def side_by_side(
    tokens: dict[str, int], end: int, batch: Sequence[tuple[Sequence[Edge], Sequence[LookUp]]], *, ends: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (n, l) token ids as the task's prompt has them, padded at the end, and (n, l) what to say or -100.

    Where `ends`, the end is to be said after every answer, also where the next question is read: what an answer costs
    a reader counts its end, so that one that has not learned to end says of a selection mostly noise.
    """
    rows, labels = [], []
    for edges, asked in batch:
        row = [tokens[word] for whose, what, who in edges for word in (who, whose, what)]
        label = [-100] * len(row)
        for words, answer in asked:
            row += [tokens[word] for word in (*words, answer)]
            label += [-100] * len(words) + [tokens[answer]]
        after = [ends and before >= 0 for before in [-100, *label]]
        rows.append(torch.tensor([*row, end]))
        labels.append(torch.tensor([end if told else own for told, own in zip(after, [*label, -100], strict=True)]))
    pad = nn.utils.rnn.pad_sequence
    return pad(rows, batch_first=True, padding_value=end), pad(labels, batch_first=True, padding_value=-100)
