"""The kernels of `relational_conv` on a CPU, in numba.

bfloat16 rows are read as the upper halves of float32 numbers; sums are float32.
"""

import numpy as np
import torch
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray
from torch import Tensor

from clew.nn.relational.graph import FIRST, PRODUCT, GroupedEdges, RelationalGraph

# With fewer products one thread is faster; and a search must not start numba's threads, which compete with torch's.
_MIN_PARALLEL_PRODUCTS = 32_000_000
_CHUNKS_PER_THREAD = 8  # so that a hub in one chunk does not leave the other threads idle


def propagate(edges: GroupedEdges, weights: Tensor | None, left: Tensor, right: Tensor, kind: int) -> Tensor:
    """Return for each group of edges the weighted sum of their terms, (groups, d).

    Weights are (m,) float32, or None for 1; `edges.first` indexes the rows (., d) of `left`, `edges.second` those of
    `right`, both float32 or bfloat16; `kind` is `PRODUCT`, `SUM` or `FIRST`: an edge's term, from its left and its
    right row.
    """
    width, count = left.shape[1], len(edges.indptr) - 1
    out = np.zeros((count, width), dtype=np.float32)
    indptr, order = edges.indptr.numpy(), edges.order.numpy()
    ends = edges.first.numpy(), edges.second.numpy()
    factors = np.zeros(0, dtype=np.float32) if weights is None else weights.detach().contiguous().numpy()
    rows = factors, _to_numpy(left), _to_numpy(right)
    halves = left.dtype == torch.bfloat16
    if len(order) * width < _MIN_PARALLEL_PRODUCTS:
        sum_rows = _sum_rows_bfloat16 if halves else _sum_rows
        sum_rows(indptr, order, *ends, *rows, out, 0, count, kind == PRODUCT, kind == FIRST)
    else:
        bounds = _chunk_bounds(indptr, _CHUNKS_PER_THREAD * get_num_threads())
        sum_chunks = _sum_chunks_bfloat16 if halves else _sum_chunks
        sum_chunks(indptr, order, *ends, *rows, out, bounds, kind == PRODUCT, kind == FIRST)
    return torch.from_numpy(out).to(left.dtype)


def edge_inner_products(
    graph: RelationalGraph, gradients: Tensor, nodes: Tensor, relations: Tensor, product: bool
) -> Tensor:
    """Return for each edge the inner product of its message with the gradient (n, d) of its receiver, (m,).

    Gradients, states (n, d) and vectors of relations (r, d) are all float32 or bfloat16. A message is the `product` of
    state and relation, or else their sum.
    """
    out = np.zeros(graph.edge_count, dtype=np.float32)
    ends = (graph.receivers.numpy(), graph.senders.numpy(), graph.relations.numpy())
    dot_edges = _dot_edges_bfloat16 if gradients.dtype == torch.bfloat16 else _dot_edges
    dot_edges(*ends, _to_numpy(gradients), _to_numpy(nodes), _to_numpy(relations), out, product)
    return torch.from_numpy(out)


def _to_numpy(rows: Tensor) -> NDArray[np.generic]:
    # numba has no bfloat16: its bits are passed as integers.
    plain = rows.detach()
    return plain.view(torch.int16).numpy().view(np.uint16) if rows.dtype == torch.bfloat16 else plain.numpy()


def _chunk_bounds(indptr: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Return the rows at which to cut, so that the parts have about equally many edges."""
    targets = np.linspace(0, indptr[-1], parts + 1)
    bounds = np.searchsorted(indptr, targets[1:-1])
    return np.unique(np.concatenate([[0], bounds, [len(indptr) - 1]]))


@njit(cache=True, nogil=True, inline="always")
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


@njit(cache=True, nogil=True)
def _sum_rows(indptr, order, first, second, weights, left, right, out, start, stop, product, first_only):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        total = out[row]
        for position in range(indptr[row], indptr[row + 1]):
            edge = order[position]
            weight = weights[edge] if len(weights) else np.float32(1.0)
            _add_term(total, weight, left[first[edge]], right[second[edge]], product, first_only)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, parallel=True)
def _sum_chunks(indptr, order, first, second, weights, left, right, out, bounds, product, first_only):  # type: ignore[no-untyped-def]
    for part in prange(len(bounds) - 1):
        start, stop = bounds[part], bounds[part + 1]
        _sum_rows(indptr, order, first, second, weights, left, right, out, start, stop, product, first_only)


@njit(cache=True, nogil=True, parallel=True)
def _sum_chunks_bfloat16(indptr, order, first, second, weights, left, right, out, bounds, product, first_only):  # type: ignore[no-untyped-def]
    for part in prange(len(bounds) - 1):
        start, stop = bounds[part], bounds[part + 1]
        _sum_rows_bfloat16(indptr, order, first, second, weights, left, right, out, start, stop, product, first_only)


@njit(cache=True, nogil=True)
def _dot_edges(receivers, senders, relations, gradients, nodes, vectors, out, product):  # type: ignore[no-untyped-def]
    for edge in range(len(out)):
        gradient, left, right = gradients[receivers[edge]], nodes[senders[edge]], vectors[relations[edge]]
        total = np.float32(0.0)
        for i in range(len(gradient)):
            total += gradient[i] * (left[i] * right[i] if product else left[i] + right[i])
        out[edge] = total


@njit(cache=True, nogil=True)
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
