"""Compressed sparse rows (CSR), the adjacency format that every graph kernel reads."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit

_COUNTING_SIZE = 1 << 15  # from this many edges on, counting takes less time than loading the compiled function


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
        """Row pointers (row_count + 1,), neighbours (edges,) and weights (edges,), as compiled functions take them."""
        return self.indptr, self.indices, self.weights

    def row(self, index: int) -> IntArray:
        """Return the neighbours (degree,) of one row, ascending."""
        return self.indices[self.indptr[index] : self.indptr[index + 1]]

    def degrees(self) -> LongArray:
        """Return the number of neighbours of every row, (row_count,)."""
        return np.diff(self.indptr)

    def row_indices(self) -> LongArray:
        """Return the row of every entry, (edges,)."""
        return np.repeat(np.arange(self.row_count, dtype=np.int64), self.degrees())

    def transpose(self, column_count: int) -> "Adjacency":
        """Return the transposed matrix, with `column_count` rows."""
        if len(self.indices) < _COUNTING_SIZE:
            return build_adjacency(self.indices, self.row_indices(), self.weights, column_count)
        return Adjacency(*_transpose(*self.arrays, column_count))


def build_adjacency(
    rows: NDArray[np.integer] | Iterable[int],
    columns: NDArray[np.integer] | Iterable[int],
    weights: NDArray[np.floating] | Iterable[float],
    row_count: int,
) -> Adjacency:
    """Sort pairs (edges,) of a row below `row_count` and a neighbour; of equal pairs the highest weight stays."""
    row, column, weight = np.asarray(rows), np.asarray(columns), np.asarray(weights, dtype=np.float32)
    if len(row) >= _COUNTING_SIZE:
        numbers = row.astype(np.int32, copy=False), column.astype(np.int32, copy=False)
        return Adjacency(*_sort_by_counting(*numbers, weight, row_count))
    row, column = row.astype(np.int64), column.astype(np.int64)
    order = np.lexsort((-weight, column, row))
    row, column, weight = row[order], column[order], weight[order]
    first = run_starts(row, column)
    return Adjacency(row_pointers(row[first], row_count), column[first].astype(np.int32), weight[first])


@njit
def _count_starts(numbers, size):  # type: ignore[no-untyped-def]
    """Return where the run of each number below `size` begins once they are sorted (size + 1,)."""
    starts = np.zeros(size + 1, dtype=np.int64)
    for i in range(len(numbers)):
        starts[numbers[i] + 1] += 1
    for i in range(size):
        starts[i + 1] += starts[i]
    return starts


@njit
def _sort_by_counting(rows, columns, weights, row_count):  # type: ignore[no-untyped-def]
    """Sort by the columns, then stably by the rows, each time by counting; then leave out equal pairs."""
    count = len(rows)
    column_count = 0
    for i in range(count):
        column_count = max(column_count, columns[i] + 1)
    by_column = np.empty(count, dtype=np.int32)
    cursor = _count_starts(columns, column_count)
    for i in range(count):
        by_column[cursor[columns[i]]] = i
        cursor[columns[i]] += 1
    starts = _count_starts(rows, row_count)
    cursor = starts[:-1].copy()
    indices, values = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.float32)
    for i in range(count):
        edge = by_column[i]
        row, column = rows[edge], columns[edge]
        last = cursor[row] - 1
        if last >= starts[row] and indices[last] == column:
            values[last] = max(values[last], weights[edge])
            continue
        indices[last + 1], values[last + 1] = column, weights[edge]
        cursor[row] += 1
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    for row in range(row_count):
        size = cursor[row] - starts[row]
        indptr[row + 1] = indptr[row] + size
        if indptr[row] != starts[row]:
            for i in range(size):
                indices[indptr[row] + i] = indices[starts[row] + i]
                values[indptr[row] + i] = values[starts[row] + i]
    return indptr, indices[: indptr[-1]].copy(), values[: indptr[-1]].copy()


@njit
def _transpose(indptr, indices, weights, column_count):  # type: ignore[no-untyped-def]
    count = len(indices)
    starts = _count_starts(indices, column_count)
    cursor = starts[:-1].copy()
    rows, values = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.float32)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            to = cursor[indices[i]]
            rows[to], values[to] = row, weights[i]
            cursor[indices[i]] += 1
    return starts, rows, values


def unweighted_rows(indptr: LongArray, indices: IntArray) -> Adjacency:
    """Return rows by pointers (row_count + 1,) and neighbours (edges,), all of weight 1, which takes no memory."""
    return Adjacency(indptr, indices, np.broadcast_to(np.float32(1.0), indices.shape))


def row_pointers(rows: NDArray[np.integer], row_count: int) -> LongArray:
    """Return where each row begins (row_count + 1,) once entries of these rows (n,), in any order, are sorted."""
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=row_count), out=indptr[1:])
    return indptr


def run_starts(*keys: NDArray[np.integer]) -> BoolArray:
    """Return which entries (n,) of sorted key columns, each (n,), differ from the entry before."""
    starts = np.ones(len(keys[0]), dtype=bool)
    starts[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return starts
