"""The network that reranks on disk, and document graphs side by side as it reads them."""

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
from clew.nn.document_gnn import NETWORKS, DocumentGNN, DocumentGNNSettings
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.rerankers.g_rag.weights import (
    FeatureColumns,
    TrainedDocumentGNN,
    collate_graphs,
    load_reranker,
    save_reranker,
)

NAMES = (("score", "words"), ("common nodes", "link to", "link from"))
ALL = FeatureColumns((0, 1), (0, 1, 2))


def trained(network: str = "relational", seed: int = 0, **changed: Any) -> TrainedDocumentGNN:
    shape = DocumentGNNSettings(4, 2, 3, network, 8)
    torch.manual_seed(seed)
    return TrainedDocumentGNN(DocumentGNN(replace(shape, **changed)).eval(), "index", *NAMES, "hashing", {"seed": seed})


def graph(size: int, seed: int = 0) -> DocumentGraph:
    drawn = np.random.default_rng(seed)
    shapes = ((size, 4), (size, 2), (size, size, 3), (4,))
    vectors, numbers, edges, question = (drawn.random(shape).astype(np.float32) for shape in shapes)
    return DocumentGraph(vectors, numbers, edges, question)


@pytest.mark.parametrize("network", NETWORKS)
def test_what_is_saved_is_loaded_bit_for_bit(tmp_path: Path, network: str) -> None:
    kept = trained(network)
    save_reranker(tmp_path / "new", kept)
    found = load_reranker(tmp_path / "new")
    assert (found.kind, found.node_features, found.edge_features, found.encoder) == ("index", *NAMES, "hashing")
    assert (found.about, found.fingerprint, found.model.training) == ({"seed": 0}, kept.fingerprint, False)
    assert found.model.settings == kept.model.settings
    for name, tensor in kept.model.state_dict().items():
        assert torch.equal(found.model.state_dict()[name], tensor)
    asked = collate_graphs([graph(5)], ALL, text=True)
    with torch.inference_mode():
        assert torch.equal(kept.model(asked), found.model(asked))
    save_reranker(tmp_path / "again", found)
    for path in sorted((tmp_path / "new").iterdir()):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_the_fingerprint_changes_with_what_changes_a_score() -> None:
    kept = trained()
    others = [
        trained(seed=1),
        trained("g-rag"),
        trained(edge_update=False),
        replace(kept, kind="amr"),
        replace(kept, node_features=NAMES[0][::-1]),
        replace(kept, edge_features=NAMES[1][::-1]),
        replace(kept, encoder="another"),
    ]
    prints = {kept.fingerprint, *(one.fingerprint for one in others)}
    assert len(prints) == 8
    assert replace(kept, about={}).fingerprint == trained().fingerprint == kept.fingerprint
    with torch.no_grad():
        next(kept.model.parameters()).view(-1)[0] += 1.0
    assert kept.fingerprint not in prints


def put(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda told: told.update(values)


def put_in_settings(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda told: told["settings"].update(values)


@pytest.mark.parametrize(
    "change",
    [
        put_in_settings(width=16),
        put_in_settings(layers=3),
        put_in_settings(layers=1),
        put_in_settings(network="gcn"),
        put_in_settings(network="transformer"),
        put_in_settings(numbers=3),
        put_in_settings(edges=4),
        put_in_settings(text=-4),
        put_in_settings(width="wide"),
        put_in_settings(width=8.5),
        put_in_settings(dropout=1.5),
        put_in_settings(depth=2),
        put(settings=None),
        put(graph="pages"),
        put(graph=["index"]),
        put(numbers=["score"]),
        put(edges=None),
        put(encoder="hashing"),
        put(about=7),
        lambda told: told.pop("about"),
        lambda told: told.pop("graph"),
    ],
)
def test_settings_of_another_network_are_refused_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    save_reranker(tmp_path, trained())
    told = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    change(told)
    (tmp_path / "config.json").write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(ProviderError, match=r"network that reranks .* cannot be read .*: train or install") as caught:
        load_reranker(tmp_path)
    assert "\n" not in str(caught.value)


def damaged(arrays: dict[str, Any], harm: str) -> dict[str, Any]:
    name = "layers.0.own.weight"
    if harm == "missing":
        return {key: array for key, array in arrays.items() if key != name}
    changed = {"shape": np.zeros((8, 9)), "nan": np.full((8, 8), np.nan), "more": np.zeros((8, 8))}[harm]
    return {**arrays, "another" if harm == "more" else name: changed.astype(np.float32)}


@pytest.mark.parametrize("harm", ["missing", "shape", "nan", "more"])
def test_arrays_of_another_network_are_refused(tmp_path: Path, harm: str) -> None:
    save_reranker(tmp_path, trained())
    save_file(damaged(load_file(tmp_path / "model.safetensors"), harm), tmp_path / "model.safetensors")
    with pytest.raises(ProviderError, match="network that reranks") as caught:
        load_reranker(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("left", [None, 0, 40])
def test_files_that_are_missing_or_cut_are_told(tmp_path: Path, name: str, left: int | None) -> None:
    save_reranker(tmp_path, trained())
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    if left is not None:
        (tmp_path / name).write_bytes(whole[:left])
    with pytest.raises(ProviderError, match="network that reranks"):
        load_reranker(tmp_path)


def test_columns_are_where_names_stand() -> None:
    present = (("a", "b", "c"), ("x", "y"))
    assert FeatureColumns.locate((("c", "a"), ("y",)), present) == FeatureColumns((2, 0), (1,))
    assert FeatureColumns.locate(((), ()), present) == FeatureColumns((), ())
    for wanted, said in (
        ((("z",), ()), "'z' is no feature of these graphs, which have a, b, c"),
        (((), ("z",)), "'z'.*have x, y"),
    ):
        with pytest.raises(InputError, match=said):
            FeatureColumns.locate(wanted, present)
    with pytest.raises(InputError, match="which have none"):
        FeatureColumns.locate((("a",), ()), ((), ()))


@pytest.mark.parametrize("text", [True, False])
def test_graphs_stand_side_by_side_filled_up_with_zeros(text: bool) -> None:
    graphs = [graph(2, 1), graph(4, 2), graph(1, 3)]
    asked = collate_graphs(graphs, FeatureColumns((1,), (2, 0)), text=text)
    assert asked.vectors.shape == (3, 4, 4 if text else 0)
    for place, one in enumerate(graphs):
        size = len(one.node_features)
        assert asked.present[place].tolist() == [True] * size + [False] * (4 - size)
        assert asked.numbers[place, :size, 0].tolist() == one.node_features[:, 1].tolist()
        assert asked.edges[place, :size, :size, 0].tolist() == one.edge_features[..., 2].tolist()
        assert asked.edges[place, :size, :size, 1].tolist() == one.edge_features[..., 0].tolist()
        if text:
            assert asked.vectors[place, :size].tolist() == one.vectors.tolist()
            assert asked.questions[place].tolist() == one.question.tolist()
        for part in (asked.vectors[place, size:], asked.numbers[place, size:], asked.edges[place, size:]):
            assert not part.any()
        assert not asked.edges[place, :, size:].any()
    assert {part.dtype for part in (asked.vectors, asked.numbers, asked.edges)} == {torch.float32}
