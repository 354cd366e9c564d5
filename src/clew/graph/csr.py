"""Compressed sparse rows (CSR), the adjacency format that every graph kernel reads."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """Weighted rows: row i has the neighbours `indices[indptr[i]:indptr[i + 1]]`, ascending."""

    indptr: LongArray  # (row_count + 1,)
    indices: IntArray  # (edges,)
    weights: FloatArray  # (edges,), positive

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    @property
    def arrays(self) -> tuple[LongArray, IntArray, FloatArray]:
        """The three arrays, as the compiled functions take them."""
        return self.indptr, self.indices, self.weights

    def row(self, index: int) -> IntArray:
        """Return the neighbours of one row, ascending."""
        return self.indices[self.indptr[index] : self.indptr[index + 1]]

    def degrees(self) -> LongArray:
        """Return the number of neighbours of every row, (row_count,)."""
        return np.diff(self.indptr)

    def row_indices(self) -> LongArray:
        """Return the row of every entry, (edges,)."""
        return np.repeat(np.arange(self.row_count, dtype=np.int64), self.degrees())

    def transpose(self, column_count: int) -> "Adjacency":
        """Return the transposed matrix, with `column_count` rows."""
        return build_adjacency(self.indices, self.row_indices(), self.weights, column_count)


def build_adjacency(
    rows: NDArray[np.integer] | Iterable[int],
    columns: NDArray[np.integer] | Iterable[int],
    weights: NDArray[np.floating] | Iterable[float],
    row_count: int,
) -> Adjacency:
    """Sort pairs (edges,) of a row below `row_count` and a neighbour; of equal pairs the highest weight stays."""
    row = np.asarray(rows, dtype=np.int64)
    column = np.asarray(columns, dtype=np.int64)
    weight = np.asarray(weights, dtype=np.float32)
    order = np.lexsort((-weight, column, row))
    row, column, weight = row[order], column[order], weight[order]
    first = run_starts(row, column)
    return Adjacency(row_pointers(row[first], row_count), column[first].astype(np.int32), weight[first])


def row_pointers(rows: NDArray[np.integer], row_count: int) -> LongArray:
    """Return where each row begins (row_count + 1,) once entries with these row numbers, in any order, are sorted."""
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=row_count), out=indptr[1:])
    return indptr


def run_starts(*keys: NDArray[np.integer]) -> BoolArray:
    """Return which entries (n,) of sorted key columns, each (n,), differ from the entry before."""
    starts = np.ones(len(keys[0]), dtype=bool)
    starts[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return starts
