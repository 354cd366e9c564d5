"""Training the router: how many hops a question takes, from the shortest paths between its entities and its answers.

A share of the training questions is made up: relations without a meaning, drawn from the words of a vocabulary, joined
as English joins them (`the A of X 's B`). They teach that a word that names a thing counts about one hop whatever it
is, which the few relations of one graph do not; no question of another kind is needed for that.

Source: Gao et al., "FRAG" (2025), section 3.1 and 4.2 (labels from shortest paths; feedback).
Differs from the source: hops are counted (see `clew.retrievers.frag.hop_predictor`); the encoder is not tuned;
questions are made up.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.query.masking import MaskedQuestion
from clew.retrievers.frag.hop_predictor import (
    HOP_CLASSES,
    TERMS,
    VECTOR_SCALE,
    WORDS,
    HopPredictor,
    HopPredictorWeights,
    question_terms,
)

if TYPE_CHECKING:
    from numpy.random import Generator
    from torch import Tensor

    from clew.types import FloatArray

_OPENINGS = (
    (),
    ("what", "is", "the"),
    ("who", "is", "the"),
    ("which", "is", "the"),
    ("what",),
    ("the",),
    ("what", "are", "the"),
    ("tell", "me", "the"),
    ("name", "the"),
    ("which",),
)


@dataclass(frozen=True, slots=True)
class HopRecipe:
    """How a router is trained.

    Attributes:
        kind: `words` or `tf-idf`.
        made_up: Questions that are made up, at most; for `words`.
        share: What one of them weighs in the loss.
        hidden: Width of the network.
        epochs: How often each question is seen.
        batch: Questions a step.
        rate: Highest learning rate.
        decay: Weight decay; of `tf-idf` the ridge.
        seed: Of everything random.
    """

    kind: str = WORDS
    made_up: int = 12_000
    share: float = 0.3
    hidden: int = 32
    epochs: int = 14
    batch: int = 256
    rate: float = 1e-2
    decay: float = 0.02
    seed: int = 0


FEEDBACK_RECIPE = HopRecipe(made_up=0, epochs=3, batch=16, rate=1e-4)
"""Adapting to feedback, as published: 3 epochs, batches of 16, rate 1e-4."""


@dataclass(frozen=True, slots=True)
class HopExample:
    """A question and how many hops it takes, at least 1."""

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
    """Return trained weights.

    Args:
        examples: At least one.
        recipe: How.
        encode: Gives unit vectors (n, d) of words.
        encoder: Its fingerprint.
        vocabulary: Words that made-up relations are drawn from; none are made up without.
        start: Weights to go on from, for `words`.

    Raises:
        InputError: There is no example, or the start is of another kind or encoder.
    """
    if not examples:
        raise InputError("no question to learn from: give questions whose answers the graph joins to their topics")
    if recipe.kind == TERMS and start is not None:
        raise InputError("a router of the kind tf-idf is made at once and goes on from nothing: leave --start out")
    if recipe.kind == TERMS:
        return _fit_terms(examples, recipe)
    if start is not None and (start.kind != WORDS or start.encoder != encoder):
        raise InputError(f"the start is of kind {start.kind!r}; wanted words of the same encoder: choose another start")
    generator = np.random.default_rng(recipe.seed)
    drawn = make_synthetic_questions(vocabulary, recipe.made_up, generator) if len(vocabulary) else []
    return _train_on_words([*examples, *drawn], len(examples), recipe, encode, encoder, start)


def make_synthetic_questions(vocabulary: Sequence[str], count: int, generator: "Generator") -> list[HopExample]:
    """Return questions of 1 to 3 relations without a meaning, joined by `of` and the possessive."""
    made: list[HopExample] = []
    for _ in range(count):
        hops = int(generator.integers(1, 4))
        relations = [vocabulary[int(generator.integers(len(vocabulary)))] for _ in range(hops)]
        behind = int(generator.integers(0, hops + 1))
        join = ("of", "the") if generator.random() < 0.3 else ("of",)
        before: list[str] = list(_OPENINGS[int(generator.integers(len(_OPENINGS)))])
        for relation in relations[behind:][::-1]:
            before += [relation, *join]
        after = [word for relation in relations[:behind] for word in ("s", relation)]
        made.append(HopExample(MaskedQuestion(tuple(before), tuple(after)), hops))
    return made


def accuracy(router: HopPredictor, examples: Sequence[HopExample], delta: int = 2) -> float:
    """Return the share of questions that are rightly told to be simple or complex."""
    told = router.multi_hop_probability([example.question for example in examples], delta) > 0.5
    return float(np.mean(told == np.array([example.hops > delta for example in examples])))


def _train_on_words(
    examples: Sequence[HopExample],
    real: int,
    recipe: HopRecipe,
    encode: "Callable[[Sequence[str]], FloatArray]",
    encoder: str,
    start: HopPredictorWeights | None,
) -> HopPredictorWeights:
    import torch

    vocabulary = sorted({word for example in examples for word in example.question.words}) or [""]
    number = {word: place for place, word in enumerate(vocabulary)}
    vectors = torch.from_numpy(np.ascontiguousarray(encode(vocabulary)))
    longest = max(len(example.question.words) for example in examples)
    words = torch.zeros(len(examples), max(longest, 1), dtype=torch.long)
    there = torch.zeros(words.shape)
    for row, example in enumerate(examples):
        places = [number[word] for word in example.question.words]
        words[row, : len(places)] = torch.tensor(places, dtype=torch.long)
        there[row, : len(places)] = 1.0
    wanted = torch.tensor([min(example.hops, HOP_CLASSES) - 1 for example in examples])
    worth = torch.ones(len(examples))
    worth[real:] = recipe.share
    parameters = _init_parameters(vectors.shape[1], recipe, start)
    optimiser = torch.optim.AdamW(parameters.values(), lr=recipe.rate, weight_decay=recipe.decay)
    generator = np.random.default_rng(recipe.seed)
    steps = recipe.epochs * math.ceil(len(examples) / recipe.batch)
    step = 0
    for _ in range(recipe.epochs):
        order = torch.from_numpy(generator.permutation(len(examples)))
        for begin in range(0, len(examples), recipe.batch):
            rows = order[begin : begin + recipe.batch]
            for group in optimiser.param_groups:
                group["lr"] = recipe.rate * 0.5 * (1 + math.cos(math.pi * step / steps))
            step += 1
            logits = _logits(vectors[words[rows]], there[rows], parameters)
            each = torch.nn.functional.cross_entropy(logits, wanted[rows], reduction="none")
            loss = (each * worth[rows]).mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    arrays = {name: value.detach().numpy().copy() for name, value in parameters.items()}
    arrays["spread"][0] = math.exp(float(arrays["spread"][0]))
    return HopPredictorWeights(WORDS, arrays, (), encoder, {"recipe": asdict(recipe)})


def _init_parameters(width: int, recipe: HopRecipe, start: HopPredictorWeights | None) -> "dict[str, Tensor]":
    import torch

    if start is not None:
        kept = {name: torch.from_numpy(np.array(array, dtype=np.float32)) for name, array in start.arrays.items()}
        kept["spread"][0] = math.log(float(kept["spread"][0]))
    else:
        drawn = torch.Generator().manual_seed(recipe.seed)
        bound = 1 / math.sqrt(width)
        kept = {
            "direct": (torch.rand(width + 1, generator=drawn) * 2 - 1) * bound,
            "hidden": (torch.rand(recipe.hidden, width, generator=drawn) * 2 - 1) * bound,
            "hidden_bias": torch.zeros(recipe.hidden),
            "out": (torch.rand(recipe.hidden, generator=drawn) * 2 - 1) / math.sqrt(recipe.hidden),
            "spread": torch.tensor([-0.5, 0.0]),  # logarithm of the bell's width; hops of a question without words
        }
    return {name: value.requires_grad_() for name, value in kept.items()}


def _logits(vectors: "Tensor", there: "Tensor", parameters: "Mapping[str, Tensor]") -> "Tensor":
    """Return (b, `CLASSES`) from words (b, n, d) and which of them are there (b, n)."""
    import torch

    scaled = vectors * VECTOR_SCALE
    hidden = torch.tanh(scaled @ parameters["hidden"].T + parameters["hidden_bias"])
    raw = scaled @ parameters["direct"][:-1] + parameters["direct"][-1] + hidden @ parameters["out"]
    counts = parameters["spread"][1] + (torch.nn.functional.softplus(raw) * there).sum(1)
    away = torch.arange(1, HOP_CLASSES + 1)[None, :] - counts[:, None]
    return -away.square() / (2 * torch.exp(2 * parameters["spread"][0]))


def _fit_terms(examples: Sequence[HopExample], recipe: HopRecipe) -> HopPredictorWeights:
    """Return the ridge regression of the hops on the weighted terms of the questions."""
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import spsolve

    found = [question_terms(example.question) for example in examples]
    terms = sorted({term for row in found for term in row})
    number = {term: place for place, term in enumerate(terms)}
    documents = np.bincount([number[t] for row in found for t in set(row)], minlength=len(terms))
    idf = np.log((1 + len(examples)) / (1 + documents)) + 1
    rows = np.repeat(np.arange(len(found)), [len(row) for row in found])
    columns = np.array([number[term] for row in found for term in row])
    table = csr_array((idf[columns], (rows, columns)), shape=(len(found), len(terms)))
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
