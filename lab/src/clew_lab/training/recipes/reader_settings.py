"""Settings of the reader of selected subgraphs, from which options of `clew train subgraph` are made.

Fields with a description are options of the command line. Loading this module loads no torch.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from clew.errors import InputError
from clew.protocols import LOCAL_READER
from clew.training.hyperparameters import check_fields

Token = Literal["none", "part", "whole"]

CONTEXT_TOKENS = 512
"""Tokens of a graph's text that a language model reads; the authors' code."""


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
