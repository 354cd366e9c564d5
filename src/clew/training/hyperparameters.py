"""Hyper-parameters of the training loop and of the objectives: the parts that recipes are composed of.

No module here or above it in a recipe loads torch, so that the command line can show its options at once.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import Field

from clew.errors import InputError
from clew.plugins.records import MAX_AMOUNT, MAX_COUNT

MAX_WIDTH, MAX_LAYERS = 65_536, 1_024  # of a network that could be meant

StepType = Literal["float32", "bfloat16"]
"""Numbers in which a training step multiplies matrices."""

LossKind = Literal["set", "listwise", "pairwise", "cross-entropy"]
Measure = Literal["recall", "mrr"]
FeedbackObjective = Literal["policy", "paper"]

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


def option_values(record: Any) -> dict[str, Any]:
    """Return the values of a record's options by the names of the options, of records in it too."""
    values: dict[str, Any] = {}
    for own in fields(record):
        value = getattr(record, own.name)
        hint = get_type_hints(type(record), include_extras=True)[own.name]
        notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        if is_dataclass(value):
            values |= option_values(value)
        elif info := next((note for note in notes if getattr(note, "description", None)), None):
            values[info.alias or own.name] = value
    return values


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
class CompletionRecipe(CheckedRecord):
    """Sampling of the facts to complete; see `objectives.kg_completion`."""

    steps: Annotated[int, Field(ge=1, description="Batches of facts per epoch, to pretrain.")] = 400
    batch: Annotated[int, Field(ge=1)] = 8  # of one index
    # the paper has 128, its code 256
    negatives: Annotated[int, Field(ge=1, description="Wrong ends drawn for each fact, to pretrain.")] = 128
    # facts of each index for validation; training asks for neither of their ends
    held_out: Annotated[int, Field(ge=0)] = 100
    nodes: Annotated[
        int, Field(ge=1, alias="fact_nodes", description="Nodes of a fact's graph, at most; those of --nodes if given.")
    ] = 250


@dataclass(frozen=True, slots=True)
class RerankLoss(CheckedRecord):
    """The loss of each question whose passages are reranked; see `objectives.reranking`."""

    kind: Annotated[
        LossKind, Field(alias="loss", description="Loss of a question; pairwise and cross-entropy as published.")
    ] = "set"
    temperature: Annotated[
        float, Field(gt=0, lt=math.inf, description="Of the loss set; the smaller, the more the worst passage counts.")
    ] = 1.0
    hardest: Annotated[int, Field(ge=0, description="Irrelevant passages in the loss, the best scored; 0 for all.")] = 5
    batch: Annotated[int, Field(ge=1, description="Questions per step.")] = 8


@dataclass(frozen=True, slots=True)
class FeedbackRecipe(CheckedRecord):
    """Sampling and cost of selections of nodes; see `objectives.subgraph_feedback`."""

    objective: Annotated[FeedbackObjective, Field(description="policy, or the loss of the paper.")] = "policy"
    budget: Annotated[int, Field(ge=1, description="Nodes of a selection, at most.")] = 20
    draws: Annotated[int, Field(ge=2, description="Selections of a question that are compared, for policy.")] = 4
    price: Annotated[float, Field(ge=0, description="Penalty per selected node, in nats of the reader's loss.")] = 0.0
    choose_by: Annotated[
        Literal["reader", "published"],
        Field(description="What chooses the epoch: the reader's loss, or the published loss, equation 5 of the paper."),
    ] = field(default="reader", repr=False)  # named apart in the identity of a run, which is older than this field
    batch: Annotated[int, Field(ge=1)] = 16  # questions per step

    def check_stops(self, *, stops: bool) -> None:
        """Raise InputError if selections may end early under an objective that does not train where."""
        if stops and self.objective == "paper":
            raise InputError(
                "the objective paper does not train where a selection ends, so a network with stops would end "
                "anywhere: wanted the objective policy, or no stops"
            )
