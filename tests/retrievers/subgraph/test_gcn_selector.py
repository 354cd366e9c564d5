"""The trained selection: the likeliest nodes, whichever graphs are asked together."""

import numpy as np
import pytest
import torch

from clew.graph.subgraphs.textual_graph import GraphQuery
from clew.nn.subgraph_policy import PRODUCT
from clew.retrievers.subgraph.gcn_features import TEXT, node_similarities, walk_prior, walk_shares
from clew.retrievers.subgraph.gcn_selector import GCNSelector
from clew.retrievers.subgraph.gcn_weights import ScorerSettings, TrainedScorer, make_node_batch
from tests.contracts.test_subgraph_selectors import ODD_GRAPHS, WIDTH, make_question_graph

RING = [(i, (i + 1) % 12) for i in range(12)] + [(0, 6), (3, 3)]


def trained(settings: ScorerSettings, gain: float) -> TrainedScorer:
    """Return a network whose weights are drawn; with a gain of 0, one that is untrained."""
    model = settings.build_network(WIDTH, 0)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.gcn.parameters() if gain else ():
            parameter.copy_(gain * torch.randn(parameter.shape, generator=generator))
    return TrainedScorer(model.eval(), settings, "none", WIDTH)


def by_hand(asked: GraphQuery, importance: np.ndarray, settings: ScorerSettings, budget: int) -> list[int]:
    """Return the nodes of the best scores, equal ones by position."""
    alike = node_similarities(asked)
    worth = (
        alike * importance if settings.combination == PRODUCT else importance + walk_prior(walk_shares(asked)) + alike
    )
    order = sorted(range(len(worth)), key=lambda node: (-float(worth[node]), node))
    return sorted(order[:budget])


@pytest.mark.parametrize("gain", [0.0, 1.0])
@pytest.mark.parametrize("settings", [ScorerSettings(), ScorerSettings(TEXT, PRODUCT)], ids=["ours", "source"])
@pytest.mark.parametrize("budget", [1, 4, 30])
def test_it_takes_the_nodes_of_the_best_scores(settings: ScorerSettings, gain: float, budget: int) -> None:
    asked, network = make_question_graph(12, RING, [2]), trained(settings, gain)
    batch = make_node_batch([asked], settings)
    with torch.no_grad():
        importance = network.model.gcn(batch.inputs, batch.edges).numpy()
    (part,) = GCNSelector(network).select([asked], budget)
    assert part.nodes.tolist() == by_hand(asked, importance, settings, budget)
    inside = set(part.nodes.tolist())
    assert part.edges.tolist() == [i for i, ends in enumerate(RING) if inside.issuperset(ends)]


def test_untrained_it_follows_the_walk_from_the_topics() -> None:
    chain = make_question_graph(30, [(i, i + 1) for i in range(29)], [10])
    (part,) = GCNSelector(trained(ScorerSettings(), 0.0)).select([chain], 9)
    assert part.nodes.tolist() == list(range(6, 15))  # four steps either way
    assert len(part.edges) == 8


def test_one_that_may_end_early_ends_where_the_end_is_likelier() -> None:
    network = trained(ScorerSettings(stops=True), 0.0)
    asked = ODD_GRAPHS["a chain"]
    batch = make_node_batch([asked], network.settings)
    with torch.no_grad():
        scores = network.model(batch)[0].sort(descending=True).values
        network.model.end.fill_(float(scores[2] + scores[3]) / 2)
    assert len(GCNSelector(network).select([asked], 10)[0].nodes) == 3
    with torch.no_grad():
        network.model.end.fill_(float(scores[0]) + 1.0)
    assert len(GCNSelector(network).select([asked], 10)[0].nodes) == 1


def test_the_weights_are_its_fingerprint() -> None:
    one, other = trained(ScorerSettings(), 0.0), trained(ScorerSettings(), 1.0)
    assert GCNSelector(one).fingerprint == one.fingerprint != GCNSelector(other).fingerprint
