"""The network that selects subgraphs: its weights on disk, and its input batches."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from clew.errors import ProviderError
from clew.inference.subgraph_network import PRODUCT, SUM
from clew.nn.query_gnn import export_arrays
from clew.retrievers.subgraph.encoding import node_similarity
from clew.retrievers.subgraph.gcn import TrainedScorer, load_scorer, make_node_batch
from clew.retrievers.subgraph.gcn_features import (
    QUESTION,
    TEXT,
    node_features,
    walk_prior,
    walk_shares,
)
from clew.retrievers.subgraph.settings import Inputs, ScorerSettings
from clew_lab.nn.subgraph_policy import NodeBatch, SubgraphScorer, build_scorer
from clew_lab.training.saved_weights import save_scorer
from lab.tests.contracts.test_subgraph_selectors import ODD_GRAPHS, WIDTH

SHAPES = {
    "ours": ScorerSettings(width=8),
    "the source's": ScorerSettings(TEXT, PRODUCT, width=8),
    "deep and ending early": ScorerSettings(width=4, layers=3, stops=True),
}


def make_scorer(settings: ScorerSettings, seed: int = 0) -> SubgraphScorer:
    """Return a torch model with random weights, those of the last layer included."""
    model = build_scorer(settings, WIDTH, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model.eval()


def trained(settings: ScorerSettings, seed: int = 0) -> TrainedScorer:
    """Return the network of `make_scorer`."""
    network = settings.network(export_arrays(make_scorer(settings, seed)))
    return TrainedScorer(network, settings, "hashing-1-8", WIDTH, {"seed": seed, "figures": {"minus loss": -0.5}})


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_saved_is_loaded_bit_for_bit(tmp_path: Path, shape: str) -> None:
    kept_config = trained(SHAPES[shape])
    save_scorer(tmp_path / "new", kept_config)
    actual = load_scorer(tmp_path / "new")
    assert (actual.settings, actual.encoder, actual.dimension) == (
        kept_config.settings,
        kept_config.encoder,
        kept_config.dimension,
    )
    assert (actual.about, actual.fingerprint) == (kept_config.about, kept_config.fingerprint)
    assert actual.model.arrays.keys() == kept_config.model.arrays.keys()
    for name, array in kept_config.model.arrays.items():
        np.testing.assert_array_equal(actual.model.arrays[name], array)
    batch = make_node_batch([ODD_GRAPHS["a chain"]], kept_config.settings)
    (one, end), (other, other_end) = kept_config.model.scores(batch), actual.model.scores(batch)
    np.testing.assert_array_equal(one, other)
    assert end == other_end
    save_scorer(tmp_path / "again", actual)
    for path in sorted((tmp_path / "new").iterdir()):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_the_fingerprint_changes_with_what_changes_a_score() -> None:
    kept_config = trained(SHAPES["ours"])
    prints = {kept_config.fingerprint, trained(SHAPES["ours"], 1).fingerprint}
    prints |= {replace(kept_config, encoder="another").fingerprint}
    prints |= {replace(kept_config, settings=replace(kept_config.settings, stops=True)).fingerprint}
    assert len(prints) == 4
    assert replace(kept_config, about={}).fingerprint == kept_config.fingerprint == trained(SHAPES["ours"]).fingerprint
    kept_config.model.arrays["gcn.layers.0.lin.weight"].flat[0] += 1.0
    assert kept_config.fingerprint not in prints


def change_settings(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda told: told.update(values)


def set_values(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda told: told["settings"].update(values)


@pytest.mark.parametrize(
    "change",
    [
        set_values(width=9),
        set_values(layers=3),
        set_values(layers=1),
        set_values(layers=10**12),
        set_values(inputs=TEXT),
        set_values(inputs="names"),
        set_values(combination="quotient"),
        set_values(depth=2),
        change_settings(dimension=WIDTH + 1),
        change_settings(dimension="wide"),
        change_settings(settings=None),
        change_settings(encoder=None),
        lambda config: config.pop("about"),
    ],
)
def test_settings_of_another_network_are_refused_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    save_scorer(tmp_path, trained(SHAPES["ours"]))
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    change(config)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ProviderError, match=r"network that selects subgraphs.*train or install") as caught:
        load_scorer(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("changed", [{}, {"start": np.zeros(1)}, {"end": np.zeros(2)}])
def test_arrays_of_another_network_are_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    save_scorer(tmp_path, trained(SHAPES["ours"]))
    arrays = load_file(tmp_path / "model.safetensors")
    if not changed:
        del arrays["end"]
    save_file(arrays | changed, tmp_path / "model.safetensors")
    with pytest.raises(ProviderError, match="train or install"):
        load_scorer(tmp_path)


def test_networks_depend_on_the_seed_and_leave_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, same, other = (build_scorer(SHAPES["ours"], WIDTH, seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    first, again, another = (model.state_dict()["gcn.layers.0.lin.weight"] for model in (one, same, other))
    assert torch.equal(first, again)
    assert not torch.equal(first, another)


@pytest.mark.parametrize("inputs", [TEXT, QUESTION])
def test_a_batch_equals_its_graphs(inputs: Inputs) -> None:
    question = list(ODD_GRAPHS.values())
    batch = NodeBatch.from_input(make_node_batch(question, ScorerSettings(inputs)))
    begin = 0
    values = 0
    for number, one in enumerate(question):
        count, edges = len(one.graph.node_vectors), one.graph.graph.edges
        own = slice(begin, begin + count)
        assert batch.inputs[own].tolist() == node_features(one, inputs, walk_shares(one)).tolist()
        assert batch.cosines[own].tolist() == node_similarity(one).tolist()
        assert batch.prior[own].tolist() == walk_prior(walk_shares(one)).tolist()
        assert batch.graph_of[own].tolist() == [number] * count
        assert batch.edges[values : values + len(edges)].tolist() == (edges + begin).tolist()
        begin, values = begin + count, values + len(edges)
    assert (len(batch.inputs), len(batch.edges), batch.graph_count) == (begin, values, len(question))
    assert (batch.edges.dtype, batch.graph_of.dtype) == (torch.int64, torch.int64)
    with torch.no_grad():
        scores, _ = make_scorer(ScorerSettings(inputs, SUM, width=8))(batch)
    assert torch.isfinite(scores).all()
