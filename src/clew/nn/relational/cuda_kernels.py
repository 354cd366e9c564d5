"""The kernels of `relational_conv` on a CUDA device, in Triton.

One program sums a block of columns of one row, edge by edge, in float32 and without atomics, so that the bits do not
depend on the schedule.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from clew.nn.relational.graph import GroupedEdges, RelationalGraph


def propagate(edges: GroupedEdges, weights: Tensor | None, left: Tensor, right: Tensor, kind: int) -> Tensor:
    """Return for each group of edges the weighted sum of their terms, (groups, d); see `cpu_kernels.propagate`."""
    width, count = left.shape[1], len(edges.indptr) - 1
    out = torch.zeros((count, width), dtype=torch.float32, device=left.device)
    if count and width:
        block, weighted = _block_size(width), weights is not None
        groups = (edges.indptr, edges.order, edges.first, edges.second)
        rows = (weights if weighted else out, left, right, out)
        _sum_rows[(count, triton.cdiv(width, block))](*groups, *rows, width, weighted, kind, block)
    return out.to(left.dtype)


def edge_inner_products(
    graph: RelationalGraph, gradients: Tensor, nodes: Tensor, relations: Tensor, product: bool
) -> Tensor:
    """Return the inner product (m,) of each edge's message and a gradient; see `cpu_kernels.edge_inner_products`."""
    out = torch.zeros(graph.edge_count, dtype=torch.float32, device=gradients.device)
    width = gradients.shape[1]
    if graph.edge_count and width:
        ends = (graph.receivers, graph.senders, graph.relations)
        _dot_edges[(graph.edge_count,)](*ends, gradients, nodes, relations, out, width, product, _block_size(width))
    return out


def _block_size(width: int) -> int:
    return min(int(triton.next_power_of_2(width)), 256)


@triton.jit  # type: ignore[untyped-decorator]
def _sum_rows(  # type: ignore[no-untyped-def]
    indptr, order, first, second, weights, left, right, out, width, weighted: tl.constexpr, kind: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    inside = columns < width
    total = tl.zeros([block], dtype=tl.float32)
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    for position in range(start, stop):
        edge = tl.load(order + position)
        term = tl.load(left + tl.load(first + edge) * width + columns, mask=inside, other=0.0).to(tl.float32)
        if kind != 2:  # FIRST
            other = tl.load(right + tl.load(second + edge) * width + columns, mask=inside, other=0.0).to(tl.float32)
            term = term * other if kind == 0 else term + other  # PRODUCT or SUM
        if weighted:
            term = term * tl.load(weights + edge)
        total += term
    tl.store(out + row * width + columns, total, mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _dot_edges(  # type: ignore[no-untyped-def]
    receivers, senders, relations, gradients, nodes, vectors, out, width, product: tl.constexpr, block: tl.constexpr
):
    edge = tl.program_id(0).to(tl.int64)
    receiver = tl.load(receivers + edge) * width
    sender = tl.load(senders + edge) * width
    relation = tl.load(relations + edge) * width
    total = tl.zeros([block], dtype=tl.float32)
    for start in range(0, width, block):
        columns = start + tl.arange(0, block)
        inside = columns < width
        state = tl.load(nodes + sender + columns, mask=inside, other=0.0).to(tl.float32)
        vector = tl.load(vectors + relation + columns, mask=inside, other=0.0).to(tl.float32)
        gradient = tl.load(gradients + receiver + columns, mask=inside, other=0.0).to(tl.float32)
        if product:
            total += gradient * (state * vector)
        else:
            total += gradient * (state + vector)
    tl.store(out + edge, tl.sum(total, axis=0))
