"""Relational message passing: for each edge the sender's state times the relation's vector, summed by receiver.

No row per edge is materialised: a fused kernel adds each edge's message to its receiver's row, in numba on a CPU and in
Triton on a GPU, forward and backward. Each row is summed by one thread in the order of the edges, so that the result
has the same bits on every run and for any number of threads.

Source: Yang et al., "Embedding Entities and Relations for Learning and Inference in Knowledge Bases" (2015) for
DistMult; Bordes et al., "Translating Embeddings for Modeling Multi-relational Data" (2013) for TransE; Zhu et al.,
"Neural Bellman-Ford Networks" (2021) for messages of these forms.
Differs from the source: a weight on every edge, whose gradient explains a score.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from clew.errors import InputError
from clew.inference.relational_sums import FIRST, PRODUCT, SUM
from clew.nn.relational.graph import RelationalGraph

MESSAGES = ("distmult", "transe")
AGGREGATES = ("sum", "mean")


def relational_conv(
    graph: RelationalGraph,
    nodes: Tensor,
    relations: Tensor,
    weights: Tensor | None = None,
    *,
    message: str = "distmult",
    aggregate: str = "sum",
) -> Tensor:
    """Return the aggregated messages of each node, (n, d), of a graph of n nodes, m edges and r relations.

    States `nodes` (n, d) and vectors `relations` (r, d) are both float32 or both bfloat16; `weights` (m,) float32, in
    the graph's order of edges, None for 1. `message` "distmult" multiplies sender and relation, "transe" adds them;
    `aggregate` is "sum", or "mean" over the edges of a receiver, 0 where it has none. Raises InputError where a shape,
    a type or an option is invalid.
    """
    if message not in MESSAGES or aggregate not in AGGREGATES:
        raise InputError(f"message {message!r}, aggregate {aggregate!r}; wanted one of {MESSAGES} and of {AGGREGATES}")
    _check_tensors(graph, nodes, relations, weights)
    scale = graph.inverse_degrees if aggregate == "mean" else None
    result: Tensor = _FusedConv.apply(graph, nodes, relations, weights, scale, message)  # type: ignore[no-untyped-call]
    return result


class _FusedConv(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        graph: RelationalGraph,
        nodes: Tensor,
        relations: Tensor,
        weights: Tensor | None,
        scale: Tensor | None,
        message: str,
    ) -> Tensor:
        nodes, relations = nodes.contiguous(), relations.contiguous()
        context.graph, context.message, context.scale = graph, message, scale
        context.save_for_backward(nodes, relations, weights)
        kind = PRODUCT if message == "distmult" else SUM
        scaled = _scale_weights(weights, scale)
        result: Tensor = _kernels(nodes).propagate(graph.by_receiver, scaled, nodes, relations, kind)
        return result

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        graph: RelationalGraph = context.graph
        nodes, relations, weights = context.saved_tensors
        gradient = gradients[0].to(nodes.dtype).contiguous()
        kind = PRODUCT if context.message == "distmult" else FIRST
        scaled = _scale_weights(weights, context.scale)
        kernels = _kernels(gradient)
        to_nodes = to_relations = to_weights = None
        if context.needs_input_grad[1]:
            to_nodes = kernels.propagate(graph.by_sender, scaled, gradient, relations, kind)
        if context.needs_input_grad[2]:
            to_relations = kernels.propagate(graph.by_relation, scaled, gradient, nodes, kind)
        if context.needs_input_grad[3]:
            to_weights = kernels.edge_inner_products(graph, gradient, nodes, relations, context.message == "distmult")
            to_weights = to_weights if context.scale is None else to_weights * context.scale
        return None, to_nodes, to_relations, to_weights, None, None


def _scale_weights(weights: Tensor | None, scale: Tensor | None) -> Tensor | None:
    if weights is None or scale is None:
        return weights if scale is None else scale
    return weights * scale


def _kernels(tensor: Tensor) -> ModuleType:
    """Return the kernels for the device of a tensor, the processor's for all but CUDA; the others are not loaded."""
    if tensor.is_cuda:
        from clew.nn.relational import cuda_kernels

        return cuda_kernels
    from clew.nn.relational import cpu_kernels

    return cpu_kernels


def _check_tensors(graph: RelationalGraph, nodes: Tensor, relations: Tensor, weights: Tensor | None) -> None:
    if nodes.dtype not in (torch.float32, torch.bfloat16) or relations.dtype != nodes.dtype:
        raise InputError(f"states are {nodes.dtype}, relations {relations.dtype}; wanted both float32 or both bfloat16")
    wanted = (graph.node_count, graph.relation_count)
    if nodes.ndim != 2 or relations.ndim != 2 or (len(nodes), len(relations)) != wanted:
        shapes = f"{tuple(nodes.shape)} and {tuple(relations.shape)}"
        raise InputError(f"states and relations have the shapes {shapes}; wanted {wanted[0]} and {wanted[1]} rows")
    if nodes.shape[1] != relations.shape[1]:
        raise InputError(f"states are {nodes.shape[1]} wide, relations {relations.shape[1]}; wanted equal widths")
    if weights is not None and (weights.shape != (graph.edge_count,) or weights.dtype != torch.float32):
        raise InputError(
            f"weights are {tuple(weights.shape)} {weights.dtype}; wanted ({graph.edge_count},) torch.float32"
        )
