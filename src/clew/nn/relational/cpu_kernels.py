"""The kernels of `relational_conv` on a processor.

bfloat16 rows are read as the upper halves of float32 numbers; sums are kept in float32.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numba import get_num_threads, njit, prange

from clew.nn.relational.graph import FIRST, PRODUCT

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from clew.nn.relational.graph import GroupedEdges, RelationalGraph

# Below this many products one thread is faster; and a search must not wake numba's threads, which then fight torch's.
_MIN_PARALLEL_PRODUCTS = 32_000_000
_CHUNKS_PER_THREAD = 8  # a thread, so that a hub in one chunk does not leave the other threads idle


def propagate(
    rows: "GroupedEdges",
    first: "Tensor",
    second: "Tensor",
    weights: "Tensor | None",
    left: "Tensor",
    right: "Tensor",
    kind: int,
) -> "Tensor":
    """Return for each row the sum over its edges of weight times what `kind` makes of two rows."""
    width = left.shape[1]
    count = len(rows.indptr) - 1
    out = np.zeros((count, width), dtype=np.float32)
    order = rows.order.numpy()
    arguments = (
        rows.indptr.numpy(),
        order,
        first.numpy(),
        second.numpy(),
        _weights_to_numpy(weights),
        _to_numpy(left),
        _to_numpy(right),
        out,
    )
    halves = left.dtype == torch.bfloat16
    small = len(order) * width < _MIN_PARALLEL_PRODUCTS
    if small:
        (_sum_rows_bfloat16 if halves else _sum_rows)(*arguments, 0, count, kind == PRODUCT, kind == FIRST)
    else:
        bounds = _chunk_bounds(arguments[0], _CHUNKS_PER_THREAD * get_num_threads())
        (_sum_chunks_bfloat16 if halves else _sum_chunks)(*arguments, bounds, kind == PRODUCT, kind == FIRST)
    return torch.from_numpy(out).to(left.dtype)


def edge_inner_products(
    graph: "RelationalGraph", gradients: "Tensor", nodes: "Tensor", relations: "Tensor", product: bool
) -> "Tensor":
    """Return for each edge the inner product of what its receiver heard with the edge's message, (m,)."""
    out = np.zeros(graph.edge_count, dtype=np.float32)
    ends = (graph.receivers.numpy(), graph.senders.numpy(), graph.relations.numpy())
    halves = gradients.dtype == torch.bfloat16
    (_dot_edges_bfloat16 if halves else _dot_edges)(
        *ends, _to_numpy(gradients), _to_numpy(nodes), _to_numpy(relations), out, product
    )
    return torch.from_numpy(out)


def _to_numpy(rows: "Tensor") -> "NDArray[np.generic]":
    # numba has no bfloat16: its bits travel as whole numbers.
    plain = rows.detach()
    return plain.view(torch.int16).numpy().view(np.uint16) if rows.dtype == torch.bfloat16 else plain.numpy()


def _weights_to_numpy(weights: "Tensor | None") -> "NDArray[np.float32]":
    return np.zeros(0, dtype=np.float32) if weights is None else weights.detach().contiguous().numpy()


def _chunk_bounds(indptr: "NDArray[np.int64]", parts: int) -> "NDArray[np.int64]":
    """Return the rows at which to cut, so that each part has about as many edges."""
    wanted = np.linspace(0, indptr[-1], parts + 1)
    bounds = np.searchsorted(indptr, wanted[1:-1])
    return np.unique(np.concatenate([[0], bounds, [len(indptr) - 1]]))


@njit(cache=True, nogil=True)
def _sum_rows(indptr, order, first, second, weights, left, right, out, start, stop, product, alone):  # type: ignore[no-untyped-def]
    width = out.shape[1]
    for row in range(start, stop):
        total = out[row]
        for position in range(indptr[row], indptr[row + 1]):
            edge = order[position]
            weight = weights[edge] if len(weights) else np.float32(1.0)
            one, other = left[first[edge]], right[second[edge]]
            if product:
                for i in range(width):
                    total[i] += weight * (one[i] * other[i])
            elif alone:
                for i in range(width):
                    total[i] += weight * one[i]
            else:
                for i in range(width):
                    total[i] += weight * (one[i] + other[i])


@njit(cache=True, nogil=True)
def _sum_rows_bfloat16(indptr, order, first, second, weights, left, right, out, start, stop, product, alone):  # type: ignore[no-untyped-def]
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
            if product:
                for i in range(width):
                    total[i] += weight * (one[i] * other[i])
            elif alone:
                for i in range(width):
                    total[i] += weight * one[i]
            else:
                for i in range(width):
                    total[i] += weight * (one[i] + other[i])


@njit(cache=True, nogil=True, parallel=True)
def _sum_chunks(indptr, order, first, second, weights, left, right, out, bounds, product, alone):  # type: ignore[no-untyped-def]
    for part in prange(len(bounds) - 1):
        _sum_rows(
            indptr, order, first, second, weights, left, right, out, bounds[part], bounds[part + 1], product, alone
        )


@njit(cache=True, nogil=True, parallel=True)
def _sum_chunks_bfloat16(indptr, order, first, second, weights, left, right, out, bounds, product, alone):  # type: ignore[no-untyped-def]
    for part in prange(len(bounds) - 1):
        _sum_rows_bfloat16(
            indptr, order, first, second, weights, left, right, out, bounds[part], bounds[part + 1], product, alone
        )


@njit(cache=True, nogil=True)
def _dot_edges(receivers, senders, relations, heard, nodes, through, out, product):  # type: ignore[no-untyped-def]
    for edge in range(len(out)):
        to, one, other = heard[receivers[edge]], nodes[senders[edge]], through[relations[edge]]
        total = np.float32(0.0)
        for i in range(len(to)):
            total += to[i] * (one[i] * other[i] if product else one[i] + other[i])
        out[edge] = total


@njit(cache=True, nogil=True)
def _dot_edges_bfloat16(receivers, senders, relations, heard, nodes, through, out, product):  # type: ignore[no-untyped-def]
    width = heard.shape[1]
    bits = np.empty((3, width), dtype=np.uint32)
    to, one, other = bits[0].view(np.float32), bits[1].view(np.float32), bits[2].view(np.float32)
    for edge in range(len(out)):
        for i in range(width):
            bits[0, i] = np.uint32(heard[receivers[edge], i]) << np.uint32(16)
            bits[1, i] = np.uint32(nodes[senders[edge], i]) << np.uint32(16)
            bits[2, i] = np.uint32(through[relations[edge], i]) << np.uint32(16)
        total = np.float32(0.0)
        for i in range(width):
            total += to[i] * (one[i] * other[i] if product else one[i] + other[i])
        out[edge] = total
