"""Opening of encoders by name, without loading them."""

import sys

import pytest

from clew.errors import InputError, MissingPackageError
from clew.models.encoders.hashing import HashingEncoder, NoEncoder
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.registry import open_encoder, open_index_encoder
from clew.models.encoders.sentence_transformer import SentenceTransformerEncoder
from clew.protocols import Encoder
from tests.faults.python_process import run_python


@pytest.mark.parametrize(
    ("requests", "kind", "name"),
    [
        ("all-MiniLM-L6-v2", SentenceTransformerEncoder, "sentence-transformers/all-MiniLM-L6-v2"),
        ("all-MiniLM-L6-v2-int8", Int8MiniLM, "all-MiniLM-L6-v2-int8"),
        ("bundled", Int8MiniLM, "all-MiniLM-L6-v2-int8"),
        ("hashing", HashingEncoder, "hashing"),
        ("hashing:512", HashingEncoder, "hashing:512"),
        ("none", NoEncoder, "none"),
        ("intfloat/e5-small-v2", SentenceTransformerEncoder, "intfloat/e5-small-v2"),
        ("intfloat/e5-small-v2@v1", SentenceTransformerEncoder, "intfloat/e5-small-v2@v1"),
    ],
)
def test_names_open_their_encoders(requests: str, kind: type, name: str) -> None:
    encoder: Encoder = open_encoder(requests)
    assert isinstance(encoder, kind)
    assert encoder.name == name


@pytest.mark.parametrize("requests", ["", "  ", "hashing:", "hashing:0", "hashing:-1", "hashing:many", "hashing:²"])
def test_invalid_names_are_refused(requests: str) -> None:
    with pytest.raises(InputError, match="wanted"):
        open_encoder(requests)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hashng:512", "hashing"),
        ("nonee", "none"),
        ("all_minilm_l6_v2_int8", "all-MiniLM-L6-v2-int8"),
        ("ALL-minilm-l6-v2", "all-MiniLM-L6-v2"),
        ("bundled:x", "bundled"),
        ("all-MiniLM-L6-v2:x", "all-MiniLM-L6-v2"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_one(typed: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"did you mean {meant}\?$"):
        open_encoder(typed)


@pytest.mark.parametrize(
    "name", ["all-mpnet-base-v2", "all-MiniLM-L12-v2", "all-MiniLM-L6-v1", "paraphrase-MiniLM-L6-v2"]
)
def test_names_without_owner_are_left_to_sentence_transformers(name: str) -> None:
    assert isinstance(open_encoder(name), SentenceTransformerEncoder)


def test_the_null_encoder_refuses_with_advice() -> None:
    encoder = NoEncoder()
    assert (encoder.dimension, encoder.fingerprint) == (0, "none")
    for encode in (encoder.encode, encoder.encode_queries):
        with pytest.raises(InputError, match="build with --encoder all-MiniLM-L6-v2"):
            encode(["a"])


def test_opening_loads_no_torch_and_knows_width_and_fingerprint() -> None:
    program = (
        "import sys; from clew.models.encoders.registry import open_encoder; e = open_encoder('bundled');"
        "h = open_encoder('hashing'); h.encode(['a']); open_encoder('some/model');"
        "assert e.dimension == 384 and 'int8' in e.fingerprint;"
        "heavy = {'torch', 'sentence_transformers', 'tokenizers', 'huggingface_hub'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    run_python(program)


def test_of_an_index_the_way_out_is_another_encoder_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"encoder": "bundled", "encoder_fingerprint": "other"}
    way_out = r"run clew reencode --index my/index --encoder all-MiniLM-L6-v2-int8"
    with pytest.raises(InputError, match=f"install the weights it was made with, or {way_out}$"):
        open_index_encoder(settings, 384, "auto", "my/index")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingPackageError, match=rf"'clew\[encoders\]', or {way_out}, which needs no torch$"):
        open_index_encoder({**settings, "encoder": "some/model"}, 384, "auto", "my/index")
