"""The seam of what selects a subgraph, `SubgraphSelector`, and the similarity of its nodes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph


class PerGraphSelector(ABC):
    """A `SubgraphSelector` whose selection on a graph does not depend on the other graphs."""

    __slots__ = ()

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return the selection of each query (see `SubgraphSelector`); raises InputError for a budget below 1."""
        if budget < 1:
            raise InputError(f"a part of a graph of {budget} nodes: ask for at least 1")
        return [self.select_one(query, budget) for query in queries]

    @abstractmethod
    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return the selection on one graph; `budget` is at least 1."""


def node_similarity(query: GraphQuery) -> FloatArray:
    """Return the cosine (n,) of every node's text with the question."""
    return similarity(query.graph.node_vectors, query.question_vector)


def similarity(vectors: FloatArray, question: FloatArray) -> FloatArray:
    """Return the cosines (n,) of unit rows (n, d) with a unit vector (d,)."""
    return np.asarray(vectors @ question if len(vectors) else np.zeros(0), dtype=np.float32)


class SubgraphSelector(Protocol):
    """Questions on textual graphs in, the part of each graph that a reader gets out."""

    def select(self, queries: Sequence[GraphQuery], budget: int) -> list[Subgraph]:
        """Return for each question a part of its graph of at most `budget` nodes, whose order means nothing.

        Raises InputError where `budget` is below 1.
        """
