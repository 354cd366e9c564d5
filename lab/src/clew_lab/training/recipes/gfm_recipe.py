"""Settings of the training of `gfm`'s network, from which the options of `clew train gfm` are made.

Fields with a description are options of the command line. Loading this module loads no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import InputError
from clew.plugins.records import Cosine
from clew.query.entity_linker import LinkerMethod, LinkerSettings
from clew.retrievers.gfm.settings import Targets
from clew.training.hyperparameters import (
    FACT_TEMPERATURE,
    MAX_LAYERS,
    MAX_WIDTH,
    QUESTION_TEMPERATURE,
    CheckedRecord,
    Recipe,
    RetrievalLoss,
    StepType,
    check_fields,
)
from clew_lab.gfm.published_retriever import NO_FLOOR
from clew_lab.graph.synonyms import SynonymNames
from clew_lab.training.hyperparameters import CompletionRecipe, option_values

_STAGES_OF_OPTIONS: dict[str, tuple[str, ...]] = {
    "steps": ("pretrain",),
    "negatives": ("pretrain",),
    "fact_nodes": ("pretrain",),
    "questions": ("paths",),
    "fraction": ("finetune",),
    "augment": ("paths", "finetune"),
}
"""Options of `clew train gfm` that only some stages read."""

DEFAULT_NODES: dict[Targets, int] = {"passages": 100, "entities": 1000, "documents": 1000}
"""Nodes of a question's graph: a hundred find what a thousand find where the walk chooses them (docs/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class GFMRecipe(CheckedRecord):
    """Training of the graph neural network of `gfm`.

    `features` and `prior` are of passages only; `whole_graph`, `seeds` and `ranker` of entities. `published_recipe` is
    that of GFM-RAG.
    """

    preset: Annotated[
        Literal["ours", "paper"], Field(description="ours, or all of GFM-RAG's; other options still override it.")
    ] = "ours"

    stage: Annotated[
        Literal["pretrain", "paths", "finetune"],
        Field(description="Complete facts, answer questions made of the graph, or answer those of train.jsonl."),
    ] = "finetune"
    targets: Annotated[Targets, Field(description="passages, entities as GFM-RAG, or documents as G-reasoner.")] = (
        "passages"
    )
    width: Annotated[int, Field(ge=1, le=MAX_WIDTH, description="Width of a node's state.")] = 64
    layers: Annotated[int, Field(ge=1, le=MAX_LAYERS, description="Message-passing steps.")] = 3
    nodes: Annotated[int, Field(ge=1, description="Nodes of a question's graph, at most; 1000 for entities.")] = (
        DEFAULT_NODES["passages"]
    )
    whole_graph: Annotated[
        bool, Field(description="Run on all nodes, for questions and facts, with all others as wrong; for entities.")
    ] = False
    seeds: Annotated[
        Literal["rarity", "plain"],
        Field(description="Start of a named entity: rarity, 1 / its number of passages, or plain, 1."),
    ] = "rarity"
    linker: Annotated[LinkerMethod, Field(description="What links the names of questions to entities.")] = "exact"
    linker_floor: Annotated[
        Cosine, Field(description="Least score of a name and its entity, where the linker compares vectors.")
    ] = LinkerSettings().floor
    synonyms: Annotated[
        SynonymNames, Field(description="Names that may be synonyms: comparable, all or relative; not for passages.")
    ] = "comparable"
    ranker: Annotated[
        Literal["weighted", "paper"], Field(description="Ranking of passages by entities: by their scores, or paper.")
    ] = "weighted"
    features: Annotated[bool, Field(description="Give nodes their numbers from the graph walk.")] = True
    chains: Annotated[
        bool, Field(description="Give nodes numbers from chains of sentences; with passages as targets only.")
    ] = True
    prior: Annotated[bool, Field(description="Start scores from the ranking of the graph walk.")] = True
    message: Annotated[Literal["distmult", "transe"], Field(description="Message function.")] = "distmult"
    aggregate: Annotated[
        Literal["sum", "mean", "mean-code"],
        Field(description="Aggregation of messages; mean-code, with the boundary, is the mean of GFM-RAG's code."),
    ] = "sum"
    start: Annotated[
        Path | None, Field(description="Weights to begin with; their shape replaces the defaults; random by default.")
    ] = None
    fraction: Annotated[float, Field(gt=0, le=1, description="Share of the training questions that is used.")] = 1.0
    questions: Annotated[
        int, Field(ge=1, description="Questions made of the graph of a corpus or an index, at most.")
    ] = 1000
    dtype: Annotated[StepType, Field(description="Numbers in which steps multiply matrices; bfloat16 is for GPUs.")] = (
        "float32"
    )
    loss: RetrievalLoss = field(default_factory=RetrievalLoss)
    completion: CompletionRecipe = field(default_factory=CompletionRecipe)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=4, average=0.998))

    def __post_init__(self) -> None:
        check_fields(self)
        if self.targets == "passages" and self.whole_graph:
            raise InputError(
                "--whole-graph is for entities or documents as targets, and the targets are passages: leave it out, or "
                "give --targets entities"
            )
        if self.targets == "documents" and self.stage == "pretrain":
            raise InputError("documents are learned from questions: give --stage paths or finetune")

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the shape of the weights to begin with, and the defaults that depend on preset, targets and stage."""
        shape: dict[str, Any] = {}
        if given.get("start") is not None:
            from clew_lab.training.recipes.weight_settings import settings_of_weights

            shape = settings_of_weights(given["start"])
        if "whole_graph" not in given and not given.keys().isdisjoint(("nodes", "fact_nodes")):
            shape["whole_graph"] = False
        if given.get("preset") == "paper":
            if shape.get("targets") == "passages":
                raise InputError(
                    f"the weights in {given['start']} score passages, and --preset paper is for entities: give weights "
                    "made by `clew train gfm --preset paper` or `clew weights import`, or leave --preset out"
                )
            published = option_values(published_recipe(given.get("stage", "finetune"), given.get("ranking", "paper")))
            published |= shape
            if given.get("targets") == "passages" and "whole_graph" not in given and published["whole_graph"]:
                raise InputError(
                    "--targets passages has no whole graph, which --preset paper runs on: add --no-whole-graph, or "
                    "leave --targets out"
                )
            return {**published, "fact_nodes": given.get("nodes", published["fact_nodes"])}
        targets = given.get("targets", shape.get("targets", "passages"))
        facts = given.get("stage") == "pretrain"
        form = {"seeds": "plain"} if targets == "documents" else {}
        defaults = {"nodes": DEFAULT_NODES[targets], **form, **shape}
        return {
            "fact_nodes": given.get("nodes", min(defaults["nodes"], CompletionRecipe().nodes)),
            "alpha": 1.0 if facts else RetrievalLoss().alpha,
            "temperature": FACT_TEMPERATURE if facts else QUESTION_TEMPERATURE,
            **defaults,
        }

    def check_given(self, given: Mapping[str, Any]) -> None:
        """Raise InputError for an option that is given and that this training would not read."""
        targets, ranking = self.targets, self.loss.ranking
        for name, stages in _STAGES_OF_OPTIONS.items():
            if given.get(name) and self.stage not in stages:
                raise InputError(
                    f"--{name.replace('_', '-')} is for --stage {' or '.join(stages)}, and the stage is {self.stage}: "
                    "leave it out"
                )
        for name in ("features", "chains", "prior"):
            if given.get(name) and targets != "passages":
                raise InputError(f"--{name} is for passages as targets, and the targets are {targets}: leave it out")
        if "seeds" in given and targets == "passages":
            raise InputError(
                "--seeds is for entities or documents as targets, and the targets are passages: leave it out"
            )
        if "ranker" in given and targets != "entities":
            raise InputError(f"--ranker is for entities as targets, and the targets are {targets}: leave it out")
        for name in ("nodes", "fact_nodes"):
            if given.get("whole_graph") and name in given:
                raise InputError(f"--whole-graph takes all nodes: leave it or --{name.replace('_', '-')} out")
        if "linker_floor" in given and self.linker == "exact":
            raise InputError(
                "--linker-floor is for a --linker that compares vectors, and the linker is exact: leave it out"
            )
        if "temperature" in given and ranking != "code":
            raise InputError(f"--temperature is for --ranking code, and the ranking is {ranking}: leave it out")


def published_recipe(
    stage: Literal["pretrain", "paths", "finetune"] = "finetune",
    ranking: Literal["listwise", "paper", "code"] = "paper",
) -> GFMRecipe:
    """Return the recipe of GFM-RAG, for a stage and the losses of the paper or of its code.

    Source: Luo et al. (2025), tables 7 and 12, and appendix C.3; weight decay and the constant rate are of the code,
    and so are 256 wrong ends of a fact with its losses.
    """
    facts = stage == "pretrain"
    temperature = FACT_TEMPERATURE if facts else QUESTION_TEMPERATURE
    loss = RetrievalLoss(1.0 if facts else 0.3, ranking, temperature, augment=False, batch=4)
    loop = Recipe(epochs=1 if facts else 5, rate=5e-4, schedule="constant", decay=0.01, warmup=0, clip=0.0, average=0.0)
    completion = CompletionRecipe(steps=30_000, batch=4, negatives=256 if ranking == "code" else 128)
    return GFMRecipe(
        "paper",
        stage,
        "entities",
        width=512,
        layers=6,
        nodes=DEFAULT_NODES["entities"],
        whole_graph=True,
        seeds="plain" if ranking == "paper" else "rarity",
        linker="embedding",
        linker_floor=NO_FLOOR,
        ranker="paper",
        loss=loss,
        completion=completion,
        loop=loop,
    )
