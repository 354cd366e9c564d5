"""Segments, and other records of arrays, as named arrays, one to one, for files and for comparing."""

from collections.abc import Hashable, Mapping
from dataclasses import is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from clew.errors import IndexFormatError
from clew.graph.segments.passage_columns import StoredNames, StoredPassages
from clew.graph.segments.segment import Ragged, Segment, SegmentPassages
from clew.graph.segments.sentence_columns import StoredSentences
from clew.graph.string_array import StringArray

RecordT = TypeVar("RecordT")
_DIMENSIONS = {
    "passages.vectors": 2, "facts.mention_spans": 2, "facts.triples.values": 2, "titles.links.values": 2,
    "sentences.spans.values": 2, "sentences.vectors": 2,
}  # fmt: skip
_SPANS, _VECTORS = "sentences.spans", "sentences.vectors"
_NAMES: dict[str, tuple[Any, str]] = {
    "forms": (StringArray, "names.forms.texts"), "form_keys": (np.ndarray, "names.form_keys"),
    "key_hashes": (np.ndarray, "names.keys.hashes"), "mentions": (Ragged, "facts.mentions"),
    "triples": (Ragged, "facts.triples"), "relations": (StringArray, "facts.relations.texts"),
    "title_names": (Ragged, "titles.names"), "headings": (Ragged, "titles.headings"),
}  # fmt: skip
"""Where the fields of `StoredNames` stand in a segment."""


def flatten_arrays(record: object) -> dict[str, NDArray[Any]]:
    """Return the arrays of a record such as a `Segment`, in its shapes, by their paths: `names.keys.texts.data`."""
    arrays: dict[str, NDArray[Any]] = {}
    _flatten(record, "", arrays)
    return arrays


def unflatten_arrays(kind: type[RecordT], arrays: Mapping[str, NDArray[Any]], name: str) -> RecordT:
    """Return the record of the arrays of `flatten_arrays`, read from the file `name`.

    Raises IndexFormatError, which names the file, where an array is missing or misshapen.
    """
    record = _unflatten(kind, "", arrays, name)
    assert isinstance(record, kind)
    return record


def unflatten_stored_passages(arrays: Mapping[str, NDArray[Any]], name: str) -> StoredPassages:
    """Return what searches read of the passages of a segment; arrays and errors are those of `unflatten_arrays`."""
    parts = {part: _unflatten(kind, f"passages.{part}", arrays, name) for part, kind in _stored_columns().items()}
    spans, vectors = _unflatten(Ragged, _SPANS, arrays, name), _unflatten(np.ndarray, _VECTORS, arrays, name)
    names = {part: _unflatten(kind, path, arrays, name) for part, (kind, path) in _NAMES.items()}
    sentences = StoredSentences(spans.indptr, spans.values, vectors)
    return StoredPassages(**parts, sentences=sentences, names=StoredNames(**names))


def store_passages(segment: Segment) -> StoredPassages:
    """Return what searches read of the passages of a segment."""
    spans, vectors = segment.sentences.spans, segment.sentences.vectors
    return StoredPassages(
        **{name: getattr(segment.passages, name) for name in _stored_columns()},
        sentences=StoredSentences(spans.indptr, spans.values.astype(np.int32, copy=False), vectors),
        names=StoredNames(**{part: attrgetter(path)(segment) for part, (_, path) in _NAMES.items()}),
    )


def _stored_columns() -> dict[str, Any]:
    """Return the columns of `SegmentPassages` that searches read, with their types."""
    return {name: kind for name, kind in _parts(StoredPassages).items() if name in _parts(SegmentPassages)}


@cache
def _parts(kind: Hashable) -> dict[str, Any]:
    if kind is StringArray:
        return {"data": np.ndarray, "offsets": np.ndarray}
    return get_type_hints(kind) if isinstance(kind, type) and is_dataclass(kind) else {}


def _flatten(value: Any, path: str, arrays: dict[str, NDArray[Any]]) -> None:
    parts = _parts(type(value))  # type: ignore[arg-type]
    for name in parts:
        _flatten(getattr(value, name), f"{path}.{name}" if path else name, arrays)
    if not parts:
        arrays[path] = value


def _unflatten(kind: Any, path: str, arrays: Mapping[str, NDArray[Any]], file: str) -> Any:
    parts = _parts(kind)
    if parts:
        prefix = f"{path}." if path else ""
        return kind(**{name: _unflatten(part, prefix + name, arrays, file) for name, part in parts.items()})
    array = arrays.get(path)
    if array is None or array.ndim != _DIMENSIONS.get(path, 1):
        raise IndexFormatError(f"the derived file {file} lacks {path}, or it has another shape: run `clew repair`")
    return array
