"""Pools of passages to learn reranking from, and the file that keeps them: finding them is the slow part."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from clew.datasets.relevance import creditable_id, match_gold
from clew.rerankers.g_rag.document_graph import DocumentGraph, DocumentGraphBuilder
from clew.store.atomic import atomic_file
from clew.types import Evidence, Question

if TYPE_CHECKING:
    from clew.rerankers.g_rag.document_graph import DocumentGraph
    from clew.types import BoolArray


if TYPE_CHECKING:
    from numpy.typing import NDArray

_ARRAYS = ("vectors", "numbers", "edges", "question", "relevant", "others")
_BATCH_SIZE = 32  # questions whose passages are read at a time: more would only take memory


@dataclass(frozen=True, slots=True, eq=False)
class PoolExample:
    """The passages found for one question.

    Attributes:
        graph: Of n passages, best first as they were found.
        relevant: (n,) which are evidence; a piece of evidence counts once, at its first passage.
        others: (n,) which are none. What is neither is a further passage of a document that is evidence.
        gold_count: Pieces of evidence that the question has, found or not; at least 1.
    """

    graph: "DocumentGraph"
    relevant: "BoolArray"
    others: "BoolArray"
    gold_count: int


def make_pool_examples(
    questions: Sequence[Question], evidence: Sequence[Evidence], graphs: DocumentGraphBuilder
) -> list[PoolExample]:
    """Return what was found for some questions as examples; those with nothing found or no gold are left out.

    Features of edges are kept in half precision, which halves what a training set takes of memory.
    """
    asked = [(q, found.passages) for q, found in zip(questions, evidence, strict=True) if found.passages and q.gold]
    made: list[DocumentGraph] = []
    for start in range(0, len(asked), _BATCH_SIZE):
        part = asked[start : start + _BATCH_SIZE]
        made += graphs.build([question.text for question, _ in part], [passages for _, passages in part])
    examples = []
    for (question, passages), graph in zip(asked, made, strict=True):
        ids, documents = zip(*((scored.item.id, scored.item.document_id) for scored in passages), strict=True)
        judged = match_gold(ids, documents, question.gold)
        relevant = np.array([hit >= 0 for hit in judged.hits])
        counted = map(creditable_id, ids, documents, repeat(question.gold))
        others = np.array([name not in question.gold for name in counted])
        edges: NDArray[Any] = graph.edge_features.astype(np.float16)
        kept = DocumentGraph(graph.vectors, graph.node_features, edges, graph.question, graph.notes)
        examples.append(PoolExample(kept, relevant, others, judged.gold_count))
    return examples


def save_pools(path: Path, examples: Sequence[PoolExample]) -> None:
    """Write examples to a file, which appears whole or not at all.

    Raises:
        ProviderError: The disk refused.
    """
    arrays: dict[str, NDArray[Any]] = {"gold": np.array([one.gold_count for one in examples], dtype=np.int64)}
    for part in _ARRAYS:
        rows = [_array_of(one, part) for one in examples]
        arrays[part] = np.concatenate([row.ravel() for row in rows]) if rows else np.zeros(0)
        arrays[f"{part} shapes"] = np.array([row.shape for row in rows], dtype=np.int64)
    with atomic_file(path) as file, file.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def load_pools(path: Path) -> list[PoolExample] | None:
    """Read what `save_pools` wrote; None where the file is missing or damaged, and has to be made again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as read:
            arrays = {name: read[name] for name in read.files}
        parts = {part: _split_by_shape(arrays[part], arrays[f"{part} shapes"]) for part in _ARRAYS}
        examples = list(zip(*parts.values(), arrays["gold"].tolist(), strict=True))
    except (OSError, EOFError, ValueError, KeyError, OverflowError, RuntimeError, BadZipFile, zlib.error):
        return None
    return [
        PoolExample(DocumentGraph(vectors, numbers, edges, question), relevant, others, count)
        for vectors, numbers, edges, question, relevant, others, count in examples
    ]


def _array_of(example: PoolExample, name: str) -> "NDArray[Any]":
    array: NDArray[Any] = getattr(example if name in ("relevant", "others") else example.graph, name)
    return array


def _split_by_shape(values: "NDArray[Any]", shapes: "NDArray[Any]") -> "list[NDArray[Any]]":
    """Return arrays of some shapes (n, dimensions) that stand one after another."""
    ends = np.cumsum(shapes.prod(axis=1)) if len(shapes) else np.zeros(0, dtype=np.int64)
    parts = np.split(values, ends[:-1]) if len(shapes) else []
    return [part.reshape(tuple(shape)) for part, shape in zip(parts, shapes.tolist(), strict=True)]
