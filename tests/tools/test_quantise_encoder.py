"""The script that makes the default encoder: its arithmetic against a plain one, and the shipped bytes."""

import hashlib
import importlib.util
import json
import math
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file
from scipy.special import erf

from clew.models.encoders.int8_minilm import SHA256, TOKENIZER_SHA256
from clew.training.int8_export import encoder_model
from tests.models.fp32_weights import needs_fp32_weights
from tests.models.tiny_bert import HEADS, LAYERS, VOCABULARY, WIDTH, write_tiny_bert
from tests.tools.loading import TOOLS, load_script

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_script(TOOLS / "quantise_encoder.py")


def round_symmetric(x: Any, levels: int) -> Any:
    """The nearest multiples of a row's largest number over the levels."""
    scale = np.abs(x).max(-1, keepdims=True) / levels
    return np.round(x / scale) * scale


def plain_row(weights: dict[str, Any], ids: list[int]) -> Any:
    """BERT in float64 with rounded weights and rounded inputs of every product with weights, one head at a time."""

    def dense(x: Any, name: str, shrink: float = 1.0) -> Any:
        rounded = round_symmetric(weights[f"{name}.weight"] * shrink, 63)
        return round_symmetric(x, 127) @ rounded.T + weights[f"{name}.bias"] * shrink

    def norm(x: Any, name: str) -> Any:
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    words = round_symmetric(weights["embeddings.word_embeddings.weight"], 127)[ids]
    places = weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(words + places + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    part = WIDTH // HEADS
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query = dense(x, f"{layer}.attention.self.query", part**-0.5)
        key, value = (dense(x, f"{layer}.attention.self.{name}") for name in ("key", "value"))
        heads = []
        for start in range(0, WIDTH, part):
            columns = slice(start, start + part)
            score = np.exp(query[:, columns] @ key[:, columns].T)
            heads.append(score / score.sum(1, keepdims=True) @ value[:, columns])
        x = norm(dense(np.hstack(heads), f"{layer}.attention.output.dense") + x, f"{layer}.attention.output.LayerNorm")
        wide = dense(x, f"{layer}.intermediate.dense")
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        x = norm(dense(wide, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    row = x.mean(0)
    return row / math.sqrt(row @ row)


def test_the_graph_computes_the_rounded_model(tmp_path: Path) -> None:
    write_tiny_bert(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    weights = {name: value.astype(np.float64) for name, value in load_file(tmp_path / "model.safetensors").items()}
    session = onnxruntime.InferenceSession(
        encoder_model(load_file(tmp_path / "model.safetensors"), config, 256).SerializeToString()
    )
    generator = np.random.default_rng(0)
    for length in (2, 3, 17, 64, 256):
        ids = generator.integers(0, len(VOCABULARY), length)
        row = session.run(None, {"ids": ids[None].astype(np.int64)})[0]
        assert row.shape == (1, WIDTH)
        # A number near the middle of two multiples may be rounded to the other one in float32.
        assert float(row[0] @ plain_row(weights, ids.tolist())) > 0.9995


@pytest.mark.slow
@needs_fp32_weights
def test_the_shipped_file_is_made_again_byte_for_byte(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["quantise_encoder.py", "--out", str(tmp_path)])
    tool.main()
    shipped = ROOT / "src" / "clew" / "weights" / "encoder"
    for name in ("model.onnx", "tokenizer.json"):
        assert (tmp_path / name).read_bytes() == (shipped / name).read_bytes()
    assert {SHA256, TOKENIZER_SHA256} <= set(re.findall(r"\w+", (shipped / "README.md").read_text(encoding="utf-8")))
    assert hashlib.sha256((shipped / "tokenizer.json").read_bytes()).hexdigest() == TOKENIZER_SHA256


def test_other_weights_are_refused(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny_bert(tmp_path)
    monkeypatch.setattr("sys.argv", ["quantise_encoder.py", "--weights", str(tmp_path), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="wanted the published weights"):
        tool.main()
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_model_is_one_line(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["quantise_encoder.py", "--weights", str(tmp_path / "none")])
    with pytest.raises(SystemExit, match=r"none lacks config\.json, .*; give --weights a folder with") as stop:
        tool.main()
    assert "\n" not in str(stop.value)


def test_without_onnx_the_package_is_named(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "clew.training.int8_export", raising=False)
    assert tool.__spec__ is not None
    assert tool.__spec__.loader is not None
    with pytest.raises(SystemExit, match=r"needs the package onnx, .* run pip install onnx$"):
        tool.__spec__.loader.exec_module(importlib.util.module_from_spec(tool.__spec__))
