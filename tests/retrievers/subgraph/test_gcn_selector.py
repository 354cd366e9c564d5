"""The trained selector: the likeliest nodes, independent of the other graphs."""

import numpy as np
import pytest
import torch

from clew.graph.subgraphs.textual_graph import GraphQuery
from clew.inference.subgraph_network import PRODUCT
from clew.nn.query_gnn import export_arrays
from clew.retrievers.subgraph.encoding import node_similarity
from clew.retrievers.subgraph.gcn import GCNSelector, TrainedScorer, make_node_batch
from clew.retrievers.subgraph.gcn_features import TEXT, walk_prior, walk_shares
from clew.retrievers.subgraph.settings import ScorerSettings
from clew_lab.nn.subgraph_policy import NodeBatch, SubgraphScorer, build_scorer
from lab.tests.contracts.test_subgraph_selectors import ODD_GRAPHS, WIDTH, make_question_graph

RING = [(i, (i + 1) % 12) for i in range(12)] + [(0, 6), (3, 3)]


def make_scorer(settings: ScorerSettings, gain: float) -> SubgraphScorer:
    """Return a torch model with random weights; with a gain of 0 it is untrained."""
    model = build_scorer(settings, WIDTH, 0)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.gcn.parameters() if gain else ():
            parameter.copy_(gain * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def trained(settings: ScorerSettings, gain: float) -> TrainedScorer:
    """Return the network of `make_scorer`."""
    return TrainedScorer(settings.network(export_arrays(make_scorer(settings, gain))), settings, "none", WIDTH)


def best_nodes(asked: GraphQuery, importance: np.ndarray, settings: ScorerSettings, budget: int) -> list[int]:
    """Return the nodes of the best scores, ties by position."""
    similarity = node_similarity(asked)
    price = (
        similarity * importance
        if settings.combination == PRODUCT
        else importance + walk_prior(walk_shares(asked)) + similarity
    )
    order = sorted(range(len(price)), key=lambda node: (-float(price[node]), node))
    return sorted(order[:budget])


@pytest.mark.parametrize("gain", [0.0, 1.0])
@pytest.mark.parametrize("settings", [ScorerSettings(), ScorerSettings(TEXT, PRODUCT)], ids=["ours", "source"])
@pytest.mark.parametrize("budget", [1, 4, 30])
def test_the_nodes_of_the_best_scores_are_selected(settings: ScorerSettings, gain: float, budget: int) -> None:
    question, network = make_question_graph(12, RING, [2]), trained(settings, gain)
    batch = NodeBatch.from_input(make_node_batch([question], settings))
    with torch.no_grad():
        importance = make_scorer(settings, gain).gcn(batch.inputs, batch.edges).numpy()
    (part,) = GCNSelector(network).select([question], budget)
    assert part.nodes.tolist() == best_nodes(question, importance, settings, budget)
    inside = set(part.nodes.tolist())
    assert part.edges.tolist() == [i for i, ends in enumerate(RING) if inside.issuperset(ends)]


def test_an_untrained_network_follows_the_walk_from_the_topics() -> None:
    chain = make_question_graph(30, [(i, i + 1) for i in range(29)], [10])
    (part,) = GCNSelector(trained(ScorerSettings(), 0.0)).select([chain], 9)
    assert part.nodes.tolist() == list(range(6, 15))  # four steps either way
    assert len(part.edges) == 8


def test_a_selection_ends_early_where_the_end_is_likelier() -> None:
    network = trained(ScorerSettings(stops=True), 0.0)
    question = ODD_GRAPHS["a chain"]
    scores = np.sort(network.model.scores(make_node_batch([question], network.settings))[0])[::-1]
    network.model.arrays["end"][:] = (scores[2] + scores[3]) / 2
    assert len(GCNSelector(network).select([question], 10)[0].nodes) == 3
    network.model.arrays["end"][:] = scores[0] + 1.0
    assert len(GCNSelector(network).select([question], 10)[0].nodes) == 1


def test_the_fingerprint_identifies_the_weights() -> None:
    one, other = trained(ScorerSettings(), 0.0), trained(ScorerSettings(), 1.0)
    assert GCNSelector(one).fingerprint == one.fingerprint != GCNSelector(other).fingerprint
