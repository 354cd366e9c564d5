"""Settings of `gcn-subgraph` and `steiner`."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clew.graph.subgraphs.k_hop import MAX_HOPS
from clew.plugins.records import Amount, SettingsRecord, WholeNumber, setting
from clew.retrievers.subgraph.retriever import SubgraphSettings
from clew.retrievers.subgraph.selectors import SteinerSelector

_DEFAULT = SubgraphSettings()
_TREE = SteinerSelector()


class Neighbourhood(SettingsRecord):
    """Settings of the neighbourhood that a subgraph is selected from."""

    nodes: WholeNumber = setting(_DEFAULT.nodes, "entities that are selected from", "docs/subgraphs.md")
    budget: Annotated[int, Field(ge=1, le=100_000)] = setting(
        _DEFAULT.budget, "entities that are selected, at most", "docs/subgraphs.md"
    )
    hops: Annotated[int, Field(ge=1, le=MAX_HOPS)] = setting(_DEFAULT.hops, "radius of the neighbourhood")
    edges: WholeNumber = setting(_DEFAULT.edges, "edges read for the neighbourhood, at most")

    def subgraph_settings(self) -> SubgraphSettings:
        """Return the bounds of the neighbourhood."""
        return SubgraphSettings(self.nodes, self.budget, self.hops, self.edges)


class GCNSubgraph(Neighbourhood):
    """Settings of `gcn-subgraph`."""

    label: ClassVar[str] = "gcn-subgraph"

    weights: Path | None = setting(
        None, "weights that `clew train subgraph` made", unset="the index's, else the package's"
    )


class Steiner(Neighbourhood):
    """Settings of `steiner`."""

    label: ClassVar[str] = "steiner"

    topk: WholeNumber = setting(_TREE.topk, "nodes that have a prize", "G-Retriever")
    topk_e: WholeNumber = setting(_TREE.topk_e, "similarity values of edges that have a prize", "G-Retriever")
    cost: Amount = setting(_TREE.cost, "cost of an edge", "G-Retriever")
    fill: bool = setting(
        default=False, description="whether a tree below the budget is filled with its most similar neighbours"
    )
    question: Literal["whole", "masked"] = setting(
        "whole", "the question that names are compared with: masked is without the names it asks about", "G-Retriever"
    )
