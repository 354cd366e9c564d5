"""Settings of `gcn-subgraph`, and the shape of its network."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from clew.arrays import FloatArray
from clew.inference.subgraph_network import SUM, SubgraphNetwork
from clew.plugins.records import setting
from clew.retrievers.subgraph.gcn_features import feature_width
from clew.retrievers.subgraph.retriever import Neighbourhood


class GCNSubgraph(Neighbourhood):
    """Settings of `gcn-subgraph`."""

    label: ClassVar[str] = "gcn-subgraph"

    weights: Path | None = setting(
        None, "weights that `clew train subgraph` made", unset="the index's, else the package's"
    )


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
    width: Annotated[int, Field(ge=1, le=65_536, description="Width of the network's hidden layers.")] = 64
    layers: int = 2  # at least 2
    stops: Annotated[bool, Field(description="A selection may end before the budget is spent.")] = False

    def shapes(self, dimension: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the network's arrays by name, for vectors of some dimension."""
        widths = [feature_width(self.inputs, dimension), *[self.width] * (self.layers - 1), 1]
        shapes: dict[str, tuple[int, ...]] = {"weights": (2,), "end": (1,)}
        for number, (columns, rows) in enumerate(pairwise(widths)):
            shapes[f"gcn.layers.{number}.lin.weight"] = (rows, columns)
            if self.combination == SUM:
                shapes[f"gcn.layers.{number}.bias"] = (rows,)
        return shapes

    def network(self, arrays: Mapping[str, FloatArray]) -> SubgraphNetwork:
        """Return the network of trained arrays, by their names and in their shapes in `SubgraphScorer`."""
        return SubgraphNetwork(arrays, self.layers, self.combination, stops=self.stops)

    def walk_network(self, dimension: int) -> SubgraphNetwork:
        """Return a network that scores nodes by the walk and the cosine alone, as training starts from with `sum`."""
        arrays = {name: np.zeros(shape, dtype=np.float32) for name, shape in self.shapes(dimension).items()}
        arrays["weights"] += 1
        arrays["end"] -= 4
        return self.network(arrays)
