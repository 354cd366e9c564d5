"""The kernels of `relational_conv` on a CUDA device, in Triton.

One program adds up a stretch of columns of one row, edge by edge, in float32: no atomics, so the bits do not depend on
the schedule.
"""

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from torch import Tensor

    from clew.nn.relational.graph import GroupedEdges, RelationalGraph


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
    width, count = left.shape[1], len(rows.indptr) - 1
    out = torch.zeros((count, width), dtype=torch.float32, device=left.device)
    if count and width:
        block = _block_size(width)
        grid = (count, triton.cdiv(width, block))
        given = weights is not None
        _sum_rows[grid](
            rows.indptr,
            rows.order,
            first,
            second,
            weights if given else out,
            left,
            right,
            out,
            width,
            given,
            kind,
            block,
        )
    return out.to(left.dtype)


def edge_inner_products(
    graph: "RelationalGraph", gradients: "Tensor", nodes: "Tensor", relations: "Tensor", product: bool
) -> "Tensor":
    """Return for each edge the inner product of what its receiver heard with the edge's message, (m,)."""
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
        one = tl.load(left + tl.load(first + edge) * width + columns, mask=inside, other=0.0).to(tl.float32)
        if kind != 2:
            other = tl.load(right + tl.load(second + edge) * width + columns, mask=inside, other=0.0).to(tl.float32)
            one = one * other if kind == 0 else one + other
        if weighted:
            one = one * tl.load(weights + edge)
        total += one
    tl.store(out + row * width + columns, total, mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _dot_edges(  # type: ignore[no-untyped-def]
    receivers, senders, relations, heard, nodes, through, out, width, product: tl.constexpr, block: tl.constexpr
):
    edge = tl.program_id(0).to(tl.int64)
    to = tl.load(receivers + edge) * width
    one = tl.load(senders + edge) * width
    other = tl.load(relations + edge) * width
    total = tl.zeros([block], dtype=tl.float32)
    for start in range(0, width, block):
        columns = start + tl.arange(0, block)
        inside = columns < width
        sent = tl.load(nodes + one + columns, mask=inside, other=0.0).to(tl.float32)
        by = tl.load(through + other + columns, mask=inside, other=0.0).to(tl.float32)
        got = tl.load(heard + to + columns, mask=inside, other=0.0).to(tl.float32)
        if product:
            total += got * (sent * by)
        else:
            total += got * (sent + by)
    tl.store(out + edge, tl.sum(total, axis=0))
