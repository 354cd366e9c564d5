"""Segments as named arrays, one to one, for files and for comparing."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from clew.graph.segments.segment import Segment
from clew.graph.string_array import StringArray


def flatten_segment(segment: Segment) -> dict[str, NDArray[Any]]:
    """Return the arrays of a segment by their paths, such as `names.keys.texts.data`."""
    arrays: dict[str, NDArray[Any]] = {}
    _flatten(segment, "", arrays)
    return arrays


def unflatten_segment(arrays: Mapping[str, NDArray[Any]]) -> Segment:
    """Return the segment of such arrays; KeyError where one is missing."""
    segment = _unflatten(Segment, "", arrays)
    assert isinstance(segment, Segment)
    return segment


def _parts(kind: Any) -> dict[str, Any]:
    if kind is StringArray:
        return {"data": np.ndarray, "offsets": np.ndarray}
    return get_type_hints(kind) if is_dataclass(kind) else {}


def _flatten(value: Any, path: str, arrays: dict[str, NDArray[Any]]) -> None:
    parts = _parts(type(value))
    for name in parts:
        _flatten(getattr(value, name), f"{path}.{name}" if path else name, arrays)
    if not parts:
        arrays[path] = value


def _unflatten(kind: Any, path: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    parts = _parts(kind)
    if not parts:
        return arrays[path]
    return kind(**{name: _unflatten(part, f"{path}.{name}" if path else name, arrays) for name, part in parts.items()})
