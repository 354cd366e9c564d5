"""The reranking network on disk, and the collation of document graphs."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from clew.errors import InputError, ProviderError
from clew.inference.document_network import NETWORKS, NUMPY_NETWORKS, DocumentGNNSettings
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.rerankers.g_rag.weights import (
    FeatureColumns,
    TrainedDocumentGNN,
    load_reranker,
    save_reranker,
)
from clew_lab.nn.document_gnn import DocumentBatch, DocumentGNN, parameter_shapes

NAMES = (("score", "words"), ("common nodes", "link to", "link from"))
ALL = FeatureColumns((0, 1), (0, 1, 2))


def make_trained(network: str = "relational", seed: int = 0, **changed: Any) -> TrainedDocumentGNN:
    settings = DocumentGNNSettings(4, 2, 3, network, 8)
    torch.manual_seed(seed)
    model = DocumentGNN(replace(settings, **changed)).network()
    return TrainedDocumentGNN(model, "index", *NAMES, "hashing", {"seed": seed})


def make_graph(size: int, seed: int = 0) -> DocumentGraph:
    generator = np.random.default_rng(seed)
    shapes = ((size, 4), (size, 2), (size, size, 3), (4,))
    vectors, numbers, edges, question = (generator.random(shape).astype(np.float32) for shape in shapes)
    return DocumentGraph(vectors, numbers, edges, question)


@pytest.mark.parametrize("network", NETWORKS)
def test_what_is_saved_is_loaded_bit_for_bit(tmp_path: Path, network: str) -> None:
    saved = make_trained(network)
    save_reranker(tmp_path / "new", saved)
    loaded = load_reranker(tmp_path / "new", parameter_shapes)
    assert (loaded.kind, loaded.node_features, loaded.edge_features, loaded.encoder) == ("index", *NAMES, "hashing")
    assert (loaded.about, loaded.fingerprint) == ({"seed": 0}, saved.fingerprint)
    assert loaded.model.settings == saved.model.settings
    assert loaded.model.arrays.keys() == saved.model.arrays.keys()
    for name, array in saved.model.arrays.items():
        np.testing.assert_array_equal(loaded.model.arrays[name], array)
    documents = ALL.select(make_graph(5), text=True)
    one, other = (DocumentGNN.from_network(trained.model) for trained in (saved, loaded))
    assert not one.training
    np.testing.assert_array_equal(one.scores(documents), other.scores(documents))
    if network in NUMPY_NETWORKS:
        np.testing.assert_array_equal(saved.model.scores(documents), loaded.model.scores(documents))
    save_reranker(tmp_path / "again", loaded)
    for path in sorted((tmp_path / "new").iterdir()):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_the_fingerprint_changes_with_what_changes_a_score() -> None:
    base = make_trained()
    others = [
        make_trained(seed=1),
        make_trained("g-rag"),
        make_trained(edge_update=False),
        replace(base, kind="amr"),
        replace(base, node_features=NAMES[0][::-1]),
        replace(base, edge_features=NAMES[1][::-1]),
        replace(base, encoder="another"),
    ]
    prints = {base.fingerprint, *(one.fingerprint for one in others)}
    assert len(prints) == 8
    assert replace(base, about={}).fingerprint == make_trained().fingerprint == base.fingerprint
    base.model.arrays["text_projection.weight"].flat[0] += 1.0
    assert base.fingerprint not in prints


def set_values(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda config: config.update(values)


def set_settings(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda config: config["settings"].update(values)


@pytest.mark.parametrize(
    "change",
    [
        set_settings(width=16),
        set_settings(layers=3),
        set_settings(layers=1),
        set_settings(layers=10**12),
        set_settings(network="gat", width=10**9),
        set_settings(network="gcn"),
        set_settings(network="transformer"),
        set_settings(numbers=3),
        set_settings(edges=4),
        set_settings(text=-4),
        set_settings(width="wide"),
        set_settings(width=8.5),
        set_settings(dropout=1.5),
        set_settings(depth=2),
        set_values(settings=None),
        set_values(graph="pages"),
        set_values(graph=["index"]),
        set_values(numbers=["score"]),
        set_values(edges=None),
        set_values(encoder="hashing"),
        set_values(about=7),
        lambda config: config.pop("about"),
        lambda config: config.pop("graph"),
    ],
)
def test_settings_of_another_network_are_refused_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    save_reranker(tmp_path, make_trained())
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    change(config)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ProviderError, match=r"network that reranks .* cannot be read .*: train or install") as caught:
        load_reranker(tmp_path, parameter_shapes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("network", sorted(set(NETWORKS) - set(NUMPY_NETWORKS)))
def test_a_network_that_torch_runs_is_refused(tmp_path: Path, network: str) -> None:
    save_reranker(tmp_path, make_trained(network))
    with pytest.raises(InputError, match=f"of the kind '{network}'; wanted one of .*: use g-rag-amr"):
        load_reranker(tmp_path)


def damaged(arrays: dict[str, Any], harm: str) -> dict[str, Any]:
    name = "layers.0.own.weight"
    if harm == "missing":
        return {key: array for key, array in arrays.items() if key != name}
    changed = {"shape": np.zeros((8, 9)), "nan": np.full((8, 8), np.nan), "more": np.zeros((8, 8))}[harm]
    return {**arrays, "another" if harm == "more" else name: changed.astype(np.float32)}


@pytest.mark.parametrize("harm", ["missing", "shape", "nan", "more"])
def test_arrays_of_another_network_are_refused(tmp_path: Path, harm: str) -> None:
    save_reranker(tmp_path, make_trained())
    save_file(damaged(load_file(tmp_path / "model.safetensors"), harm), tmp_path / "model.safetensors")
    with pytest.raises(ProviderError, match="network that reranks") as caught:
        load_reranker(tmp_path)
    assert "\n" not in str(caught.value)


def test_features_are_located_by_name() -> None:
    present = (("a", "b", "c"), ("x", "y"))
    assert FeatureColumns.locate((("c", "a"), ("y",)), present) == FeatureColumns((2, 0), (1,))
    assert FeatureColumns.locate(((), ()), present) == FeatureColumns((), ())
    for wanted, message in (
        ((("z",), ()), "'z' is no feature of these graphs, which have a, b, c"),
        (((), ("z",)), "'z'.*have x, y"),
    ):
        with pytest.raises(InputError, match=message):
            FeatureColumns.locate(wanted, present)
    with pytest.raises(InputError, match="which have none"):
        FeatureColumns.locate((("a",), ()), ((), ()))


@pytest.mark.parametrize("text", [True, False])
def test_graphs_are_padded_with_zeros(text: bool) -> None:
    graphs = [make_graph(2, 1), make_graph(4, 2), make_graph(1, 3)]
    columns = FeatureColumns((1,), (2, 0))
    batch = DocumentBatch.from_inputs([columns.select(graph, text=text) for graph in graphs])
    assert batch.vectors.shape == (3, 4, 4 if text else 0)
    for place, item in enumerate(graphs):
        size = len(item.node_features)
        assert batch.present[place].tolist() == [True] * size + [False] * (4 - size)
        assert batch.numbers[place, :size, 0].tolist() == item.node_features[:, 1].tolist()
        assert batch.edges[place, :size, :size, 0].tolist() == item.edge_features[..., 2].tolist()
        assert batch.edges[place, :size, :size, 1].tolist() == item.edge_features[..., 0].tolist()
        if text:
            assert batch.vectors[place, :size].tolist() == item.vectors.tolist()
            assert batch.questions[place].tolist() == item.question.tolist()
        for part in (batch.vectors[place, size:], batch.numbers[place, size:], batch.edges[place, size:]):
            assert not part.any()
        assert not batch.edges[place, :, size:].any()
    assert {part.dtype for part in (batch.vectors, batch.numbers, batch.edges)} == {torch.float32}
