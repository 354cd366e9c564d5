"""Training of the local reader of questions with few possible answers, on whole graphs and random subgraphs.

Trained on whole graphs alone, it would read a subgraph as if the rest of the graph did not exist.

Source: none. Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, Subgraph, induced_subgraph
from clew.training.hyperparameters import MAX_WIDTH, CheckedRecord
from clew_lab.graph.reader_context import full_subgraph
from clew_lab.graph_readers.choice_reader import ChoiceWeights


@dataclass(frozen=True, slots=True)
class ChoiceReaderRecipe(CheckedRecord):
    """Hyper-parameters of the choice reader; the learning rate decays from `rate` as a cosine."""

    width: Annotated[int, Field(ge=1, le=MAX_WIDTH)] = 8  # width of a relation's hidden vector
    random_subgraphs: Annotated[int, Field(ge=0)] = (
        2  # random subgraphs of each graph that are read besides the whole graph
    )
    epochs: Annotated[int, Field(ge=1)] = 20
    batch: Annotated[int, Field(ge=1)] = 64
    rate: Annotated[float, Field(gt=0)] = 5e-3
    decay: Annotated[float, Field(ge=0)] = 0.1
    seed: Annotated[int, Field(ge=0)] = 0


def train_choice_reader(
    graphs: Sequence[EncodedGraph], answers: Sequence[str], choices: tuple[str, ...], recipe: ChoiceReaderRecipe
) -> ChoiceWeights:
    """Train the reader of questions on n graphs, with the correct one (n,) of at least two choices for each."""
    strange = sorted(set(answers) - set(choices))
    if not graphs or len(answers) != len(graphs) or len(choices) < 2 or strange:
        seen = f"{len(graphs)} graphs, {len(answers)} answers, {len(choices)} choices"
        other = f", where {strange[0]!r} is not a choice" if strange else ""
        raise InputError(f"{seen}{other}: give graphs, each with one of two choices or more as its answer")
    generator = np.random.default_rng(recipe.seed)
    texts, rows, starts, labels = _training_rows(graphs, answers, choices, recipe, generator)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        edge, choice = nn.Linear(texts.shape[1], recipe.width), nn.Linear(recipe.width, len(choices))
    optimizer = torch.optim.AdamW([*edge.parameters(), *choice.parameters()], lr=recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, recipe.epochs)
    for _ in range(recipe.epochs):
        order = generator.permutation(len(labels))
        for start in range(0, len(order), recipe.batch):
            batch = order[start : start + recipe.batch]
            scores = choice(_sum_rows(edge(texts).tanh(), [rows[starts[i] : starts[i + 1]] for i in batch]))
            loss = nn.functional.cross_entropy(scores, labels[torch.from_numpy(batch)])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        schedule.step()
    arrays = [parameter.detach().numpy() for layer in (edge, choice) for parameter in (layer.weight, layer.bias)]
    return ChoiceWeights(choices, *arrays)


def _training_rows(
    graphs: Sequence[EncodedGraph],
    answers: Sequence[str],
    choices: tuple[str, ...],
    recipe: ChoiceReaderRecipe,
    generator: np.random.Generator,
) -> tuple[Tensor, Tensor, list[int], Tensor]:
    """Return distinct relation vectors (r, d), the rows of all edges read, the offset of each reading, and labels."""
    row_of: dict[bytes, int] = {}
    vectors: list[FloatArray] = []
    rows: list[int] = []
    starts, labels = [0], []
    for graph, answer in zip(graphs, answers, strict=True):
        relation_rows = []
        for vector in graph.relation_vectors:
            row = row_of.setdefault(vector.tobytes(), len(vectors))
            if row == len(vectors):
                vectors.append(vector)
            relation_rows.append(row)
        for subgraph in _sample_subgraphs(graph, recipe.random_subgraphs, generator):
            rows += [relation_rows[relation] for relation in graph.edge_relations[subgraph.edges].tolist()]
            starts.append(len(rows))
            labels.append(choices.index(answer))
    dimension = graphs[0].relation_vectors.shape[1]
    table = np.stack(vectors) if vectors else np.zeros((0, dimension), dtype=np.float32)
    return torch.from_numpy(table), torch.tensor(rows, dtype=torch.long), starts, torch.tensor(labels)


def _sample_subgraphs(graph: EncodedGraph, count: int, generator: np.random.Generator) -> list[Subgraph]:
    """Return the whole graph and random subgraphs of it, of any size."""
    nodes = len(graph.graph.nodes)
    samples = [generator.permutation(nodes)[: generator.integers(1, nodes + 1)] for _ in range(count if nodes else 0)]
    return [full_subgraph(graph.graph), *(induced_subgraph(graph.graph, some.astype(np.int32)) for some in samples)]


def _sum_rows(table: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """Return the sums (b, h) of the table's rows (r, h) of each reading."""
    counts = torch.tensor([len(some) for some in rows])
    readings = torch.repeat_interleave(torch.arange(len(rows)), counts)
    return table.new_zeros(len(rows), table.shape[1]).index_add(0, readings, table[torch.cat(list(rows))])
