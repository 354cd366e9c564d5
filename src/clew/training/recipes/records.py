"""The settings of each training recipe as one frozen record, from which the options of its command are made.

Fields with a description are options of the command line. Loading this module loads no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from clew.errors import InputError
from clew.retrievers.subgraph.gcn_settings import ScorerSettings
from clew.training.hyperparameters import (
    CompletionRecipe,
    FeedbackRecipe,
    Recipe,
    RerankLoss,
    RetrievalLoss,
    check_fields,
)

if TYPE_CHECKING:
    from clew.nn.document_gnn import DocumentGNN, DocumentGNNSettings
    from clew.nn.query_gnn import QueryGNNSettings

Targets = Literal["passages", "entities"]
Network = Literal["relational", "g-rag", "gcn", "gat", "sage", "gin", "mlp"]

DEFAULT_NODES: dict[Targets, int] = {"passages": 100, "entities": 1000}
"""Of a question's graph: a hundred find what a thousand find where the walk chooses them (docs/benchmarks.md)."""


def settings_of_weights(folder: Path) -> dict[str, Any]:
    """Return the fields of a `GFMRecipe` that weights determine: targets, nodes and the shape of the network."""
    from clew.retrievers.gfm.weights import load_weights

    trained = load_weights(folder)
    shape = trained.model.settings
    return {
        "targets": trained.targets,
        "width": shape.width,
        "layers": shape.layers,
        "nodes": DEFAULT_NODES[trained.targets] if trained.nodes is None else trained.nodes,
        "features": bool(shape.features),
        "prior": shape.prior,
        "message": shape.message,
        "aggregate": shape.aggregate,
    }


@dataclass(frozen=True, slots=True)
class GFMRecipe:
    """Training of the graph neural network of `gfm`.

    Attributes:
        features: Of passages only.
        prior: Of passages only.

    Raises:
        InputError: A value trains nothing.
    """

    stage: Annotated[
        Literal["pretrain", "paths", "finetune"],
        Field(description="Complete facts, answer questions made of the graph, or answer those of train.jsonl."),
    ] = "finetune"
    targets: Annotated[Targets, Field(description="passages, or entities as published.")] = "passages"
    width: Annotated[int, Field(ge=1, description="Width of a node's state.")] = 64
    layers: Annotated[int, Field(ge=1, description="Message-passing steps.")] = 3
    nodes: Annotated[
        int, Field(ge=1, description="Nodes of a question's graph, at most; 1000 for entities, 250 to pretrain.")
    ] = DEFAULT_NODES["passages"]
    features: Annotated[bool, Field(description="Give nodes their numbers from the graph walk.")] = True
    prior: Annotated[bool, Field(description="Start scores from the ranking of the graph walk.")] = True
    message: Annotated[Literal["distmult", "transe"], Field(description="Message function.")] = "distmult"
    aggregate: Annotated[Literal["sum", "mean"], Field(description="Aggregation of messages.")] = "sum"
    start: Annotated[
        Path | None, Field(description="Weights to begin with; their shape replaces the defaults; random by default.")
    ] = None
    fraction: Annotated[float, Field(gt=0, le=1, description="Share of the training questions that is used.")] = 1.0
    questions: Annotated[
        int, Field(ge=1, description="Questions made of the graph of a corpus or an index, at most.")
    ] = 1000
    loss: RetrievalLoss = field(default_factory=RetrievalLoss)
    completion: CompletionRecipe = field(default_factory=CompletionRecipe)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=4))

    def __post_init__(self) -> None:
        check_fields(self)

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the shape of the weights to begin with, and the defaults that depend on targets and stage."""
        shape: dict[str, Any] = {}
        if given.get("start") is not None:
            shape = settings_of_weights(given["start"])
        targets = given.get("targets", shape.get("targets", "passages"))
        alpha = 1.0 if given.get("stage") == "pretrain" else RetrievalLoss().alpha
        return {"nodes": DEFAULT_NODES[targets], "alpha": alpha, **shape}

    def network_settings(self, text_width: int) -> "QueryGNNSettings":
        """Return the shape of the network for text vectors of a width."""
        from clew.nn.query_gnn import QueryGNNSettings
        from clew.retrievers.gfm.passage_graphs import FEATURES

        of_passages = self.targets == "passages"
        return QueryGNNSettings(
            self.width,
            text_width,
            self.layers,
            len(FEATURES) if of_passages and self.features else 0,
            prior=of_passages and self.prior,
            learned_inverse=of_passages,
            message=self.message,
            aggregate=self.aggregate,
        )


ADAPTATION = GFMRecipe("paths", questions=1500, loop=Recipe(epochs=1, rate=2e-4, average=0.98))
"""Adaptation of weights to an index; their shape stays."""


DEFAULT_BASES = ("bm25", "dense", "fused", "pagerank")
"""Retrievers whose pools a reranker learns from. One trained on the same questions would rank them too well."""


@dataclass(frozen=True, slots=True)
class RerankRecipe:
    """Training of the network of the reranker `g-rag`.

    Raises:
        InputError: Nothing would be read, or a value trains nothing.
    """

    kind: Annotated[
        Literal["index", "amr"], Field(alias="graph", description="Graph of passages: index, or amr as published.")
    ] = "index"
    parser: Annotated[str, Field(alias="amr", description="Parser of AMR: local, file:PATH or amrlib:MODEL.")] = "local"
    numbers: Annotated[
        bool, Field(description="Read numbers of how a passage matches; by default with index graphs.")
    ] = True
    text: Annotated[bool, Field(description="Read vectors of passages; by default with amr graphs.")] = False
    edges: Annotated[
        tuple[str, ...], Field(description="Features of edges to read, separated by commas; by default all.")
    ] = ()
    network: Annotated[
        Network,
        Field(description="Graph neural network."),
    ] = "relational"
    width: Annotated[int, Field(ge=1, description="Width of a passage's state.")] = 64
    layers: Annotated[int, Field(ge=1, description="Message-passing steps.")] = 2
    dropout: Annotated[float, Field(ge=0, lt=1, description="Share of a state that is dropped in training.")] = 0.1
    pool: Annotated[int, Field(ge=2, description="Passages per question.")] = 100
    loss: RerankLoss = field(default_factory=RerankLoss)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=4))

    def __post_init__(self) -> None:
        from clew.rerankers.g_rag.weights import FeatureColumns

        check_fields(self)
        if self.kind == "amr" and (self.numbers or not self.text):
            raise InputError("amr graphs have no numbers of passages; read their vectors: --text --no-numbers")
        if not (self.numbers or self.text):
            raise InputError("neither numbers nor vectors of passages are read: give --text, or leave --no-numbers out")
        self.network_settings(1)  # refuses a shape now, and not after the pools were found
        if len(set(self.edges)) < len(self.edges):
            raise InputError(f"the edges are {', '.join(self.edges)}: give each once")
        FeatureColumns.locate(self.input_columns, self.available_columns)

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is read of passages, by the kind of graph.

        Raises:
            InputError: A parser of AMR is given for graphs without AMR.
        """
        published = given.get("graph") == "amr"
        if "amr" in given and not published:
            raise InputError(
                f"--amr is {given['amr']!r}, and --graph index reads no AMR: give --graph amr, or leave it out"
            )
        return {"numbers": not published, "text": published}

    @property
    def available_columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of all numbers of passages and features of edges that graphs of this kind have."""
        from clew.rerankers.g_rag import amr_document_graph, document_graph

        if self.kind == "amr":
            return (), amr_document_graph.EDGE_FEATURES
        return document_graph.NODE_FEATURES, document_graph.EDGE_FEATURES

    @property
    def input_columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the numbers of passages and of the features of edges that the network reads."""
        numbers, edges = self.available_columns
        return numbers if self.numbers else (), self.edges or edges

    def network_settings(self, dimension: int) -> "DocumentGNNSettings":
        """Return the shape of the network for vectors of some dimension."""
        from clew.nn.document_gnn import DocumentGNNSettings

        numbers, edges = map(len, self.input_columns)
        vectors = dimension if self.text else 0
        return DocumentGNNSettings(vectors, numbers, edges, self.network, self.width, self.layers, self.dropout)

    def build_network(self, dimension: int) -> "DocumentGNN":
        """Return an untrained network for vectors of some dimension; equal seeds give equal ones."""
        import torch

        from clew.nn.document_gnn import DocumentGNN

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.loop.seed)
            return DocumentGNN(self.network_settings(dimension))


@dataclass(frozen=True, slots=True)
class SelectionRecipe:
    """Training of the network that selects subgraphs, by the answers of a reader.

    Attributes:
        network: Its shape.
        feedback: How selections are sampled and judged.
        loop: Of the training.

    Raises:
        InputError: Selections may end early, and nothing teaches the network where.
    """

    network: ScorerSettings = field(default_factory=ScorerSettings)
    feedback: FeedbackRecipe = field(default_factory=FeedbackRecipe)
    loop: Recipe = field(default_factory=lambda: Recipe(epochs=3, warmup=10, average=0.9))

    def __post_init__(self) -> None:
        self.feedback.check_stops(stops=self.network.stops)
