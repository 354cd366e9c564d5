"""Settings of the training of the reranker `g-rag`, from which the options of `clew train reranker` are made.

Fields with a description are options of the command line. Loading this module loads no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import InputError
from clew.training.hyperparameters import MAX_LAYERS, MAX_WIDTH, Recipe, check_fields
from clew_lab.training.hyperparameters import Measure, RerankLoss, option_values

Network = Literal["relational", "g-rag", "gcn", "gat", "sage", "gin", "mlp"]

_NETWORKS_OF_OPTIONS: dict[str, tuple[Network, ...]] = {
    "edges": ("relational", "g-rag", "gcn", "gat", "sage", "gin"),
    "normalization": ("g-rag", "gcn", "gat", "sage", "gin"),
    "messages": ("g-rag",),
    "edge_rule": ("g-rag",),
    "edge_weights": ("gcn", "gat", "sage", "gin"),
}
"""Options of `clew train reranker` that only some networks read."""

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
        from clew_lab.training.recipes.networks import check_shape

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

    def check_given(self, given: Mapping[str, Any]) -> None:
        """Raise InputError for an option that is given and that this training would not read."""
        for name in ("whole", "words"):
            if name in given and self.kind != "amr":
                raise InputError(
                    f"{_spell_option(name, given[name])} is for --graph amr, and the graph is {self.kind}: leave it out"
                )
        for name, networks in _NETWORKS_OF_OPTIONS.items():
            if name in given and self.network not in networks:
                raise InputError(
                    f"{_spell_option(name, given[name])} is for --network {', '.join(networks[:-1])}"
                    f"{' or ' if networks[:-1] else ''}{networks[-1]}, and the network is {self.network}: leave it out"
                )
        if "normalization" in given and self.network != "g-rag" and not self.edge_weights:
            raise InputError(
                "--normalization is of weights of edges, which --no-edge-weights leaves out: give only one"
            )
        if "temperature" in given and self.loss.kind != "set":
            raise InputError(f"--temperature is for --loss set, and the loss is {self.loss.kind}: leave it out")


def _spell_option(name: str, value: object) -> str:
    """Return an option as it was typed."""
    return f"--{'no-' if value is False else ''}{name.replace('_', '-')}"


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
