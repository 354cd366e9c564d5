"""Small graph contexts for reader tests."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, Subgraph, TextualGraph, induced_subgraph
from clew_lab.graph.reader_context import GraphContext, build_context, full_subgraph

WIDTH = 8
Edge = tuple[int, str, int]


def unit_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return unit rows that depend on their text only."""
    rows = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for place, text in enumerate(texts):
        seed = int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big")
        rows[place] = np.random.default_rng(seed).normal(size=WIDTH)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def make_context(names: Sequence[str], edges: Sequence[Edge], part: Sequence[int] | None = None) -> GraphContext:
    """Return a graph, or an induced subgraph of it, as a context."""
    relations = [relation for _, relation, _ in edges]
    ends = np.asarray([(source, target) for source, _, target in edges], dtype=np.int32).reshape(-1, 2)
    graph = TextualGraph(names, ends, relations)
    distinct = sorted(set(relations))
    rows = np.asarray([distinct.index(relation) for relation in relations], dtype=np.int32)
    encoded = EncodedGraph(graph, unit_vectors(names), unit_vectors(distinct), rows)
    query = GraphQuery(encoded, unit_vectors(["question"])[0], np.zeros(0, dtype=np.int32))
    subgraph: Subgraph = full_subgraph(graph) if part is None else induced_subgraph(graph, part)
    return build_context(query, subgraph)


QUESTIONS = ("Where was the Fram built?", "Who loves?", "", "Кто?", "Where?")
ANSWERS = ("Larvik", "a boy, and a dog that nobody else has ever loved", "卡尔斯克鲁纳 🚢", "", "Tromsø")
CONTEXTS = (
    make_context(("Fram", "Larvik", "Nansen"), ((0, "built in", 1), (2, "sailed", 0))),
    make_context(("boy", "dog, old", 'a "cat"\nasleep'), ((0, "loves", 1), (1, "loves", 0), (2, "loves", 2)), (0, 1)),
    make_context(("ship", "sea"), ((0, "on", 1),), ()),
    make_context((), ()),
    make_context(("Tromsø",), ()),
)
