"""The shape of a network that selects subgraphs; loads no torch before a network is built."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import Field

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.nn.subgraph_policy import SubgraphScorer

Inputs = Literal["text", "question"]
Combination = Literal["product", "sum"]


@dataclass(frozen=True, slots=True)
class ScorerSettings:
    """The shape of a network that selects subgraphs."""

    inputs: Annotated[
        Inputs, Field(description="Of a node: text (the published ones), or question (its relation to it, too).")
    ] = "question"
    combination: Annotated[Combination, Field(description="Of the states: product (the published one), or sum.")] = (
        "sum"
    )
    width: Annotated[int, Field(ge=1, description="Width of the network's hidden layers.")] = 64
    layers: int = 2  # at least 2
    stops: Annotated[bool, Field(description="A selection may end before the budget is spent.")] = False

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("inputs", self.inputs, get_args(Inputs)),
            ("combination", self.combination, get_args(Combination)),
        ):
            if value not in choices:
                raise InputError(f"{name} is {value!r}: wanted {' or '.join(choices)}")

    def build_network(self, dimension: int, seed: int) -> "SubgraphScorer":
        """Return an untrained network for vectors of some dimension; equal seeds give equal ones.

        Raises InputError where there are fewer than 2 layers, or a width below 1.
        """
        import torch

        from clew.nn.subgraph_policy import SubgraphScorer
        from clew.retrievers.subgraph.gcn_features import feature_width

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inputs = feature_width(self.inputs, dimension)
            return SubgraphScorer(inputs, self.width, self.layers, self.combination, stops=self.stops)
