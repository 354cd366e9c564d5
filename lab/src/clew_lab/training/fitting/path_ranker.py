"""Training of the path ranker from questions with known answers, without gold paths.

A relation path is as good as the entities at its ends match the answers (F1). The feature weights are regularised
towards a plain mean of how well a path explains the question, so that the few relations of one graph do not decide on
another; the learned comparison of words has a low rank and decays.

Source: none; replaces the path ranking model of Gao et al., "FRAG" (2025), section 4.3.
Differs from the source: nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from clew.arrays import FloatArray, LongArray
from clew.errors import InputError
from clew.retrievers.frag.path_ranking import FEATURES, PathRankerWeights
from clew.training.fitting.minibatches import minimise
from clew.training.hyperparameters import MAX_WIDTH, CheckedRecord

if TYPE_CHECKING:
    from torch import Tensor

_EVENLY_WEIGHTED = ("explained", "in_order", "explained_by_ends", "mean_likeness")


@dataclass(frozen=True, slots=True)
class PathRecipe(CheckedRecord):
    """Hyper-parameters of the path ranker; `decay` is that of the parameters that read words."""

    rank: Annotated[
        int,
        Field(
            ge=0, le=MAX_WIDTH, description="Rank of the parameters that read words; 0 for graphs of other relations."
        ),
    ] = 16
    nearness: Annotated[
        float, Field(ge=0, description="How strongly the features' weights are held near even ones.")
    ] = 1.0
    decay: Annotated[float, Field(ge=0)] = 0.1
    epochs: Annotated[int, Field(ge=1, description="Passes over the questions.")] = 4
    batch: Annotated[int, Field(ge=1)] = 64
    rate: Annotated[float, Field(gt=0)] = 1e-2
    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 0


@dataclass(frozen=True, slots=True, eq=False)
class PathExample:
    """A question and the n relation paths that lead away from its topics."""

    features: FloatArray  # (n, f) features of each path
    relations: LongArray  # (n, h) rows of the table of relation vectors, -1 beyond the end of a path
    question: FloatArray  # (d,) vector of the masked question
    f1_scores: FloatArray  # (n,) F1 of each path's ends against the answers, 0 to 1


def train_path_ranker(
    examples: Sequence[PathExample], table: FloatArray, recipe: PathRecipe, encoder: str
) -> PathRankerWeights:
    """Train a path ranker; questions without a path to an answer are skipped, and InputError is raised if none is left.

    `table` (c, d) holds the vectors of relations, each read in one direction, of the encoder with this fingerprint.
    """
    import torch

    useful = [example for example in examples if len(example.f1_scores) and example.f1_scores.max() > 0]
    if not useful:
        raise InputError("no question has a path to its answers: check that questions and graph belong together")
    centred = np.concatenate([example.features - example.features.mean(axis=0) for example in useful])
    spread = centred.std(axis=0)
    scale = torch.from_numpy(np.where(spread > 1e-4, spread + 1e-6, 1.0).astype(np.float32))  # 1 for constant features
    even = torch.tensor([0.5 if name in _EVENLY_WEIGHTED else 0.0 for name in FEATURES])
    parameters = _init_parameters(even, table.shape[1], recipe)
    vectors = torch.from_numpy(np.ascontiguousarray(table))

    def loss_of(positions: LongArray) -> "Tensor":
        loss = _loss([useful[i] for i in positions], vectors, scale, parameters)
        return loss + recipe.nearness * (parameters["weights"] - even).square().sum()

    groups = [
        {"params": [parameters["weights"], parameters["sharpness"]], "weight_decay": 0.0},
        {"params": [parameters["question_side"], parameters["relation_side"]], "weight_decay": recipe.decay},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate)
    minimise(loss_of, optimizer, len(useful), recipe)
    trained = {name: value.detach() for name, value in parameters.items()}
    weights = (trained["weights"] * trained["sharpness"] / scale).numpy()
    sides = trained["question_side"].numpy(), trained["relation_side"].numpy()
    about = {"recipe": asdict(recipe), "questions": len(useful)}
    return PathRankerWeights(weights, *sides, encoder=encoder, about=about)


def _init_parameters(even: "Tensor", width: int, recipe: PathRecipe) -> "dict[str, Tensor]":
    import torch

    generator = torch.Generator().manual_seed(recipe.seed)
    parameters = {
        "weights": even.clone(),
        "sharpness": torch.tensor(1.5),
        "question_side": torch.randn(recipe.rank, width, generator=generator),
        "relation_side": torch.zeros(recipe.rank, width),
    }
    return {name: value.requires_grad_() for name, value in parameters.items()}


def _loss(
    batch: Sequence[PathExample], vectors: "Tensor", scale: "Tensor", parameters: "Mapping[str, Tensor]"
) -> "Tensor":
    """Return the mean cross-entropy of the paths' scores against their squared F1, normalised per question."""
    import torch

    count = max(len(example.f1_scores) for example in batch)
    longest = max(example.relations.shape[1] for example in batch)
    features = torch.zeros(len(batch), count, len(FEATURES))
    relations = torch.full((len(batch), count, longest), -1, dtype=torch.long)
    targets = torch.zeros(len(batch), count)
    mask = torch.zeros(len(batch), count, dtype=torch.bool)
    for row, example in enumerate(batch):
        paths = len(example.f1_scores)
        features[row, :paths] = torch.from_numpy(example.features)
        relations[row, :paths, : example.relations.shape[1]] = torch.from_numpy(example.relations)
        targets[row, :paths] = torch.from_numpy(example.f1_scores).square()
        mask[row, :paths] = True
    questions = torch.from_numpy(np.stack([example.question for example in batch]))
    feature_scores = (features / scale) @ parameters["weights"] * parameters["sharpness"]
    # The score of each relation of the table for each question, averaged over the relations of each path.
    relation_scores = (questions @ parameters["question_side"].T) @ (vectors @ parameters["relation_side"].T).T
    exists = relations >= 0
    along = relation_scores.gather(1, relations.clamp(min=0).flatten(1)).view(relations.shape) * exists
    means = along.sum(-1) / exists.sum(-1).clamp(min=1)
    scores = (feature_scores + means).masked_fill(~mask, -1e4)
    targets = targets / targets.sum(1, keepdim=True)
    return -(targets * torch.log_softmax(scores, 1)).sum(1).mean()
