"""Which things belong to which: the compressed rows (CSR) that every graph kernel reads."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """Row i has the neighbours `indices[indptr[i]:indptr[i + 1]]`, ascending, with their `weights`.

    Attributes:
        indptr: (rows + 1,).
        indices: (edges,).
        weights: (edges,), positive.
    """

    indptr: "LongArray"
    indices: "IntArray"
    weights: "FloatArray"

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def row(self, index: int) -> "IntArray":
        """Return the neighbours of one row, ascending."""
        return self.indices[self.indptr[index] : self.indptr[index + 1]]

    def degrees(self) -> "LongArray":
        """Return the number of neighbours of every row, (rows,)."""
        return np.diff(self.indptr)

    def transpose(self, column_count: int) -> "Adjacency":
        """Return the same pairs by their column, with `column_count` rows."""
        rows = np.repeat(np.arange(self.row_count, dtype=np.int32), self.degrees())
        return build_adjacency(self.indices, rows, self.weights, column_count)


def build_adjacency(
    rows: "NDArray[np.integer] | Iterable[int]",
    columns: "NDArray[np.integer] | Iterable[int]",
    weights: "NDArray[np.floating] | Iterable[float]",
    row_count: int,
) -> Adjacency:
    """Sort pairs into rows; of equal pairs the heaviest stays.

    Args:
        rows: (edges,) row of each pair, below `row_count`.
        columns: (edges,) the neighbour.
        weights: (edges,).
        row_count: The number of rows.
    """
    row = np.asarray(rows, dtype=np.int64)
    column = np.asarray(columns, dtype=np.int64)
    weight = np.asarray(weights, dtype=np.float32)
    order = np.lexsort((-weight, column, row))
    row, column, weight = row[order], column[order], weight[order]
    first = np.ones(len(row), dtype=bool)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    row, column, weight = row[first], column[first], weight[first]
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=row_count), out=indptr[1:])
    return Adjacency(indptr, column.astype(np.int32), weight)
