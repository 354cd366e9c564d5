"""Folders of weights: saved weights are loaded, and everything else is reported."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from clew.errors import InputError
from clew.inference.query_network import QueryGNNSettings
from clew.nn.query_gnn import QueryGNN
from clew.retrievers.gfm.weights import TextEncoder, TrainedGNN, load_weights, save_weights
from clew.store.weights_io import PRETRAINED_FOLDER

ENCODER = TextEncoder("some-encoder", "abc", normalize=False, query="ask: ")
SETTINGS = QueryGNNSettings(width=4, text_width=6, layers=2, features=7, prior=True, learned_inverse=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    save_weights(tmp_path / "w", TrainedGNN(QueryGNN(SETTINGS).network(), "passages", ENCODER, 300, ""), {"seed": 0})
    return tmp_path / "w"


def test_saved_weights_are_loaded(folder: Path) -> None:
    trained = load_weights(folder)
    assert (trained.encoder, trained.nodes, trained.model.settings) == (ENCODER, 300, SETTINGS)
    assert trained.targets == "passages"
    torch.manual_seed(0)
    wanted = QueryGNN(SETTINGS).network().arrays
    assert trained.model.arrays.keys() == wanted.keys()
    for name, array in wanted.items():
        assert trained.model.arrays[name].dtype == np.float32
        np.testing.assert_array_equal(trained.model.arrays[name], array.astype(np.float16).astype(np.float32))
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors"}


def test_the_key_follows_the_weights(folder: Path) -> None:
    before = load_weights(folder).key
    tensors = load_file(folder / "model.safetensors")
    tensors["rel_mlp.bias"][0] += 1
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(InputError, match="not what was written"):
        load_weights(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del config["checksum"]  # as in weights of before
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert load_weights(folder).key != before


def test_the_shipped_weights_are_small_and_finite() -> None:
    trained = load_weights(PRETRAINED_FOLDER / "gfm")
    assert sum(path.stat().st_size for path in (PRETRAINED_FOLDER / "gfm").iterdir()) < 20 * 2**20
    assert trained.chains
    assert trained.model.settings.features == 17


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(InputError, match="holds no weights"):
        load_weights(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_damaged_file(folder: Path, name: str) -> None:
    for content in (b"\x00damaged", b"[" * 100_000):
        (folder / name).write_bytes(content)
        with pytest.raises(InputError, match="cannot be read"):
            load_weights(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 1}, "format 2"),
        ({"width": 8}, "another model"),
        ({"layers": 3}, "another model"),
        ({"layers": -1}, r"-1 layers; wanted 1 to \d+, the number of arrays"),
        ({"layers": 10**12}, r"10{12} layers; wanted 1 to"),
        ({"width": 10**9, "text_width": 10**9}, "another model"),
        ({"width": "4"}, "width"),
        ({"prior": 1}, "prior"),
        ({"encoder": None}, "encoder"),
        ({"encoder": {"name": "x"}}, "encoder"),
        ({"nodes": 0}, "nodes"),
        ({"targets": "words"}, "targets"),
        ({"form": {}}, "form"),
        ({"form": {"seeds": "rare", "ranker": "paper", "entities": 20, "rarity": True}}, "form"),
        ({"form": {"seeds": "plain", "ranker": "paper", "entities": 0, "rarity": True}}, "form"),
    ],
)
def test_an_invalid_configuration_is_refused(folder: Path, change: dict[str, object], message: str) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | change
    config = {name: value for name, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_weights(folder)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(folder: Path, broken: float) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["question_mlp.weight"][0, 0] = broken
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"question_mlp\.weight"):
        load_weights(folder)


def test_missing_and_extra_tensors_are_refused(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["rel_mlp.bias"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"rel_mlp\.bias"):
        load_weights(folder)


def test_single_precision_can_be_saved(tmp_path: Path) -> None:
    model = QueryGNN(SETTINGS).network()
    save_weights(tmp_path, TrainedGNN(model, "entities", ENCODER, None, ""), {}, half=False)
    trained = load_weights(tmp_path)
    assert (trained.targets, trained.nodes) == ("entities", None)
    assert trained.model.arrays.keys() == model.arrays.keys()
    for name, array in model.arrays.items():
        np.testing.assert_array_equal(trained.model.arrays[name], array)
