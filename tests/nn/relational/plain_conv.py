"""`relational_conv` by plain operations, which make a row per edge: the oracle of the kernels."""

import torch
from torch import Tensor

from clew.nn.relational.graph import RelationalGraph


def plain_relational_conv(
    graph: RelationalGraph,
    nodes: Tensor,
    relations: Tensor,
    weights: Tensor | None = None,
    *,
    message: str = "distmult",
    aggregate: str = "sum",
) -> Tensor:
    """Return what `relational_conv` returns."""
    states, vectors = nodes[graph.senders], relations[graph.relations]
    messages = states * vectors if message == "distmult" else states + vectors
    if weights is not None:
        messages = messages * weights[:, None].to(messages.dtype)
    if aggregate == "mean":
        messages = messages * graph.inverse_degrees[:, None].to(messages.dtype)
    return torch.zeros_like(nodes).index_add(0, graph.receivers, messages)
