"""Text scorers against cosines computed by hand and a cross-encoder with random weights."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from clew.errors import InputError, ProviderError
from clew.models.encoders.hashing import HashingEncoder
from clew.models.text_scorers import BiEncoderScorer, CrossEncoderScorer
from clew.protocols import TextScorer
from clew.text.bm25 import BM25Index, BM25Scorer
from tests.devices import DEVICES
from tests.models.tiny_bert import WIDTH, write_tiny_bert

if TYPE_CHECKING:
    from clew.types import FloatArray

TEXTS = ["directed by", "starred actors", "directed by", "place of birth, directed by", "東京", ""]
ENCODER = HashingEncoder(24)
WORDS = st.lists(st.sampled_from(["directed", "film", "of", "the", "birth", "films"]), max_size=5).map(" ".join)


def bi_encoder() -> BiEncoderScorer:
    return BiEncoderScorer(ENCODER.encode, ENCODER.encode_queries)


def test_a_bi_encoder_returns_cosines() -> None:
    scores = bi_encoder().score("who directed the film", TEXTS)
    question = ENCODER.encode(["who directed the film"])[0].tolist()
    wanted = [sum(a * b for a, b in zip(question, row, strict=True)) for row in ENCODER.encode(TEXTS).tolist()]
    assert scores.tolist() == pytest.approx(wanted, abs=1e-6)
    assert scores.shape == (len(TEXTS),)
    assert scores.dtype == np.float32
    assert scores[0] == scores[2] == scores.max()


def test_questions_are_encoded_as_questions() -> None:
    def turned(texts: Sequence[str]) -> "FloatArray":
        return -ENCODER.encode(texts)

    plain, other = bi_encoder(), BiEncoderScorer(ENCODER.encode, turned)
    np.testing.assert_array_equal(other.score("film", TEXTS), -plain.score("film", TEXTS))


@pytest.mark.parametrize("scorer", [BM25Scorer(), bi_encoder(), CrossEncoderScorer("nowhere/at all")])
def test_without_texts_there_are_no_scores_and_no_model_is_loaded(scorer: TextScorer) -> None:
    scores = scorer.score("who directed the film", [])
    assert scores.shape == (0,)
    assert scores.dtype == np.float32


@settings(deadline=None, max_examples=50)
@given(WORDS, st.lists(WORDS, max_size=6))
def test_bm25_weights_terms_by_the_given_texts(question: str, texts: list[str]) -> None:
    scores = BM25Scorer().score(question, texts)
    np.testing.assert_array_equal(scores, BM25Index.build(texts).scores(question))
    assert scores.shape == (len(texts),)


def write_cross_encoder(folder: Path, labels: int = 1) -> Path:
    """Write a cross-encoder of a few kilobytes."""
    write_tiny_bert(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = {str(number): f"LABEL_{number}" for number in range(labels)}
    config |= {"architectures": ["BertForSequenceClassification"], "id2label": names}
    config["label2id"] = {name: int(number) for number, name in names.items()}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    weights = {f"bert.{name}": array for name, array in load_file(folder / "model.safetensors").items()}
    random = np.random.default_rng(1)
    weights["classifier.weight"] = random.normal(0, 0.5, (labels, WIDTH)).astype(np.float32)
    weights["classifier.bias"] = np.zeros(labels, dtype=np.float32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.slow  # importing sentence-transformers takes six to ten seconds
@pytest.mark.parametrize("device", DEVICES)
def test_a_cross_encoder_reads_question_and_text_together(tmp_path: Path, device: str) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = write_cross_encoder(tmp_path / "model")
    question = "who directed the film"
    texts = [text for text in TEXTS if text]
    scorer = CrossEncoderScorer(str(folder), device)
    scores = scorer.score(question, texts)
    assert scores.shape == (len(texts),)
    assert scores.dtype == np.float32
    assert scores[0] == pytest.approx(scores[2], abs=1e-5)
    loader: Any = AutoTokenizer  # has no types
    tokenizer = loader.from_pretrained(str(folder))
    model: Any = AutoModelForSequenceClassification.from_pretrained(str(folder)).eval()
    for text, score in zip(texts, scores.tolist(), strict=True):
        logit = float(model(**tokenizer(question, text, return_tensors="pt")).logits[0, 0].detach())
        assert score == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-4)
    other = scorer.score("where was she born", texts)
    assert scorer.score(question, ["", "a"]).shape == (2,)
    assert not np.allclose(other, scores)


@pytest.mark.slow
def test_a_missing_cross_encoder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (write_cross_encoder(tmp_path / "json") / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"no cross-encoder can be called .*; wanted a folder or a name on the"):
        CrossEncoderScorer(str(tmp_path / "nowhere")).score("who", ["x"])
    for name in ("empty", "json"):
        with pytest.raises(ProviderError, match=r"cannot be opened .*give a folder that holds one") as caught:
            CrossEncoderScorer(str(tmp_path / name)).score("who", ["x"])
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_cross_encoder_with_damaged_weights(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "cut")
    (folder / "model.safetensors").write_bytes(b"\x00" * 30)
    with pytest.raises(ProviderError, match=r"cannot be opened .*give a folder that holds one"):
        CrossEncoderScorer(str(folder)).score("who", ["x"])


@pytest.mark.slow
def test_a_cross_encoder_without_usable_scores(tmp_path: Path) -> None:
    three = CrossEncoderScorer(str(write_cross_encoder(tmp_path / "three", labels=3)))
    with pytest.raises(ProviderError, match="3 scores a text"):
        three.score("who", ["x", "y"])
    folder = write_cross_encoder(tmp_path / "nan")
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"][:] = np.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ProviderError, match="not finite numbers"):
        CrossEncoderScorer(str(folder)).score("who", ["x", "y"])
    # An encoder would be opened with a head of random weights and rank at random.
    write_tiny_bert(tmp_path / "encoder")
    with pytest.raises(ProviderError, match="is a BertModel, which was never trained to score"):
        CrossEncoderScorer(str(tmp_path / "encoder")).score("who", ["x", "y"])


@pytest.mark.slow
def test_a_cross_encoder_reads_any_string(tmp_path: Path) -> None:
    scorer = CrossEncoderScorer(str(write_cross_encoder(tmp_path / "model")))
    assert scorer.score("a \ud800", ["b \udfff", "c\0", ""]).shape == (3,)
    np.testing.assert_array_equal(scorer.score("a \ud800", ["b \udfff"]), scorer.score("a ?", ["b ?"]))
    long = "who directed the film " * 1000
    np.testing.assert_array_equal(scorer.score(long, [long]), scorer.score(long * 5, [long * 5]))
    assert not np.allclose(scorer.score(long, ["a"]), scorer.score("who", ["a"]))


@pytest.mark.slow
def test_other_weights_have_another_fingerprint(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model")
    first, again = CrossEncoderScorer(str(folder)).fingerprint, CrossEncoderScorer(str(folder)).fingerprint
    assert first == again
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"] += 1
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert CrossEncoderScorer(str(folder)).fingerprint != first
