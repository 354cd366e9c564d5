"""Settings of `gcn-subgraph`, and of the neighbourhood that a subgraph is selected from."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from clew.graph.subgraphs.k_hop import MAX_HOPS
from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.retrievers.subgraph.retriever import SubgraphSettings

_DEFAULT = SubgraphSettings()


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
