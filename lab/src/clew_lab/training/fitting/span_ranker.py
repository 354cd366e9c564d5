"""Training of the ranker of candidate answers from questions with known answers.

Loss of a question: minus the logarithm of the total probability of its right candidates, so that any mention of the
answer will do; questions without a right candidate teach nothing here, but count in the calibration. Each network has
its own initial weights, order of questions and dropped inputs. The calibration is a logistic regression on questions
that were held out, by folds, and on the same questions with evidence that lacks their gold passages.

Source: own. Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from clew.answering.span_ranker import SpanRankerWeights, standardize
from clew.arrays import BoolArray, DoubleArray, FloatArray, LongArray
from clew.errors import InputError
from clew.training.fitting.minibatches import minimise
from clew.training.hyperparameters import MAX_LAYERS, MAX_WIDTH, CheckedRecord

if TYPE_CHECKING:
    from torch import Tensor

_NEWTON_STEPS = 50
_PENALTY = 0.025  # of the calibration's weights, per question, in nats


@dataclass(frozen=True, slots=True)
class AnswerRecipe(CheckedRecord):
    """Hyper-parameters of the ranker of candidate answers."""

    networks: Annotated[int, Field(ge=1, le=MAX_LAYERS, description="Networks whose probabilities are averaged.")] = 3
    hidden: Annotated[int, Field(ge=1, le=MAX_WIDTH, description="Hidden units of a network.")] = 64
    epochs: Annotated[int, Field(ge=1, description="Passes over the questions.")] = 20
    batch: Annotated[int, Field(ge=1, description="Questions per step.")] = 16
    rate: Annotated[float, Field(gt=0, description="Highest learning rate.")] = 1e-2
    decay: Annotated[float, Field(ge=0)] = 1e-2
    dropout: Annotated[float, Field(ge=0, lt=1, description="Share of hidden units left out in a step.")] = 0.5
    rule_weight: Annotated[
        float, Field(ge=0, description="Weight of the rules' score beside the networks' log-probability.")
    ] = 0.5
    folds: Annotated[int, Field(ge=2, description="Parts of the questions, each held out once to calibrate.")] = 2
    # share of the right answers that the threshold may cost on questions that were held out
    lost: Annotated[float, Field(ge=0, lt=1, description="Share of right answers that may be withheld.")] = 0.03
    line: Annotated[float, Field(ge=0, le=1, description="Least probability of an answer that is asserted.")] = 0.5
    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 0


@dataclass(frozen=True, slots=True, eq=False)
class AnswerExample:
    """A question with the n candidates of its evidence."""

    features: FloatArray  # (n, f)
    right: BoolArray  # (n,) whether a candidate is a gold answer


def train_networks(examples: Sequence[AnswerExample], recipe: AnswerRecipe) -> SpanRankerWeights:
    """Train the networks, without a calibration; InputError is raised if no question has a right candidate."""
    useful = [example for example in examples if example.right.any()]
    if not useful:
        raise InputError("no question has a right answer among its candidates: check that questions and corpus fit")
    rows = np.concatenate([example.features for example in useful])
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(deviation > 1e-3, deviation, 1).astype(np.float32)
    ready = [replace(e, features=standardize(e.features, mean, scale)) for e in useful]
    networks = [_train_network(ready, replace(recipe, seed=recipe.seed + n)) for n in range(recipe.networks)]
    hidden, bias, output = (np.stack(arrays) for arrays in zip(*networks, strict=True))
    about = {"recipe": asdict(recipe), "questions": len(useful)}
    return SpanRankerWeights(
        mean, scale, hidden, bias, output, np.zeros(0, dtype=np.float32), recipe.rule_weight, "", 0.0, 1.0, about
    )


def _train_network(
    examples: Sequence[AnswerExample], recipe: AnswerRecipe
) -> tuple[FloatArray, FloatArray, FloatArray]:
    import torch

    generator = torch.Generator().manual_seed(recipe.seed)
    width = examples[0].features.shape[1]
    hidden = (torch.randn(width, recipe.hidden, generator=generator) * (2 / width) ** 0.5).requires_grad_()
    bias = torch.zeros(recipe.hidden, requires_grad=True)
    output = (torch.randn(recipe.hidden, generator=generator) * (1 / recipe.hidden) ** 0.5).requires_grad_()
    features = [torch.from_numpy(example.features) for example in examples]
    right = [torch.from_numpy(example.right) for example in examples]

    def loss_of(positions: LongArray) -> "Tensor":
        picked = positions.tolist()
        activation = torch.relu(torch.cat([features[i] for i in picked]) @ hidden + bias)
        keep = torch.rand(activation.shape, generator=generator) >= recipe.dropout
        scores = (activation * keep / (1 - recipe.dropout)) @ output
        losses = []
        for i, part in zip(picked, scores.split([len(features[i]) for i in picked]), strict=True):
            losses.append(torch.logsumexp(part, 0) - torch.logsumexp(part[right[i]], 0))
        return torch.stack(losses).mean()

    optimizer = torch.optim.AdamW([hidden, bias, output], lr=recipe.rate, weight_decay=recipe.decay)
    minimise(loss_of, optimizer, len(examples), recipe)
    return hidden.detach().numpy(), bias.detach().numpy(), output.detach().numpy()


def fit_calibration(signals: DoubleArray, right: BoolArray) -> FloatArray:
    """Return weights (s + 1,), the bias last, of a logistic regression of `right` (n,) on signals (n, s).

    The weights of the standardised signals are held near zero, so that they exist for questions that are all right or
    all wrong, and few questions make few claims.
    """
    mean, deviation = signals.mean(axis=0), signals.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1)
    inputs = np.hstack([(signals - mean) / scale, np.ones((len(signals), 1))])
    penalty = np.full(inputs.shape[1], _PENALTY * len(signals))
    penalty[-1] = 1e-2  # all right or all wrong have a bias too
    weights = np.zeros(inputs.shape[1])
    for _ in range(_NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (probabilities - right) + penalty * weights
        curvature = (inputs * (probabilities * (1 - probabilities))[:, None]).T @ inputs + np.diag(penalty)
        weights -= np.linalg.solve(curvature, gradient)
    slopes = weights[:-1] / scale
    return np.append(slopes, weights[-1] - slopes @ mean).astype(np.float32)


def choose_threshold(probabilities: DoubleArray, right: BoolArray, lost: float) -> float:
    """Return the greatest threshold, in hundredths, that withholds at most a share `lost` of the right answers.

    Of n answers these are the `probabilities` (n,), 0 to 1, and which are `right` (n,); 0 where none is.
    """
    kept = np.sort(probabilities[right])
    if not len(kept):
        return 0.0
    return float(np.floor(100 * kept[int(lost * len(kept))]) / 100)


def assign_folds(count: int, recipe: AnswerRecipe) -> LongArray:
    """Return the fold (n,) of each question, in random order and of even sizes."""
    return np.random.default_rng(recipe.seed).permutation(np.arange(count) % recipe.folds)
