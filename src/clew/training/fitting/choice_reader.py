"""Teaching the local reader of questions with few possible answers: on whole graphs, and on parts drawn by chance.

Taught on whole graphs alone it would take a part for a graph that has no more to say.

Source: none.
Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from clew.answering.graph_readers.choice_reader import ChoiceWeights
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, Subgraph, full_subgraph, induced_subgraph

if TYPE_CHECKING:
    from torch import Tensor

    from clew.types import FloatArray


@dataclass(frozen=True, slots=True)
class ChoiceReaderRecipe:
    """How the reader is taught.

    Attributes:
        width: Numbers that a relation becomes.
        random_subgraphs: Parts of each graph, drawn by chance, that are read beside the whole.
        epochs: How often each is read.
        batch: Graphs a step.
        rate: Highest learning rate; falls as a cosine.
        decay: Of the weights.
        seed: Of everything random.

    Raises:
        InputError: A number is too small to teach anything.
    """

    width: int = 8
    random_subgraphs: int = 2
    epochs: int = 20
    batch: int = 64
    rate: float = 5e-3
    decay: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that teach nothing."""
        if (
            min(self.width, self.epochs, self.batch) < 1
            or not self.rate > 0
            or min(self.random_subgraphs, self.seed) < 0
        ):
            raise InputError(
                f"{self}: width, epochs and batch must be at least 1, rate above 0, parts and seed at least 0"
            )


def train_choice_reader(
    graphs: Sequence[EncodedGraph], answers: Sequence[str], choices: tuple[str, ...], recipe: ChoiceReaderRecipe
) -> ChoiceWeights:
    """Return a taught reader.

    Args:
        graphs: n graphs.
        answers: (n,) the right one of the choices for each.
        choices: At least 2.
        recipe: How.

    Raises:
        InputError: There is no graph or no choice, or not each graph has one of the choices as its answer.
    """
    strange = sorted(set(answers) - set(choices))
    if not graphs or len(answers) != len(graphs) or len(choices) < 2 or strange:
        seen = f"{len(graphs)} graphs, {len(answers)} answers, {len(choices)} choices"
        other = f", of which {strange[0]!r} is none" if strange else ""
        raise InputError(f"{seen}{other}: give graphs, each with one of two choices or more as its answer")
    generator = np.random.default_rng(recipe.seed)
    texts, rows, starts, labels = _training_rows(graphs, answers, choices, recipe, generator)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        edge, choice = nn.Linear(texts.shape[1], recipe.width), nn.Linear(recipe.width, len(choices))
    optimiser = torch.optim.AdamW([*edge.parameters(), *choice.parameters()], lr=recipe.rate, weight_decay=recipe.decay)
    steps = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, recipe.epochs)
    for _ in range(recipe.epochs):
        order = generator.permutation(len(labels))
        for begin in range(0, len(order), recipe.batch):
            batch = order[begin : begin + recipe.batch]
            scores = choice(_sum_rows(edge(texts).tanh(), [rows[starts[i] : starts[i + 1]] for i in batch]))
            loss = nn.functional.cross_entropy(scores, labels[torch.from_numpy(batch)])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        steps.step()
    arrays = [parameter.detach().numpy() for layer in (edge, choice) for parameter in (layer.weight, layer.bias)]
    return ChoiceWeights(choices, *arrays)


def _training_rows(
    graphs: Sequence[EncodedGraph],
    answers: Sequence[str],
    choices: tuple[str, ...],
    recipe: ChoiceReaderRecipe,
    generator: np.random.Generator,
) -> "tuple[Tensor, Tensor, list[int], Tensor]":
    """Return distinct relation vectors (r, d), the rows of all edges read, where each reading begins, and labels."""
    places: dict[bytes, int] = {}
    vectors: list[FloatArray] = []
    rows: list[int] = []
    starts, labels = [0], []
    for graph, answer in zip(graphs, answers, strict=True):
        own = []
        for vector in graph.relation_vectors:
            place = places.setdefault(vector.tobytes(), len(vectors))
            if place == len(vectors):
                vectors.append(vector)
            own.append(place)
        for part in _sample_subgraphs(graph, recipe.random_subgraphs, generator):
            rows += [own[row] for row in graph.edge_relations[part.edges].tolist()]
            starts.append(len(rows))
            labels.append(choices.index(answer))
    dimension = graphs[0].relation_vectors.shape[1]
    table = np.stack(vectors) if vectors else np.zeros((0, dimension), dtype=np.float32)
    return torch.from_numpy(table), torch.tensor(rows, dtype=torch.long), starts, torch.tensor(labels)


def _sample_subgraphs(graph: EncodedGraph, count: int, generator: np.random.Generator) -> list[Subgraph]:
    """Return the whole graph and parts of it, of any size."""
    nodes = len(graph.graph.nodes)
    drawn = [generator.permutation(nodes)[: generator.integers(1, nodes + 1)] for _ in range(count if nodes else 0)]
    return [full_subgraph(graph.graph), *(induced_subgraph(graph.graph, some.astype(np.int32)) for some in drawn)]


def _sum_rows(each: "Tensor", rows: "Sequence[Tensor]") -> "Tensor":
    """Return sums (b, h) of the rows of each reading."""
    counts = torch.tensor([len(some) for some in rows])
    of = torch.repeat_interleave(torch.arange(len(rows)), counts)
    return each.new_zeros(len(rows), each.shape[1]).index_add(0, of, each[torch.cat(list(rows))])
