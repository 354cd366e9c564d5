"""A reader in 8-bit integers scores as the network in float32 does, and its weights come back."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from clew.nn.span_reader import SpanReader, read_body
from clew.training.int8_export import read_parameters, reader_model
from tests.models.tiny_bert import HEADS, write_tiny_bert


@pytest.fixture
def network(tmp_path: Path) -> SpanReader:
    write_tiny_bert(tmp_path)
    torch.manual_seed(0)
    return read_body(tmp_path).eval()


def export(network: SpanReader) -> bytes:
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    made: bytes = reader_model(weights, network.bert.config.to_dict()).SerializeToString()
    return made


def score(network: SpanReader, ids: np.ndarray, types: np.ndarray) -> list[np.ndarray]:
    with torch.inference_mode():
        scores = network(torch.from_numpy(ids), torch.from_numpy(types), torch.ones_like(torch.from_numpy(ids)))
    return [one.numpy() for one in scores]


def test_its_scores_are_those_of_the_network(network: SpanReader) -> None:
    session = onnxruntime.InferenceSession(export(network), providers=["CPUExecutionProvider"])
    random = np.random.default_rng(1)
    for length in (1, 7, 200):
        ids = random.integers(5, 40, (1, length))
        types = (np.arange(length)[None] > length // 3).astype(np.int64)
        wanted = score(network, ids, types)
        for found, one in zip(session.run(["spans", "kinds"], {"ids": ids, "types": types}), wanted, strict=True):
            assert found.shape == one.shape
            assert np.abs(found - one).max() < 0.05 * max(np.abs(one).max(), 1e-6) + 0.002


def test_its_weights_come_back_rounded(network: SpanReader) -> None:
    found = read_parameters(onnx.load_from_string(export(network)), HEADS)
    wanted = {name: value.numpy() for name, value in network.state_dict().items()}
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert np.abs(found[name] - value).max() <= np.abs(value).max() / 63 + 1e-6, name
