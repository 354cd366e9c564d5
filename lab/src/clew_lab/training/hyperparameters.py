"""Hyper-parameters of the objectives of this package: the parts that its recipes are composed of.

Loading this module loads no torch, so that the command line can show its options at once.
"""

import math
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import Field

from clew.errors import InputError
from clew.training.hyperparameters import CheckedRecord

LossKind = Literal["set", "listwise", "pairwise", "cross-entropy"]
Measure = Literal["recall", "mrr"]
FeedbackObjective = Literal["policy", "paper"]


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
