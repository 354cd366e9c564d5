"""Edges of a relational graph, sorted once in each order that the kernels read them in."""

from functools import cached_property
from typing import final

import numpy as np
import torch
from torch import Tensor

from clew.errors import InputError
from clew.inference.relational_sums import EdgeGroups, SortedEdges

GroupedEdges = EdgeGroups[Tensor]
"""Edges grouped by one of their ends; a kernel computes one row per group."""


@final
class RelationalGraph:
    """The m edges of a graph, given as senders, relations and receivers (m,) of int64; sorted once.

    `order` (m,) is the index of each edge in the argument; the edges are stored by receiver, sender and relation.
    Raises InputError where the lengths differ, or an index is out of range.
    """

    def __init__(self, edges: tuple[Tensor, Tensor, Tensor], node_count: int, relation_count: int) -> None:
        senders, relations, receivers = edges
        _check_edges(senders, relations, receivers, node_count, relation_count)
        keys = [ends.cpu().numpy() for ends in (relations, senders, receivers)]
        self.order = torch.from_numpy(np.lexsort(keys).astype(np.int64)).to(senders.device)
        self.senders, self.relations, self.receivers = (ends[self.order] for ends in (senders, relations, receivers))
        self.node_count = node_count
        self.relation_count = relation_count

    @classmethod
    def from_sorted(cls, edges: SortedEdges, device: torch.device | str = "cpu") -> "RelationalGraph":
        """Return the graph of edges that are sorted, on a device."""
        arrays = edges.order, edges.senders, edges.relations, edges.receivers
        return cls._from_tensors(
            [torch.from_numpy(a).to(device) for a in arrays], edges.node_count, edges.relation_count
        )

    @classmethod
    def _from_tensors(cls, tensors: list[Tensor], node_count: int, relation_count: int) -> "RelationalGraph":
        graph = cls.__new__(cls)
        graph.order, graph.senders, graph.relations, graph.receivers = tensors
        graph.node_count, graph.relation_count = node_count, relation_count
        return graph

    @property
    def edge_count(self) -> int:
        """Number of edges, m."""
        return len(self.order)

    def to(self, device: torch.device | str) -> "RelationalGraph":
        """Return the graph on another device."""
        if self.order.device == torch.device(device):
            return self
        tensors = [each.to(device) for each in (self.order, self.senders, self.relations, self.receivers)]
        return self._from_tensors(tensors, self.node_count, self.relation_count)

    @cached_property
    def by_receiver(self) -> GroupedEdges:
        """The edges by receiver, with senders and relations as operands: the order in which they are stored."""
        order = torch.arange(self.edge_count, device=self.order.device)
        return EdgeGroups(_indptr(self.receivers, self.node_count), order, self.senders, self.relations)

    @cached_property
    def by_sender(self) -> GroupedEdges:
        """The edges by sender, with receivers and relations as operands; needed for gradients only."""
        order = torch.argsort(self.senders, stable=True)
        return EdgeGroups(_indptr(self.senders, self.node_count), order, self.receivers, self.relations)

    @cached_property
    def by_relation(self) -> GroupedEdges:
        """The edges by relation, with receivers and senders as operands; needed for gradients only."""
        order = torch.argsort(self.relations, stable=True)
        return EdgeGroups(_indptr(self.relations, self.relation_count), order, self.receivers, self.senders)

    @cached_property
    def inverse_degrees(self) -> Tensor:
        """For each edge, 1 / the number of edges of its receiver, (m,)."""
        degrees = self.by_receiver.indptr.diff().clamp_min(1)
        return (1.0 / degrees.to(torch.float32))[self.receivers]

    @cached_property
    def inverse_sizes(self) -> Tensor:
        """For each node, 1 / (1 + the number of its incoming edges), (n,)."""
        return 1.0 / (1 + self.by_receiver.indptr.diff()).to(torch.float32)


def _indptr(ends: Tensor, count: int) -> Tensor:
    starts = torch.zeros(count + 1, dtype=torch.int64, device=ends.device)
    torch.cumsum(torch.bincount(ends, minlength=count), dim=0, out=starts[1:])
    return starts


def _check_edges(senders: Tensor, relations: Tensor, receivers: Tensor, node_count: int, relation_count: int) -> None:
    shapes = [tuple(ends.shape) for ends in (senders, relations, receivers)]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1:
        raise InputError(f"senders, relations and receivers have shapes {shapes}; wanted three rows of equal length")
    for name, ends, limit in (
        ("sender", senders, node_count),
        ("relation", relations, relation_count),
        ("receiver", receivers, node_count),
    ):
        if ends.dtype != torch.int64:
            raise InputError(f"the {name}s are {ends.dtype}; wanted torch.int64")
        if len(ends) and not (int(ends.min()) >= 0 and int(ends.max()) < limit):
            raise InputError(f"the {name}s range from {int(ends.min())} to {int(ends.max())}; wanted 0 to {limit - 1}")
