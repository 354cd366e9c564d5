"""The kernels of `relational_conv` on a CPU: those of `clew.inference.relational_sums` on the memory of tensors.

Tensors of a device without kernels of its own (mps) are copied to the processor, and the result back.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clew.inference import relational_sums
from clew.inference.relational_sums import EdgeGroups
from clew.nn.relational.graph import GroupedEdges, RelationalGraph


def propagate(edges: GroupedEdges, weights: Tensor | None, left: Tensor, right: Tensor, kind: int) -> Tensor:
    """Return for each group of edges the weighted sum of their terms, (groups, d).

    Weights are (m,) float32, or None for 1; `edges.first` indexes the rows (., d) of `left`, `edges.second` those of
    `right`, both float32 or bfloat16; `kind` is `PRODUCT`, `SUM` or `FIRST`: an edge's term, from its left and its
    right row.
    """
    groups = EdgeGroups(*(ends.cpu().numpy() for ends in (edges.indptr, edges.order, edges.first, edges.second)))
    factors = None if weights is None else weights.detach().cpu().contiguous().numpy()
    sums = relational_sums.sum_messages(groups, factors, _to_numpy(left), _to_numpy(right), kind)
    return torch.from_numpy(sums).to(left.device, left.dtype)


def edge_inner_products(
    graph: RelationalGraph, gradients: Tensor, nodes: Tensor, relations: Tensor, product: bool
) -> Tensor:
    """Return for each edge the inner product of its message with the gradient (n, d) of its receiver, (m,).

    Gradients, states (n, d) and vectors of relations (r, d) are all float32 or bfloat16. A message is the `product` of
    state and relation, or else their sum.
    """
    ends = (graph.receivers.cpu().numpy(), graph.senders.cpu().numpy(), graph.relations.cpu().numpy())
    rows = _to_numpy(gradients), _to_numpy(nodes), _to_numpy(relations)
    return torch.from_numpy(relational_sums.edge_inner_products(ends, *rows, product)).to(nodes.device)


def _to_numpy(rows: Tensor) -> NDArray[Any]:
    # numba has no bfloat16: its bits are passed as integers.
    plain = rows.detach().cpu()
    return plain.view(torch.int16).numpy().view(np.uint16) if rows.dtype == torch.bfloat16 else plain.numpy()
