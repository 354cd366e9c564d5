"""The encoder of sentence-transformers models, with random weights."""

import json
from pathlib import Path

import numpy as np
import pytest

from clew.errors import InputError, ProviderError
from clew.models.encoders.sentence_transformer import SentenceTransformerEncoder
from tests.devices import DEVICES
from tests.models.tiny_bert import WIDTH, write_tiny_bert

pytestmark = pytest.mark.slow  # importing sentence-transformers takes six to ten seconds

TEXTS = ["", "a", "who gave theseus a clew?", "word " * 40, "東京", *(f"name {number}" for number in range(150))]


def write_model(folder: Path, prompts: dict[str, str] | None = None) -> None:
    write_tiny_bert(folder)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}', encoding="utf-8")
    settings = {"prompts": prompts or {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")


@pytest.mark.parametrize("device", DEVICES)
def test_rows_equal_those_of_the_library_and_do_not_depend_on_the_batch(tmp_path: Path, device: str) -> None:
    write_model(tmp_path)
    encoder = SentenceTransformerEncoder(str(tmp_path), device=device)
    from sentence_transformers import SentenceTransformer

    tolerance = 5e-6 if device == "cpu" else 0.02  # bfloat16 has 8 bits
    assert encoder.dimension == WIDTH
    rows = encoder.encode(TEXTS)
    model = SentenceTransformer(str(tmp_path), device="cpu")
    want = model.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(rows, want, atol=tolerance)
    np.testing.assert_allclose(encoder.encode_queries(TEXTS[:9]), want[:9], atol=tolerance)
    order = np.random.default_rng(3).permutation(len(TEXTS))
    np.testing.assert_array_equal(encoder.encode([TEXTS[place] for place in order]), rows[order])
    np.testing.assert_array_equal(encoder.encode(TEXTS[:1]), rows[:1])
    assert encoder.encode([]).shape == encoder.encode_queries([]).shape == (0, WIDTH)
    with pytest.raises(InputError, match="surrogate"):
        encoder.encode(["\ud800"])


def test_prompts_are_put_before_their_kind_of_text(tmp_path: Path) -> None:
    write_model(tmp_path / "plain")
    write_model(tmp_path / "prompting", {"query": "ask: ", "passage": "tell: "})
    plain = SentenceTransformerEncoder(str(tmp_path / "plain"))
    prompting = SentenceTransformerEncoder(str(tmp_path / "prompting"))
    np.testing.assert_array_equal(prompting.encode(["a clew"]), plain.encode(["tell: a clew"]))
    np.testing.assert_array_equal(prompting.encode_queries(["a clew"]), plain.encode_queries(["ask: a clew"]))
    assert prompting.fingerprint != plain.fingerprint


def test_the_fingerprint_depends_on_weights_and_tokenizer(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "same", "weights", "words")]
    for folder in folders:
        write_model(folder)
    weights = folders[2] / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-3] ^= 1
    weights.write_bytes(data)
    words = folders[3] / "tokenizer_config.json"
    changed = json.loads(words.read_text(encoding="utf-8")) | {"do_lower_case": False}
    words.write_text(json.dumps(changed), encoding="utf-8")
    prints = [SentenceTransformerEncoder(str(folder)).fingerprint for folder in folders]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


@pytest.mark.parametrize("damage", ["empty", "weights"])
def test_a_model_that_cannot_be_opened_is_a_provider_error(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "model"
    if damage == "empty":
        folder.mkdir()
    if damage == "weights":
        write_model(folder)
        (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ProviderError, match="cannot open the encoder"):
        SentenceTransformerEncoder(str(folder)).encode(["a"])


def test_an_unknown_name_offline_is_a_provider_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ProviderError, match="check the name and the network"):
        SentenceTransformerEncoder("nobody/no-such-model").encode(["a"])


@pytest.mark.parametrize("name", ["no:such", "/no/such/folder"])
def test_an_invalid_name_is_bad_input(name: str) -> None:
    with pytest.raises(InputError, match="no encoder can be called"):
        SentenceTransformerEncoder(name).encode(["a"])
