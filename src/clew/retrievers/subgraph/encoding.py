"""Questions on textual graphs, with the relevance of each relation.

Source: He et al., "G-Retriever" (2024), for vectors of the texts of nodes and relations and of the question, compared
by cosine. Differs from the source: beside the whole question there is one whose topic nodes' names are masked, and
relations are also compared with its words one by one.

`SubgraphSelector` is the seam of what selects a subgraph.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, Subgraph
from clew.query.relation_matching import match_words


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A question as it is encoded."""

    text: str  # the question without names
    phrases: Sequence[Sequence[str]]  # for each word that may name a relation the phrases that contain it
    full_text: str = ""  # the question with its names; "" where none is masked

    def texts(self) -> list[str]:
        """Return all texts to encode, the question first."""
        full = [self.full_text] if self.full_text else []
        phrases = (phrase for phrases in self.phrases for phrase in phrases)
        return list(dict.fromkeys([self.text, *full, *phrases]))

    def query(self, graph: EncodedGraph, topics: IntArray, encode: Callable[[Sequence[str]], FloatArray]) -> GraphQuery:
        """Return the question on a graph, with the relevance of relations if it has phrases.

        Topics (t,) are positions of the nodes that it names; `encode` returns unit rows (n, d) of questions and words.
        """
        texts = self.texts()
        vectors = encode(texts)  # the phrases at once, so that they are cached for what follows
        relevance = None
        if self.phrases:
            relevance = match_words(self.phrases, graph.relation_vectors, encode)[0].max(axis=0)
        full = vectors[texts.index(self.full_text)] if self.full_text else None
        return GraphQuery(graph, vectors[0], topics, relevance, full)


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
