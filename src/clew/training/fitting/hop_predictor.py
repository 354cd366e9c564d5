"""Training of the hop predictor on questions labelled with the length of the shortest path to their answers.

A share of the training questions is synthetic: relation words without meaning, sampled from a vocabulary and joined as
in English (`the A of X 's B`). They teach that any content word counts about one hop, which the few relations of one
graph do not.

Source: Gao et al., "FRAG" (2025), section 4.2 (labels from shortest paths; feedback).
Differs from the source: hops are counted (see `clew.retrievers.frag.hop_predictor`); the encoder is not tuned;
synthetic questions are added.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from clew.errors import InputError
from clew.query.linking import MaskedQuestion
from clew.retrievers.frag.hop_predictor import (
    HOP_CLASSES,
    TERMS,
    VECTOR_SCALE,
    WORDS,
    HopPredictor,
    HopPredictorWeights,
    question_terms,
)
from clew.training.fitting.minibatches import minimise
from clew.training.hyperparameters import MAX_WIDTH, CheckedRecord

if TYPE_CHECKING:
    from numpy.random import Generator
    from torch import Tensor

    from clew.types import FloatArray, LongArray

_OPENINGS = tuple(
    words.split()
    for words in (
        *("", "what is the", "who is the", "which is the", "what"),
        *("the", "what are the", "tell me the", "name the", "which"),
    )
)


@dataclass(frozen=True, slots=True)
class HopRecipe(CheckedRecord):
    """Hyper-parameters of the hop predictor, of the kind `words` or `tf-idf`."""

    kind: str = WORDS
    made_up: Annotated[int, Field(ge=0)] = (
        12_000  # number of synthetic questions, for `words`; `share` is the weight of one in the loss
    )
    share: Annotated[float, Field(ge=0)] = 0.3
    hidden: Annotated[int, Field(ge=1, le=MAX_WIDTH)] = 32  # width of the network
    epochs: Annotated[int, Field(ge=0)] = 14
    batch: Annotated[int, Field(ge=1)] = 256
    rate: Annotated[float, Field(gt=0)] = 1e-2  # initial learning rate
    decay: Annotated[float, Field(ge=0)] = 0.02  # weight decay; for `tf-idf` the ridge penalty
    seed: Annotated[int, Field(ge=0)] = 0


FEEDBACK_RECIPE = HopRecipe(made_up=0, epochs=3, batch=16, rate=1e-4, decay=0.0)
"""Adaptation to feedback, as published: 3 epochs, batches of 16, rate 1e-4, no weight decay."""


@dataclass(frozen=True, slots=True)
class HopExample:
    """A question and its number of hops, at least 1."""

    question: MaskedQuestion
    hops: int


def train_hop_predictor(
    examples: Sequence[HopExample],
    recipe: HopRecipe,
    encode: "Callable[[Sequence[str]], FloatArray]",
    encoder: str,
    vocabulary: Sequence[str] = (),
    start: HopPredictorWeights | None = None,
) -> HopPredictorWeights:
    """Train a hop predictor on at least one question.

    `encode` returns unit vectors (n, d) of words, `encoder` is its fingerprint. `vocabulary` are words for the
    relations of synthetic questions; without any, there are none. `start` are initial weights for `words`, of the same
    encoder.
    """
    if not examples:
        raise InputError("no question to learn from: give questions whose answers the graph connects to their topics")
    if recipe.kind == TERMS and start is not None:
        raise InputError("a router of the kind tf-idf is fitted from scratch: leave --start out")
    if recipe.kind == TERMS:
        return _fit_terms(examples, recipe)
    if start is not None and (start.kind != WORDS or start.encoder != encoder):
        raise InputError(f"the start is of kind {start.kind!r}; wanted words of the same encoder: choose another start")
    generator = np.random.default_rng(recipe.seed)
    synthetic = make_synthetic_questions(vocabulary, recipe.made_up, generator) if len(vocabulary) else []
    return _train_on_words([*examples, *synthetic], len(examples), recipe, encode, encoder, start)


def make_synthetic_questions(vocabulary: Sequence[str], count: int, generator: "Generator") -> list[HopExample]:
    """Return questions of 1 to 3 meaningless relations, joined by `of` and the possessive."""
    questions: list[HopExample] = []
    for _ in range(count):
        hops = int(generator.integers(1, 4))
        relations = [vocabulary[int(generator.integers(len(vocabulary)))] for _ in range(hops)]
        possessive = int(generator.integers(0, hops + 1))
        join = ("of", "the") if generator.random() < 0.3 else ("of",)
        before: list[str] = list(_OPENINGS[int(generator.integers(len(_OPENINGS)))])
        for relation in relations[possessive:][::-1]:
            before += [relation, *join]
        after = [word for relation in relations[:possessive] for word in ("s", relation)]
        questions.append(HopExample(MaskedQuestion(tuple(before), tuple(after)), hops))
    return questions


def accuracy(predictor: HopPredictor, examples: Sequence[HopExample], delta: int = 2) -> float:
    """Return the share of questions correctly classified as simple (at most `delta` hops) or complex."""
    predicted = predictor.multi_hop_probability([example.question for example in examples], delta) > 0.5
    return float(np.mean(predicted == np.array([example.hops > delta for example in examples])))


def _train_on_words(
    examples: Sequence[HopExample],
    labelled: int,
    recipe: HopRecipe,
    encode: "Callable[[Sequence[str]], FloatArray]",
    encoder: str,
    start: HopPredictorWeights | None,
) -> HopPredictorWeights:
    import torch

    vocabulary = sorted({word for example in examples for word in example.question.words}) or [""]
    number = {word: row for row, word in enumerate(vocabulary)}
    vectors = torch.from_numpy(np.ascontiguousarray(encode(vocabulary)))
    longest = max(len(example.question.words) for example in examples)
    words = torch.zeros(len(examples), max(longest, 1), dtype=torch.long)
    mask = torch.zeros(words.shape)
    for row, example in enumerate(examples):
        numbers = [number[word] for word in example.question.words]
        words[row, : len(numbers)] = torch.tensor(numbers, dtype=torch.long)
        mask[row, : len(numbers)] = 1.0
    labels = torch.tensor([min(example.hops, HOP_CLASSES) - 1 for example in examples])
    weights = torch.ones(len(examples))
    weights[labelled:] = recipe.share
    parameters = _init_parameters(vectors.shape[1], recipe, start)

    def loss_of(positions: "LongArray") -> "Tensor":
        rows = torch.from_numpy(positions)
        logits = _logits(vectors[words[rows]], mask[rows], parameters)
        losses = torch.nn.functional.cross_entropy(logits, labels[rows], reduction="none")
        return (losses * weights[rows]).mean()

    optimizer = torch.optim.AdamW(parameters.values(), lr=recipe.rate, weight_decay=recipe.decay)
    minimise(loss_of, optimizer, len(examples), recipe)
    arrays = {name: value.detach().numpy().copy() for name, value in parameters.items()}
    arrays["spread"][0] = math.exp(float(arrays["spread"][0]))
    return HopPredictorWeights(WORDS, arrays, (), encoder, {"recipe": asdict(recipe)})


def _init_parameters(width: int, recipe: HopRecipe, start: HopPredictorWeights | None) -> "dict[str, Tensor]":
    import torch

    if start is not None:
        values = {name: torch.from_numpy(np.array(array, dtype=np.float32)) for name, array in start.arrays.items()}
        values["spread"][0] = math.log(float(values["spread"][0]))
    else:
        generator = torch.Generator().manual_seed(recipe.seed)
        bound = 1 / math.sqrt(width)
        values = {
            "direct": (torch.rand(width + 1, generator=generator) * 2 - 1) * bound,
            "hidden": (torch.rand(recipe.hidden, width, generator=generator) * 2 - 1) * bound,
            "hidden_bias": torch.zeros(recipe.hidden),
            "out": (torch.rand(recipe.hidden, generator=generator) * 2 - 1) / math.sqrt(recipe.hidden),
            "spread": torch.tensor([-0.5, 0.0]),  # log of the standard deviation; hops of a question without words
        }
    return {name: value.requires_grad_() for name, value in values.items()}


def _logits(vectors: "Tensor", mask: "Tensor", parameters: "Mapping[str, Tensor]") -> "Tensor":
    """Return logits (b, `HOP_CLASSES`) from word vectors (b, n, d) and the mask (b, n) of existing words."""
    import torch

    scaled = vectors * VECTOR_SCALE
    hidden = torch.tanh(scaled @ parameters["hidden"].T + parameters["hidden_bias"])
    raw = scaled @ parameters["direct"][:-1] + parameters["direct"][-1] + hidden @ parameters["out"]
    counts = parameters["spread"][1] + (torch.nn.functional.softplus(raw) * mask).sum(1)
    distances = torch.arange(1, HOP_CLASSES + 1)[None, :] - counts[:, None]
    return -distances.square() / (2 * torch.exp(2 * parameters["spread"][0]))


def _fit_terms(examples: Sequence[HopExample], recipe: HopRecipe) -> HopPredictorWeights:
    """Fit a ridge regression of the hops on the tf-idf terms of the questions."""
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import spsolve

    by_question = [question_terms(example.question) for example in examples]
    terms = sorted({term for own in by_question for term in own})
    number = {term: column for column, term in enumerate(terms)}
    documents = np.bincount([number[t] for own in by_question for t in set(own)], minlength=len(terms))
    idf = np.log((1 + len(examples)) / (1 + documents)) + 1
    rows = np.repeat(np.arange(len(by_question)), [len(own) for own in by_question])
    columns = np.array([number[term] for own in by_question for term in own])
    table = csr_array((idf[columns], (rows, columns)), shape=(len(by_question), len(terms)))
    hops = np.array([example.hops for example in examples], dtype=np.float64)
    mean = float(hops.mean())
    ridge = max(recipe.decay, 1e-6) * len(examples)
    weights = spsolve((table.T @ table + ridge * eye_array(len(terms))).tocsc(), table.T @ (hops - mean))
    spread = float(np.sqrt(np.mean((table @ weights + mean - hops) ** 2)))
    arrays = {
        "weights": weights.astype(np.float32),
        "idf": idf.astype(np.float32),
        "spread": np.array([max(spread, 0.2), mean], dtype=np.float32),
    }
    about = {"recipe": asdict(replace(recipe, made_up=0))}
    return HopPredictorWeights(TERMS, arrays, tuple(terms), "", about)
