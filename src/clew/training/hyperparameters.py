"""Hyper-parameters of the training loop and of the objectives: the parts that recipes are composed of.

No module here or above it in a recipe loads torch, so that the command line can show its options at once.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import Field

from clew.errors import InputError
from clew.plugins.records import MAX_AMOUNT, MAX_COUNT

MAX_WIDTH, MAX_LAYERS = 65_536, 1_024  # of a network that could be meant

StepType = Literal["float32", "bfloat16"]
"""Numbers in which a training step multiplies matrices."""

_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "ge": ("at least", operator.ge),
    "gt": ("above", operator.gt),
    "le": ("at most", operator.le),
    "lt": ("below", operator.lt),
}


def check_fields(record: Any) -> None:
    """Raise InputError for a value outside the bounds of its field's `Field`, or none of its `Literal` choices.

    Without an upper bound of its own a whole number is at most `MAX_COUNT`, and another number at most `MAX_AMOUNT`.
    """
    hints = get_type_hints(type(record), include_extras=True)
    for own in fields(record):
        value, hint = getattr(record, own.name), hints[own.name]
        kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if get_origin(kind) is Literal and value not in get_args(kind):
            *others, last = get_args(kind)
            raise InputError(f"{own.name} is {value!r}: wanted {', '.join(others)} or {last}")
        constraints = [constraint for note in notes for constraint in getattr(note, "metadata", ())]
        bounds = [(name, getattr(c, name)) for c in constraints for name in _BOUNDS if hasattr(c, name)]
        if type(value) in (int, float):
            alias = next((note.alias for note in notes if getattr(note, "alias", None)), None)
            option = f"--{alias.replace('_', '-')}: " if alias else ""  # for people who know the command line alone
            _check_number(f"{option}{own.name}", value, bounds)


def _check_number(name: str, value: float, bounds: Sequence[tuple[str, float]]) -> None:
    """Raise InputError for a number outside its bounds, which are names of `_BOUNDS` with their values."""
    finite = [(kind, bound) for kind, bound in bounds if math.isfinite(bound)]
    if not any(kind in ("le", "lt") for kind, _ in finite):
        finite.append(("le", MAX_COUNT if isinstance(value, int) else MAX_AMOUNT))
    if not all(_BOUNDS[kind][1](value, bound) for kind, bound in finite):  # never true of a value that is no number
        words = (f"{_BOUNDS[kind][0]} {bound:,.15g}" for kind, bound in finite)
        raise InputError(f"{name} is {value}: wanted {' and '.join(words)}")


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """A record whose fields are checked (see `check_fields`) when it is made."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class Recipe(CheckedRecord):
    """Hyper-parameters of the training loop."""

    epochs: Annotated[int, Field(ge=1, description="Passes over the training data, at most.")] = 5
    # of AdamW
    rate: Annotated[float, Field(gt=0, lt=math.inf, description="Highest learning rate.")] = 2e-3
    schedule: Annotated[
        Literal["cosine", "constant"],
        Field(description="Learning-rate schedule after the warm-up: cosine to 0, or constant."),
    ] = "cosine"
    decay: Annotated[float, Field(ge=0, lt=math.inf, description="Weight decay of AdamW.")] = 1e-4
    warmup: Annotated[int, Field(ge=0, description="Steps over which the learning rate rises.")] = 30
    clip: Annotated[float, Field(ge=0, lt=math.inf, description="Greatest norm of the gradient; 0 for any.")] = 1.0
    # Averaged weights generalise better when questions are few.
    average: Annotated[
        float,
        Field(ge=0, lt=1, description="Share of themselves that the stored weights keep each step; 0 for the last."),
    ] = 0.99
    patience: Annotated[
        int, Field(ge=0, description="Epochs without a better figure before training stops; 0 for never.")
    ] = 0
    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 0


QUESTION_TEMPERATURE, FACT_TEMPERATURE = 0.2, 1.0
"""Temperatures of the cross-entropy of GFM-RAG's code, for questions and for facts."""


@dataclass(frozen=True, slots=True)
class RetrievalLoss:
    """The loss of each question, or of each fact to be completed; see `objectives.document_retrieval`."""

    alpha: Annotated[
        float, Field(ge=0, le=1, description="Share of the cross-entropy beside the ranking loss; 1 to pretrain.")
    ] = 0.3
    ranking: Annotated[
        Literal["listwise", "paper", "code"],
        Field(description="Ranking loss: listwise, or the ratio of the paper or of its code."),
    ] = "listwise"
    temperature: Annotated[
        float,
        Field(gt=0, lt=math.inf, description="Of the weights of wrong nodes, with --ranking code; 1 to pretrain."),
    ] = QUESTION_TEMPERATURE
    augment: Annotated[bool, Field(description="Learn questions also in lower case and without their names.")] = True
    # how often each form of a question is drawn (`data.gfm_examples.FORMS`) if they are augmented, as relative
    # frequencies
    forms: tuple[float, float, float, float] = (0.6, 0.15, 0.15, 0.1)
    batch: Annotated[int, Field(ge=1, description="Questions or facts per step.")] = 8  # of one index

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.forms) < 0 or not sum(self.forms):
            raise InputError(f"forms is {self.forms}: wanted no frequency below 0, and one above it")


@dataclass(frozen=True, slots=True)
class AdaptRecipe(CheckedRecord):
    """Adaptation of weights to an index; their shape stays."""

    questions: Annotated[int, Field(ge=1, description="Questions made of the index, at most.")] = 1500
    loss: RetrievalLoss = field(default_factory=RetrievalLoss)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=1, rate=2e-4, average=0.98))


@dataclass(frozen=True, slots=True)
class ReaderRecipe(CheckedRecord):
    """Training of a reader; its shape is that of the weights it begins with."""

    batch: Annotated[int, Field(ge=1, description="Windows per step.")] = 16
    combined: Annotated[
        int, Field(ge=0, description="Questions an epoch that are made of two questions joined by a name.")
    ] = 0
    recurring: Annotated[
        int,
        Field(ge=0, description="Questions an epoch that are made of names that stand in two texts, without labels."),
    ] = 0
    dtype: Annotated[StepType, Field(description="Numbers that steps multiply in: float32 or bfloat16.")] = "bfloat16"
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=3, rate=1.5e-4, decay=0.01, warmup=200, average=0.998))


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """Figures and sizes of a training run; a recipe fills in what it has."""

    best_epoch: int = -1  # from 0; -1 if the weights before training were the best, or if there are no epochs
    # of the best epoch on the validation data, by name; the first one chose the epoch, higher is better
    figures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    # the same figures without the training: of the weights it began with or, for a reranker, of the passages in the
    # order they were found in
    initial_figures: dict[str, float] = field(default_factory=dict)
    questions: int = 0  # questions, or pools of passages, that were learned from
    held_out: int = 0  # questions that chose the epoch
    left_out: int = 0  # questions that could not be used
    parameters: int = 0  # of the network
    gold_nodes: int = 0  # nodes that the questions ask for, over all questions
    gold_nodes_outside: int = 0  # those among them that the graph of their question does not hold
    notes: tuple[str, ...] = ()  # for the user
