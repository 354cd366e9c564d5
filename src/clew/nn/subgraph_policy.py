"""From what is known of the nodes of question graphs to how likely each is to be selected, and when to stop.

A selection is drawn node by node without putting back, from a softmax over the nodes that are left and, where it may
end early, one entry more that ends it: the model of Plackett and Luce. So a selection has a probability, and what is
learned of one node holds whatever was drawn before it.

Source: GCN-Retriever (Engel and Park, 2024), equation 3, for `product`; Kool, van Hoof and Welling, "Stochastic Beams
and Where to Find Them" (2019), for draws by perturbed scores.
Differs from the source: `sum` adds to the importance what an untrained walk makes of the question, so that what is
drawn at first is not drawn blindly; a selection may end before the budget is spent.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from torch import nn

from clew.nn.node_gcn import NodeGCN

if TYPE_CHECKING:
    from torch import Tensor

PRODUCT, SUM = "product", "sum"


@dataclass(frozen=True, slots=True, eq=False)
class NodeBatch:
    """Question graphs side by side: n nodes, m edges, b graphs.

    Attributes:
        inputs: (n, f) what is known of each node.
        edges: (m, 2) int64 positions among the n nodes.
        cosines: (n,) with the question of the node's graph.
        prior: (n,) logarithm of the share of a walk from the question that comes by.
        graph_of: (n,) int64 number of the node's graph, ascending.
        graph_count: b.
    """

    inputs: "Tensor"
    edges: "Tensor"
    cosines: "Tensor"
    prior: "Tensor"
    graph_of: "Tensor"
    graph_count: int


@final
class SubgraphScorer(nn.Module):
    """Scores nodes, and the end of a selection, before the softmax.

    Args:
        input_width: Numbers that are known of a node.
        width: Of the hidden layers of the network.
        layers: Of the network.
        combination: `product` of cosine and importance, or the `sum` of importance, cosine and prior.
        stops: Whether a selection may end before the budget is spent.
    """

    def __init__(self, input_width: int, width: int, layers: int, combination: str, *, stops: bool) -> None:
        super().__init__()
        self.gcn = NodeGCN(input_width, width, layers, bias=combination == SUM)
        self.combination = combination
        self.stops = stops
        self.weights = nn.Parameter(torch.tensor([1.0, 1.0]))
        self.end = nn.Parameter(torch.tensor([-4.0]))
        if combination == SUM:  # the untrained walk is where it starts from
            for parameter in self.gcn.layers[-1].parameters():
                nn.init.zeros_(parameter)

    def forward(self, batch: NodeBatch) -> "tuple[Tensor, Tensor]":
        """Return scores of nodes (n,), and of ending each selection (b,), minus infinity where it may not end."""
        importance = self.gcn(batch.inputs, batch.edges)
        if self.combination == PRODUCT:
            scores = batch.cosines * importance
        else:
            scores = importance + self.weights[0] * batch.prior + self.weights[1] * batch.cosines
        end = self.end.expand(batch.graph_count) if self.stops else scores.new_full((batch.graph_count,), -torch.inf)
        return scores, end


def sample_without_replacement(
    scores: "Tensor", end: "Tensor", budget: int, generator: "torch.Generator | None"
) -> "Tensor":
    """Return positions (k,) of the nodes of one graph that are selected, in the order in which they are drawn.

    Args:
        scores: (n,) of its nodes.
        end: () of ending the selection; what would be drawn after it is not; at least one node is.
        budget: Nodes at most.
        generator: Of the draw; None for the likeliest at every step.
    """
    perturbed, ends = scores.detach(), end.detach()
    if generator is not None:
        noise = -torch.rand(len(scores) + 1, generator=generator).clamp(1e-9, 1 - 1e-7).log()
        perturbed = perturbed - noise[:-1].log()
        # The end takes part from the second draw on, so its perturbed score lies below that of the first node drawn.
        ends = -((-perturbed.max()).exp() + (-ends).exp() * noise[-1]).log()
    order = torch.argsort(perturbed, descending=True, stable=True)[:budget]
    return order[: max(1, int((perturbed[order] > ends).sum()))]


def selection_log_probability(scores: "Tensor", end: "Tensor", order: "Tensor", budget: int) -> "Tensor":
    """Return the logarithm () of the probability that nodes are drawn in an order, and then no others.

    Args:
        scores: (n,) of the nodes of one graph.
        end: () of ending the selection; it is not looked at before the first node.
        order: (k,) positions, each once.
        budget: Nodes at most, at least k.
    """
    left = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
    left[order] = False
    others = torch.logsumexp(scores[left], 0) if bool(left.any()) else scores.new_tensor(-torch.inf)
    chosen = scores[order]
    # What is left before each draw: the draws that follow, and those that were never drawn.
    tail = torch.cat([others[None], chosen.flip(0)]).logcumsumexp(0).flip(0)
    first, later = chosen[0] - tail[0], chosen[1:] - torch.logaddexp(tail[1:-1], end.expand(len(chosen) - 1))
    stop = torch.zeros_like(end)
    if bool(torch.isfinite(end)) and len(order) < min(budget, len(scores)):
        stop = end - torch.logaddexp(tail[-1], end)
    return first + later.sum() + stop
