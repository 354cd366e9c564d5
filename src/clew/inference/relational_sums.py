"""Sums of messages over the edges of a relational graph, in numba.

No row per edge is materialised: each edge's message is added to its receiver's row. Each row is summed by one thread in
the order of the edges, so that the result has the same bits on every run and for any number of threads. bfloat16 rows
are given as the upper halves of float32 numbers, uint16; sums are float32.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, LongArray
from clew.arrays.kernels import njit
from clew.arrays.threads import map_in_threads, worker_count

Ends = TypeVar("Ends")  # `LongArray`, or an int64 tensor

PRODUCT, SUM, FIRST = 0, 1, 2
"""Terms that are summed: the product of two rows, their sum, or the first row alone."""

# With fewer products one thread is faster. The threads are Python's own and end with the sum: numba's stay, compete
# with those of other searches, and end a child that is made by fork.
_MIN_PARALLEL_PRODUCTS = 32_000_000
_CHUNKS_PER_THREAD = 8  # so that a hub in one chunk does not leave the other threads idle


@dataclass(frozen=True, slots=True)
class EdgeGroups(Generic[Ends]):
    """The m edges of a graph grouped by one of their ends, in CSR form, as arrays or tensors; one sum per group."""

    indptr: Ends  # (groups + 1,) first position of each group in `order`
    order: Ends  # (m,) number of each edge in the graph
    first: Ends  # (m,) for each edge of the graph, the end by which its left operand is looked up
    second: Ends  # (m,) likewise for the right operand


@final
class SortedEdges:
    """The m edges of a graph, int64 (m,), sorted once by receiver, sender and relation.

    `order` (m,) is the position of each edge in the arguments.
    """

    def __init__(
        self, senders: LongArray, relations: LongArray, receivers: LongArray, node_count: int, relation_count: int
    ) -> None:
        self.order: LongArray = np.lexsort((relations, senders, receivers)).astype(np.int64)
        self.senders, self.relations, self.receivers = (e[self.order] for e in (senders, relations, receivers))
        self.node_count = node_count
        self.relation_count = relation_count

    @property
    def edge_count(self) -> int:
        """Number of edges, m."""
        return len(self.order)

    @cached_property
    def by_receiver(self) -> EdgeGroups[LongArray]:
        """The edges by receiver, with senders (m,) and relations (m,) as operands."""
        order = np.arange(self.edge_count, dtype=np.int64)
        return EdgeGroups(_indptr(self.receivers, self.node_count), order, self.senders, self.relations)

    @cached_property
    def by_sender(self) -> EdgeGroups[LongArray]:
        """The edges by sender, with receivers (m,) and relations (m,) as operands; needed for gradients only."""
        order = np.argsort(self.senders, kind="stable").astype(np.int64)
        return EdgeGroups(_indptr(self.senders, self.node_count), order, self.receivers, self.relations)

    @cached_property
    def inverse_degrees(self) -> FloatArray:
        """For each edge, 1 / the number of edges of its receiver, (m,)."""
        degrees = np.maximum(np.diff(self.by_receiver.indptr), 1)
        return (np.float32(1.0) / degrees.astype(np.float32))[self.receivers]

    @cached_property
    def inverse_sizes(self) -> FloatArray:
        """For each node, 1 / (1 + the number of its incoming edges), (n,)."""
        return np.float32(1.0) / (1 + np.diff(self.by_receiver.indptr)).astype(np.float32)


def sum_messages(
    groups: EdgeGroups[LongArray], weights: FloatArray | None, left: NDArray[Any], right: NDArray[Any], kind: int
) -> FloatArray:
    """Return for each group of edges the weighted sum of their terms, (groups, d).

    `weights` (m,) are float32, or None for 1. `groups.first` indexes the rows (., d) of `left`, and `groups.second`
    those of `right`, float32 or bfloat16 as uint16, of the same type. `kind` is `PRODUCT`, `SUM` or `FIRST`: the term
    of an edge, from its left and its right row.
    """
    width, count = left.shape[1], len(groups.indptr) - 1
    out = np.zeros((count, width), dtype=np.float32)
    edges = groups.indptr, groups.order, groups.first, groups.second
    rows = np.zeros(0, dtype=np.float32) if weights is None else weights, left, right
    halves = left.dtype == np.uint16
    sum_rows = _sum_rows_bfloat16 if halves else _sum_rows
    bounds = [0, count]
    if len(groups.order) * width >= _MIN_PARALLEL_PRODUCTS:
        bounds = _chunk_bounds(groups.indptr, _CHUNKS_PER_THREAD * worker_count()).tolist()

    def sum_part(part: int) -> None:
        sum_rows(*edges, *rows, out, bounds[part], bounds[part + 1], kind == PRODUCT, kind == FIRST)

    map_in_threads(sum_part, len(bounds) - 1)
    return out


def edge_inner_products(
    ends: tuple[LongArray, LongArray, LongArray],
    gradients: NDArray[Any],
    nodes: NDArray[Any],
    relations: NDArray[Any],
    product: bool,
) -> FloatArray:
    """Return for each edge the inner product of its message with the gradient of its receiver, (m,).

    `ends` are receivers, senders and relations, (m,) each; `gradients` (n, d) are float32, or bfloat16 as uint16, as
    are the states `nodes` (n, d) and the vectors `relations` (r, d). A message is their product, or their sum.
    """
    out = np.zeros(len(ends[0]), dtype=np.float32)
    dot_edges = _dot_edges_bfloat16 if gradients.dtype == np.uint16 else _dot_edges
    dot_edges(*ends, gradients, nodes, relations, out, product)
    return out


def _indptr(ends: LongArray, count: int) -> LongArray:
    return np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=count))]).astype(np.int64)


def _chunk_bounds(indptr: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Return the rows at which to cut, so that the parts have about equally many edges."""
    targets = np.linspace(0, indptr[-1], parts + 1)
    bounds = np.searchsorted(indptr, targets[1:-1])
    return np.unique(np.concatenate([[0], bounds, [len(indptr) - 1]]))


@njit(inline="always")
def _add_term(total, weight, left, right, product, first_only):  # type: ignore[no-untyped-def]
    if product:
        for i in range(len(total)):
            total[i] += weight * (left[i] * right[i])
    elif first_only:
        for i in range(len(total)):
            total[i] += weight * left[i]
    else:
        for i in range(len(total)):
            total[i] += weight * (left[i] + right[i])


@njit
def _sum_rows(indptr, order, first, second, weights, left, right, out, start, stop, product, first_only):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        total = out[row]
        for position in range(indptr[row], indptr[row + 1]):
            edge = order[position]
            weight = weights[edge] if len(weights) else np.float32(1.0)
            _add_term(total, weight, left[first[edge]], right[second[edge]], product, first_only)


@njit
def _sum_rows_bfloat16(indptr, order, first, second, weights, left, right, out, start, stop, product, first_only):  # type: ignore[no-untyped-def]
    width = out.shape[1]
    bits = np.empty((2, width), dtype=np.uint32)
    one, other = bits[0].view(np.float32), bits[1].view(np.float32)
    for row in range(start, stop):
        total = out[row]
        for position in range(indptr[row], indptr[row + 1]):
            edge = order[position]
            weight = weights[edge] if len(weights) else np.float32(1.0)
            for i in range(width):
                bits[0, i] = np.uint32(left[first[edge], i]) << np.uint32(16)
                bits[1, i] = np.uint32(right[second[edge], i]) << np.uint32(16)
            _add_term(total, weight, one, other, product, first_only)


@njit
def _dot_edges(receivers, senders, relations, gradients, nodes, vectors, out, product):  # type: ignore[no-untyped-def]
    for edge in range(len(out)):
        gradient, left, right = gradients[receivers[edge]], nodes[senders[edge]], vectors[relations[edge]]
        total = np.float32(0.0)
        for i in range(len(gradient)):
            total += gradient[i] * (left[i] * right[i] if product else left[i] + right[i])
        out[edge] = total


@njit
def _dot_edges_bfloat16(receivers, senders, relations, gradients, nodes, vectors, out, product):  # type: ignore[no-untyped-def]
    width = gradients.shape[1]
    bits = np.empty((3, width), dtype=np.uint32)
    gradient, left, right = bits[0].view(np.float32), bits[1].view(np.float32), bits[2].view(np.float32)
    for edge in range(len(out)):
        for i in range(width):
            bits[0, i] = np.uint32(gradients[receivers[edge], i]) << np.uint32(16)
            bits[1, i] = np.uint32(nodes[senders[edge], i]) << np.uint32(16)
            bits[2, i] = np.uint32(vectors[relations[edge], i]) << np.uint32(16)
        total = np.float32(0.0)
        for i in range(width):
            total += gradient[i] * (left[i] * right[i] if product else left[i] + right[i])
        out[edge] = total
