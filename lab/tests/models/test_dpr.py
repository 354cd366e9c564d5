"""A pair of encoders of tiny random models, against their own forward passes, and in an index."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.errors import InputError, ProviderError
from clew.index import create
from clew.models.encoders.registry import open_encoder
from clew.settings import Settings
from clew_lab.models.dpr import DPREncoder
from tests.models.tiny_bert import VOCABULARY, write_tiny_bert
from tests.small_index import DOCUMENTS

pytestmark = pytest.mark.slow  # importing transformers takes seconds

TEXTS = ["The Vega was built in Bremerhaven.", "", "who?", "a " * 600, "The Vega was built in Bremerhaven."]


def write_dpr(folder: Path, name: str, seed: int, width: int = 32) -> Path:
    """Write a model of DPR with random weights, and a tokenizer of letters."""
    import torch
    import transformers

    write_tiny_bert(folder)
    for file in ("model.safetensors", "config.json"):
        (folder / file).unlink()
    torch.manual_seed(seed)
    config = transformers.DPRConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        initializer_range=0.5,
    )
    getattr(transformers, name)(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of a model of questions and of one of passages."""
    folder = tmp_path_factory.mktemp("dpr")
    return write_dpr(folder / "questions", "DPRQuestionEncoder", 1), write_dpr(folder / "p", "DPRContextEncoder", 2)


def first_token(folder: Path, read: Callable[[Any], Any], name: str, text: str) -> np.ndarray[Any, Any]:
    """Return the unit vector of a text by the model alone."""
    import torch
    import transformers

    model = getattr(transformers, name).from_pretrained(folder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(
        text, truncation=True, max_length=512, return_tensors="pt"
    )
    with torch.inference_mode():
        row = read(model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]))[0].numpy()
    return np.asarray(row / np.linalg.norm(row))


def test_questions_and_passages_have_a_model_each(pair: tuple[Path, Path]) -> None:
    encoder = open_encoder(f"dpr:{pair[0]},{pair[1]}")
    assert (encoder.name, encoder.dimension) == (f"dpr:{pair[0]},{pair[1]}", 32)
    names = "DPRQuestionEncoder", "DPRContextEncoder"
    for folder, name, rows in zip(pair, names, (encoder.encode_queries(TEXTS), encoder.encode(TEXTS)), strict=True):
        for text, row in zip(TEXTS, rows, strict=True):
            wanted = first_token(folder, lambda output: output.pooler_output, name, text)
            np.testing.assert_allclose(row, wanted, atol=1e-5)
        assert rows[0].tobytes() == rows[4].tobytes()
    assert not np.allclose(encoder.encode(TEXTS), encoder.encode_queries(TEXTS))
    assert encoder.encode([]).shape == (0, 32)


def test_a_plain_bert_gives_the_state_of_its_first_token(tmp_path: Path) -> None:
    write_tiny_bert(tmp_path / "bert")
    encoder = DPREncoder(f"{tmp_path / 'bert'},{tmp_path / 'bert'}")
    wanted = first_token(tmp_path / "bert", lambda output: output.last_hidden_state[:, 0], "AutoModel", TEXTS[0])
    np.testing.assert_allclose(encoder.encode(TEXTS[:1])[0], wanted, atol=1e-5)
    assert np.array_equal(encoder.encode_queries(TEXTS[:1]), encoder.encode_queries(TEXTS[:2])[:1])


def test_fingerprints_tell_the_order_of_a_pair(pair: tuple[Path, Path]) -> None:
    prints = [DPREncoder(names).fingerprint for names in (f"{pair[0]},{pair[1]}", f"{pair[1]},{pair[0]}")]
    assert len(set(prints)) == 2
    assert DPREncoder(f"{pair[0]},{pair[1]}").fingerprint == prints[0]


def test_an_index_has_vectors_of_passages_and_is_asked_with_those_of_questions(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    index = create(tmp_path / "index", Settings(encoder=f"dpr:{pair[0]},{pair[1]}"))
    assert not index.add(DOCUMENTS[:5]).failures
    encoder = DPREncoder(f"{pair[0]},{pair[1]}")
    question = encoder.encode_queries(["Where was the Vega built?"])[0]
    snapshot = index.snapshot
    scores = np.asarray(snapshot.vectors.rows(np.arange(5))) @ question
    found = index.search("Where was the Vega built?", 5, "dense").passages
    assert [one.item.id for one in found] == [snapshot.passage_ids[place] for place in np.argsort(-scores)]


@pytest.mark.parametrize("names", ["", "a", "a,", "a,b,c"])
def test_a_pair_has_two_names(names: str) -> None:
    with pytest.raises(InputError, match="wanted dpr:QUESTION_MODEL,PASSAGE_MODEL"):
        open_encoder(f"dpr:{names}")


def test_what_is_no_pair_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    wide = write_dpr(tmp_path / "wide", "DPRContextEncoder", 3, width=64)
    with pytest.raises(ProviderError, match="have 32 dimensions, those of passages 64"):
        DPREncoder(f"{pair[0]},{wide}").encode(["a"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProviderError, match="cannot open the encoder"):
        DPREncoder(f"{pair[0]},{tmp_path / 'empty'}").encode(["a"])
