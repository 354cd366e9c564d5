"""Training the ranker of paths: from questions whose answers are known, without a gold path.

A chain of relations is as good as the entities where it ends are the answers (F1). The head's weights are held near
those of a plain mean of how well a chain explains the question, so that a few relations of one graph do not decide what
counts on another; what is learned of the words themselves has a small rank and decays.

Source: none; in the place of the path ranking model of Gao et al., "FRAG" (2025), section 3.2.4.
Differs from the source: nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.retrievers.frag.chain_features import FEATURES
from clew.retrievers.frag.path_ranking import PathRankerWeights

if TYPE_CHECKING:
    from torch import Tensor

    from clew.types import FloatArray, LongArray

_EVENLY_WEIGHTED = ("explained", "in_order", "explained_by_ends", "mean_likeness")


@dataclass(frozen=True, slots=True)
class PathRecipe:
    """How a ranker is trained.

    Attributes:
        rank: Of what is learned of the words themselves; 0 for features alone.
        nearness: How strongly the features' weights are held near even ones.
        decay: Of what is learned of the words.
        epochs: How often each question is seen.
        batch: Questions a step.
        rate: Highest learning rate.
        seed: Of everything random.
    """

    rank: int = 16
    nearness: float = 1.0
    decay: float = 0.1
    epochs: int = 4
    batch: int = 64
    rate: float = 1e-2
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PathExample:
    """A question and the chains that lead away from what it is about.

    Attributes:
        features: (n, f) of each chain.
        relations: (n, h) rows of the table of relation vectors, -1 where a chain is shorter.
        question: (d,) vector of the masked question.
        f1_scores: (n,) F1 of each chain's ends against the answers, 0 to 1.
    """

    features: "FloatArray"
    relations: "LongArray"
    question: "FloatArray"
    f1_scores: "FloatArray"


def train_path_ranker(
    examples: Sequence[PathExample], table: "FloatArray", recipe: PathRecipe, encoder: str
) -> PathRankerWeights:
    """Return a trained head.

    Args:
        examples: Those without a chain of some worth are left out; at least one has one.
        table: (c, d) vectors of relations in one direction each.
        recipe: How.
        encoder: Fingerprint of the encoder that made the vectors.

    Raises:
        InputError: No question has a chain that leads to an answer.
    """
    import torch

    useful = [example for example in examples if len(example.f1_scores) and example.f1_scores.max() > 0]
    if not useful:
        raise InputError("no question has a path to its answers: check that questions and graph belong together")
    within = np.concatenate([example.features - example.features.mean(axis=0) for example in useful])
    spread = within.std(axis=0)
    scale = torch.from_numpy(np.where(spread > 1e-4, spread + 1e-6, 1.0).astype(np.float32))  # else it never varies
    even = torch.tensor([0.5 if name in _EVENLY_WEIGHTED else 0.0 for name in FEATURES])
    parameters = _init_parameters(even, table.shape[1], recipe)
    groups = [
        {"params": [parameters["weights"], parameters["sharpness"]], "weight_decay": 0.0},
        {"params": [parameters["question_side"], parameters["relation_side"]], "weight_decay": recipe.decay},
    ]
    optimiser = torch.optim.AdamW(groups, lr=recipe.rate)
    vectors = torch.from_numpy(np.ascontiguousarray(table))
    generator = np.random.default_rng(recipe.seed)
    steps = recipe.epochs * math.ceil(len(useful) / recipe.batch)
    step = 0
    for _ in range(recipe.epochs):
        order = generator.permutation(len(useful))
        for start in range(0, len(order), recipe.batch):
            for group in optimiser.param_groups:
                group["lr"] = recipe.rate * 0.5 * (1 + math.cos(math.pi * step / steps))
            step += 1
            batch = [useful[i] for i in order[start : start + recipe.batch]]
            loss = _loss(batch, vectors, scale, parameters)
            loss = loss + recipe.nearness * (parameters["weights"] - even).square().sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    found = {name: value.detach() for name, value in parameters.items()}
    weights = (found["weights"] * found["sharpness"] / scale).numpy()
    sides = found["question_side"].numpy(), found["relation_side"].numpy()
    return PathRankerWeights(
        weights, *sides, encoder=encoder, about={"recipe": asdict(recipe), "questions": len(useful)}
    )


def _init_parameters(even: "Tensor", width: int, recipe: PathRecipe) -> "dict[str, Tensor]":
    import torch

    drawn = torch.Generator().manual_seed(recipe.seed)
    parameters = {
        "weights": even.clone(),
        "sharpness": torch.tensor(1.5),
        "question_side": torch.randn(recipe.rank, width, generator=drawn),
        "relation_side": torch.zeros(recipe.rank, width),
    }
    return {name: value.requires_grad_() for name, value in parameters.items()}


def _loss(
    batch: Sequence[PathExample], vectors: "Tensor", scale: "Tensor", parameters: "Mapping[str, Tensor]"
) -> "Tensor":
    """Return the mean cross-entropy of the chains' shares against their worth squared."""
    import torch

    most = max(len(example.f1_scores) for example in batch)
    features = torch.zeros(len(batch), most, len(FEATURES))
    longest = max(example.relations.shape[1] for example in batch)
    relations = torch.full((len(batch), most, longest), -1, dtype=torch.long)
    wanted = torch.zeros(len(batch), most)
    there = torch.zeros(len(batch), most, dtype=torch.bool)
    for row, example in enumerate(batch):
        count = len(example.f1_scores)
        features[row, :count] = torch.from_numpy(example.features)
        relations[row, :count, : example.relations.shape[1]] = torch.from_numpy(example.relations)
        wanted[row, :count] = torch.from_numpy(example.f1_scores).square()
        there[row, :count] = True
    questions = torch.from_numpy(np.stack([example.question for example in batch]))
    plain = (features / scale) @ parameters["weights"] * parameters["sharpness"]
    # What each relation of the table is worth to each question, then the mean over each chain.
    worth = (questions @ parameters["question_side"].T) @ (vectors @ parameters["relation_side"].T).T
    each = worth.gather(1, relations.clamp(min=0).flatten(1)).view(relations.shape) * (relations >= 0)
    means = each.sum(-1) / (relations >= 0).sum(-1).clamp(min=1)
    scores = (plain + means).masked_fill(~there, -1e4)
    wanted = wanted / wanted.sum(1, keepdim=True)
    return -(wanted * torch.log_softmax(scores, 1)).sum(1).mean()
