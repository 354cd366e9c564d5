"""The edges that messages pass along, sorted once in each of the ways that the kernels read them."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from clew.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

PRODUCT, SUM, FIRST = 0, 1, 2
"""What a kernel adds up of two rows: their product, their sum, or the first alone."""


@dataclass(frozen=True, slots=True)
class GroupedEdges:
    """The edges of a graph grouped by one of their ends.

    Attributes:
        indptr: (rows + 1,) where the edges of a row begin.
        order: (m,) position of each edge in the graph's own order.
    """

    indptr: "Tensor"
    order: "Tensor"


@final
class RelationalGraph:
    """The edges of a graph, sorted once.

    Args:
        edge_count: Senders, relations and receivers, three rows (m,) of int64.
        node_count: How many nodes there are.
        relation_count: How many relations there are.

    Attributes:
        order: (m,) where each edge stood in what was given; the edges are kept by receiver, sender and relation.

    Raises:
        InputError: The lengths differ, or a number is out of its range.
    """

    def __init__(self, edges: "tuple[Tensor, Tensor, Tensor]", node_count: int, relation_count: int) -> None:
        senders, relations, receivers = edges
        _check_edges(senders, relations, receivers, node_count, relation_count)
        device = senders.device
        numbers = [part.cpu().numpy() for part in (relations, senders, receivers)]
        self.order = torch.from_numpy(np.lexsort(numbers).astype(np.int64)).to(device)
        self.senders, self.relations, self.receivers = (p[self.order] for p in (senders, relations, receivers))
        self.node_count = node_count
        self.relation_count = relation_count

    @property
    def edge_count(self) -> int:
        """How many edges there are."""
        return len(self.order)

    def to(self, device: "torch.device | str") -> "RelationalGraph":
        """Return the graph on another device."""
        if self.order.device == torch.device(device):
            return self
        ends = self.senders.to(device), self.relations.to(device), self.receivers.to(device)
        return RelationalGraph(ends, self.node_count, self.relation_count)

    @cached_property
    def by_receiver(self) -> GroupedEdges:
        """The edges as they are kept."""
        return GroupedEdges(
            _indptr(self.receivers, self.node_count), torch.arange(self.edge_count, device=self.order.device)
        )

    @cached_property
    def by_sender(self) -> GroupedEdges:
        """The edges by sender; only a gradient needs them."""
        return GroupedEdges(_indptr(self.senders, self.node_count), torch.argsort(self.senders, stable=True))

    @cached_property
    def by_relation(self) -> GroupedEdges:
        """The edges by relation; only a gradient needs them."""
        return GroupedEdges(_indptr(self.relations, self.relation_count), torch.argsort(self.relations, stable=True))

    @cached_property
    def inverse_degrees(self) -> "Tensor":
        """One over the number of edges of each edge's receiver, (m,)."""
        degrees = self.by_receiver.indptr.diff().clamp_min(1)
        return (1.0 / degrees.to(torch.float32))[self.receivers]


def _indptr(ends: "Tensor", count: int) -> "Tensor":
    starts = torch.zeros(count + 1, dtype=torch.int64, device=ends.device)
    torch.cumsum(torch.bincount(ends, minlength=count), dim=0, out=starts[1:])
    return starts


def _check_edges(
    senders: "Tensor", relations: "Tensor", receivers: "Tensor", node_count: int, relation_count: int
) -> None:
    shapes = [tuple(part.shape) for part in (senders, relations, receivers)]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1:
        raise InputError(f"senders, relations and receivers have shapes {shapes}; wanted three rows of equal length")
    bounds = (
        ("sender", senders, node_count),
        ("relation", relations, relation_count),
        ("receiver", receivers, node_count),
    )
    for name, part, limit in bounds:
        if part.dtype != torch.int64:
            raise InputError(f"the {name}s are {part.dtype}; wanted torch.int64")
        if len(part) and not (int(part.min()) >= 0 and int(part.max()) < limit):
            raise InputError(f"a {name} is {int(part.min())} or {int(part.max())}; wanted 0 to {limit - 1}")
