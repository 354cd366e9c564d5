"""The settings of each training recipe as one frozen record, from which the options of its command are made.

Fields with a description are options of the command line. Loading this module loads no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import InputError
from clew.plugins.records import Cosine
from clew.protocols import LOCAL_READER
from clew.query.entity_linker import LinkerMethod, LinkerSettings
from clew.retrievers.gfm.settings import NO_FLOOR, Targets
from clew.retrievers.subgraph.gcn_settings import ScorerSettings
from clew.training.hyperparameters import (
    FACT_TEMPERATURE,
    MAX_LAYERS,
    MAX_WIDTH,
    QUESTION_TEMPERATURE,
    CheckedRecord,
    CompletionRecipe,
    FeedbackRecipe,
    Measure,
    Recipe,
    RerankLoss,
    RetrievalLoss,
    StepType,
    check_fields,
    option_values,
)

Token = Literal["none", "part", "whole"]
Network = Literal["relational", "g-rag", "gcn", "gat", "sage", "gin", "mlp"]

CONTEXT_TOKENS = 512
"""Tokens of a graph's text that a language model reads; the authors' code."""

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
            raise InputError("the whole graph is for entities as targets: give --targets entities, or leave it out")
        if self.targets == "documents" and self.stage == "pretrain":
            raise InputError("documents are learned from questions: give --stage paths or finetune")

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the shape of the weights to begin with, and the defaults that depend on preset, targets and stage."""
        shape: dict[str, Any] = {}
        if given.get("start") is not None:
            from clew.training.recipes.networks import settings_of_weights

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
            return {**published, **shape, "fact_nodes": given.get("nodes", published["fact_nodes"])}
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


ADAPTATION = GFMRecipe(stage="paths", questions=1500, loop=Recipe(epochs=1, rate=2e-4, average=0.98))
"""Adaptation of weights to an index; their shape stays."""


DEFAULT_BASES = ("bm25", "dense", "fused", "pagerank")
"""Retrievers whose pools a reranker learns from. One trained on the same questions would rank them too well."""


@dataclass(frozen=True, slots=True)
class RerankRecipe:
    """Training of the network of the reranker `g-rag`; `published_rerank_recipe` is that of G-RAG."""

    preset: Annotated[
        Literal["ours", "paper"], Field(description="ours, or all of G-RAG's; other options still override it.")
    ] = "ours"
    kind: Annotated[
        Literal["index", "amr"], Field(alias="graph", description="Graph of passages: index, or amr as published.")
    ] = "index"
    parser: Annotated[
        str,
        Field(alias="amr", description="Parser of AMR: local, candidates, file:PATH, amrbart:MODEL or amrlib:MODEL."),
    ] = "local"
    whole: Annotated[
        bool, Field(description="Join passages by concepts that all AMR graphs hold too, as published.")
    ] = False
    words: Annotated[bool, Field(description="Encode the words on AMR paths with a passage, as published.")] = True
    numbers: Annotated[
        bool, Field(description="Read numbers of how a passage matches; by default with index graphs.")
    ] = True
    text: Annotated[bool, Field(description="Read vectors of passages; by default with amr graphs.")] = False
    edges: Annotated[
        tuple[str, ...], Field(description="Features of edges to read, separated by commas; by default all.")
    ] = ()
    chains: Annotated[bool, Field(description="Read chains of sentences; by default with index graphs.")] = True
    network: Annotated[Network, Field(description="Graph neural network.")] = "relational"
    width: Annotated[int, Field(ge=1, le=MAX_WIDTH, description="Width of a passage's state.")] = 64
    layers: Annotated[int, Field(ge=1, le=MAX_LAYERS, description="Message-passing steps.")] = 2
    dropout: Annotated[float, Field(ge=0, lt=1, description="Share of a state that is dropped in training.")] = 0.1
    normalization: Annotated[
        Literal["root", "doubly-stochastic", "dimensions"],
        Field(description="Normalization of edge features: dimensions as G-RAG says, doubly-stochastic as it cites."),
    ] = "root"
    messages: Annotated[
        Literal["weighted", "divided"],
        Field(description="Weighted mean of neighbours, or divided once more by their number, as equation 8 stands."),
    ] = "weighted"
    edge_rule: Annotated[
        Literal["gated", "relu"],
        Field(description="Update of edges: a factor above 0, or ReLU, which in one network of six leaves no edge."),
    ] = "gated"
    projection: Annotated[
        bool, Field(description="Project question and passages to --width; G-RAG leaves the question as it is.")
    ] = True
    edge_weights: Annotated[
        bool, Field(description="Let gcn, gat, sage and gin read weights of edges, and not only whether there are.")
    ] = True
    steps: Annotated[int, Field(ge=0, description="Steps of an epoch; 0 for one pass over the questions.")] = 0
    choose_by: Annotated[Measure, Field(description="What chooses the epoch: recall, or MRR as published.")] = "recall"
    pool: Annotated[int, Field(ge=2, alias="rerank_depth", description="Passages per question.")] = 100
    loss: RerankLoss = field(default_factory=RerankLoss)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=4))

    def __post_init__(self) -> None:
        check_fields(self)
        if self.kind == "amr" and (self.numbers or not self.text):
            raise InputError("amr graphs have no numbers of passages; read their vectors: --text --no-numbers")
        if self.kind == "amr" and self.chains:
            raise InputError("amr graphs have no chains of sentences: leave --chains out, or give --graph index")
        if not (self.numbers or self.text):
            raise InputError("neither numbers nor vectors of passages are read: give --text, or leave --no-numbers out")
        if len(set(self.edges)) < len(self.edges):
            raise InputError(f"the edges are {', '.join(self.edges)}: give each once")
        from clew.training.recipes.networks import check_shape

        check_shape(self)  # now, and not after the pools were found

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is read of passages, by the kind of graph; a parser of AMR needs graphs with AMR."""
        preset = option_values(published_rerank_recipe()) if given.get("preset") == "paper" else {}
        preset = {name: value for name, value in preset.items() if name != "edges"}  # all, which is no option's value
        published = given.get("graph", preset.get("graph")) == "amr"
        if "amr" in given and not published:
            raise InputError(
                f"--amr is {given['amr']!r}, and --graph index reads no AMR: give --graph amr, or leave it out"
            )
        return {**preset, "numbers": not published, "text": published, "chains": not published}


def published_rerank_recipe() -> RerankRecipe:
    """Return the recipe of G-RAG-RL.

    Source: Dong et al. (2024), section 4.1, where the paper chooses width, dropout and rate from sets: the middle ones.
    Differs from the source: edges are updated by a factor, since a ReLU leaves one network in six without any.
    """
    return RerankRecipe(
        "paper",
        "amr",
        whole=True,
        numbers=False,
        text=True,
        chains=False,
        network="g-rag",
        dropout=0.2,
        normalization="dimensions",
        projection=False,
        steps=10_000,
        choose_by="mrr",
        loss=RerankLoss("pairwise", hardest=0, batch=5),
        loop=Recipe(epochs=5, rate=1e-4, schedule="constant", decay=0.01, warmup=1000, clip=0.0, average=0.0),
    )


@dataclass(frozen=True, slots=True)
class SelectionRecipe:
    """Training of the network that selects subgraphs, by the answers of a reader.

    `published_selection_recipe` is that of GCN-Retriever.
    """

    network: ScorerSettings = field(default_factory=ScorerSettings)
    feedback: FeedbackRecipe = field(default_factory=FeedbackRecipe)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=3, warmup=10, average=0.9))
    preset: Annotated[
        Literal["ours", "paper"],
        Field(description="ours, or all of GCN-Retriever's; other options still override it."),
    ] = "ours"

    def __post_init__(self) -> None:
        check_fields(self)
        check_fields(self.network)
        self.feedback.check_stops(stops=self.network.stops)

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the published values of the options that are not given, under the preset `paper`."""
        return option_values(published_selection_recipe()) if given.get("preset") == "paper" else {}


def published_selection_recipe() -> SelectionRecipe:
    """Return the recipe of GCN-Retriever: its network and inputs, its loss, plain Adam, and the model by equation 5.

    Source: Engel and Park (2024), sections 3.2 to 3.4, equations 1 to 5. AdamW without decay is Adam. The paper states
    no rate, width, budget or number of epochs: those are ours.
    """
    return SelectionRecipe(
        ScorerSettings(inputs="text", combination="product"),
        FeedbackRecipe(objective="paper", choose_by="published"),
        Recipe(epochs=3, schedule="constant", decay=0.0, warmup=0, clip=0.0, average=0.0),
        "paper",
    )


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """The reader of selected subgraphs: the local one, or a causal language model.

    `context_tokens` is None for `CONTEXT_TOKENS`.
    """

    name: Annotated[
        str, Field(alias="reader", description="local, or a causal language model: a folder or a name on the hub.")
    ] = LOCAL_READER
    soft_prompt: Annotated[
        int, Field(ge=0, description="Trainable virtual tokens before the prompt of a language model; 0 for none.")
    ] = 0
    graph_token: Annotated[
        Token, Field(description="Trainable token made of the selected part of the graph, or of the whole graph.")
    ] = "none"  # noqa: S105 - no password
    graph_encoder: Annotated[
        Literal["transformer", "gcn", "gin", "gat", "mean"],
        Field(
            description="Network of graph tokens, those of g-retriever and graphtoken too; transformer as G-Retriever."
        ),
    ] = "transformer"
    graph_tokens: Annotated[int, Field(ge=1, description="Tokens of a graph that such a network makes.")] = 1
    node_features: Annotated[
        Literal["text", "laplacian", "random-walk", "identity", "learned"],
        Field(description="What such a network reads of nodes: texts, or as in GraphToken their place in the graph."),
    ] = "text"
    context_tokens: Annotated[
        int | None, Field(ge=1, description="Tokens of a graph's text that a language model reads, at most; 512.")
    ] = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.name == LOCAL_READER and (
            self.soft_prompt
            or self.graph_token != "none"  # noqa: S105 - no password
            or self.context_tokens
            or self.graph_encoder != "transformer"
            or self.graph_tokens != 1
            or self.node_features != "text"
        ):
            raise InputError("the local reader reads no tokens: give --reader FOLDER with a causal language model")
