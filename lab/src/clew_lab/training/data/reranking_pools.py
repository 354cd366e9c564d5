"""Reranking pools: the passages retrieved for training questions, cached in a file because retrieving them is slow."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray
from clew.errors import InputError
from clew.evaluation.ranking_metrics import creditable_id, match_gold
from clew.rerankers.g_rag.document_graph import DocumentGraph, DocumentGraphBuilder
from clew.store.atomic import atomic_file
from clew.types import Evidence, Question

_BATCH_SIZE = 32  # questions whose passages are read at a time; more would only use more memory


@dataclass(frozen=True, slots=True, eq=False)
class PoolExample:
    """The passages retrieved for one question."""

    graph: DocumentGraph  # document graph of n passages, in the order in which they were retrieved
    relevant: BoolArray  # (n,) which passages are evidence; each piece of evidence counts once, at its first passage
    others: BoolArray  # (n,) which passages are not. A further passage of an evidence document is neither.
    gold_count: int  # pieces of evidence that the question has, retrieved or not; at least 1


_ARRAYS: dict[str, Callable[[PoolExample], NDArray[Any]]] = {
    "vectors": lambda one: one.graph.vectors,
    "numbers": lambda one: one.graph.node_features,
    "edges": lambda one: one.graph.edge_features,
    "question": lambda one: one.graph.question,
    "relevant": lambda one: one.relevant,
    "others": lambda one: one.others,
}
"""Arrays of an example by their names in the file."""


def make_pool_examples(
    questions: Sequence[Question], evidence: Sequence[Evidence], graphs: DocumentGraphBuilder
) -> list[PoolExample]:
    """Return one example for each question that has gold and retrieved passages.

    Edge features are stored in half precision, which halves the memory of a training set.
    """
    pools = [(q, one.passages) for q, one in zip(questions, evidence, strict=True) if one.passages and q.gold]
    built: list[DocumentGraph] = []
    for start in range(0, len(pools), _BATCH_SIZE):
        batch = pools[start : start + _BATCH_SIZE]
        built += graphs.build([question.text for question, _ in batch], [passages for _, passages in batch])
    examples = []
    for (question, passages), graph in zip(pools, built, strict=True):
        ids, documents = zip(*((scored.item.id, scored.item.document_id) for scored in passages), strict=True)
        judgments = match_gold(ids, documents, question.gold)
        relevant = np.array([hit >= 0 for hit in judgments.hits])
        creditable = map(creditable_id, ids, documents, repeat(question.gold))
        others = np.array([id_ not in question.gold for id_ in creditable])
        edges: NDArray[Any] = graph.edge_features.astype(np.float16)
        halved = DocumentGraph(graph.vectors, graph.node_features, edges, graph.question, graph.notes)
        examples.append(PoolExample(halved, relevant, others, judgments.gold_count))
    return examples


def check_connected(examples: Sequence[PoolExample], source: str) -> None:
    """Raise InputError where all pools of a source lack graphs, and edges."""
    if all(one.graph.notes and not one.graph.edge_features.any() for one in examples):
        raise InputError(
            f"{source}: {examples[0].graph.notes[0]}; not one pool is connected: give another parser or file"
        )


def missing_graphs(examples: Sequence[PoolExample]) -> tuple[str, ...]:
    """Return a note of the pools that lack graphs of passages, if any do; pools read from a file do not tell."""
    lacking = [one.graph for one in examples if one.graph.notes]
    if not lacking:
        return ()
    return (f"{len(lacking)} of {len(examples)} pools lack graphs, such as: {lacking[0].notes[0]}",)


def save_pools(path: Path, examples: Sequence[PoolExample]) -> None:
    """Write examples to a file atomically; raises ProviderError if it cannot be written."""
    arrays: dict[str, NDArray[Any]] = {"gold": np.array([one.gold_count for one in examples], dtype=np.int64)}
    for name, read in _ARRAYS.items():
        rows = [read(one) for one in examples]
        arrays[name] = np.concatenate([row.ravel() for row in rows]) if rows else np.zeros(0)
        arrays[f"{name} shapes"] = np.array([row.shape for row in rows], dtype=np.int64)
    with atomic_file(path) as file, file.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def load_pools(path: Path) -> list[PoolExample] | None:
    """Read what `save_pools` wrote; None if the file is missing or damaged and must be made again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as read:
            arrays = {name: read[name] for name in read.files}
        columns = [_split_by_shape(arrays[name], arrays[f"{name} shapes"]) for name in _ARRAYS]
        rows = list(zip(*columns, arrays["gold"].tolist(), strict=True))
    except (OSError, EOFError, ValueError, KeyError, OverflowError, RuntimeError, BadZipFile, zlib.error):
        return None
    return [
        PoolExample(DocumentGraph(vectors, numbers, edges, question), relevant, others, count)
        for vectors, numbers, edges, question, relevant, others, count in rows
    ]


def _split_by_shape(values: NDArray[Any], shapes: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the arrays of some shapes (n, dimensions) that are concatenated in `values`."""
    ends = np.cumsum(shapes.prod(axis=1)) if len(shapes) else np.zeros(0, dtype=np.int64)
    parts = np.split(values, ends[:-1]) if len(shapes) else []
    return [part.reshape(tuple(shape)) for part, shape in zip(parts, shapes.tolist(), strict=True)]
