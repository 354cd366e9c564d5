"""Rows as columns: the values of a field with the ones that each row has, as filters read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

Row = Mapping[str, Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of a field in n rows: each distinct one, or each row's, and which of them a row has."""

    values: Sequence[Any]  # text, numbers, booleans, lists of these, mappings, or None
    codes: NDArray[np.integer]  # (n,) positions in `values`


class Columns(Protocol):
    """Rows as columns."""

    @property
    def count(self) -> int:
        """The number of rows, n."""

    def column(self, name: str) -> Column:
        """Return a field, of which the name may be dotted."""


def field_value(row: Row, name: str) -> Any:
    """Return the value of a field: of the key of that name, else of the keys that its parts name, one in the other."""
    return row[name] if name in row else _nested_value(row, name.split("."))


def _nested_value(row: Row, path: Sequence[str]) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
