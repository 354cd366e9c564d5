import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import numpy as np
import pyarrow as pa
import pytest

from clew.errors import ProviderError
from clew.store.vector_cache import VectorCache, text_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.types import FloatArray


class LetterEncoder:
    """An encoder that counts letters and records the texts it encodes."""

    def __init__(self, dimension: int = 6, fingerprint: str = "letters", fails_after: int = 1 << 30) -> None:
        self.name = "letters"
        self.dimension = dimension
        self.fingerprint = fingerprint
        self.encoded: list[str] = []
        self.fails_after = fails_after

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        if len(self.encoded) + len(texts) > self.fails_after:
            raise KeyboardInterrupt
        self.encoded.extend(texts)
        rows = np.array([[1 + text.count(chr(97 + n)) for n in range(self.dimension)] for text in texts], np.float32)
        rows = rows.reshape(len(texts), self.dimension)
        unit: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        return self.encode(texts)


def make_words(count: int) -> list[str]:
    return [f"{'abcdef'[n % 6] * (n % 11)} {n}" for n in range(count)]


def test_vectors_come_in_the_order_requested_and_are_encoded_once(tmp_path: Path) -> None:
    encoder, store = LetterEncoder(), VectorCache(tmp_path / "vectors.lance")
    texts = make_words(40)
    steps: list[int] = []
    first = store.get_or_encode([*texts, *texts[::-1]], encoder, steps.append)
    expected = LetterEncoder().encode([*texts, *texts[::-1]])
    assert np.array_equal(first, expected)
    assert (encoder.encoded, steps) == (texts, [40])
    repeated = VectorCache(tmp_path / "vectors.lance").get_or_encode(["new", *texts[5:8]], encoder, steps.append)
    assert np.array_equal(repeated, LetterEncoder().encode(["new", *texts[5:8]]))
    assert (encoder.encoded[40:], steps) == (["new"], [40, 1])
    for vectors in ([3], [30, 2, 17], list(range(39, -1, -1))):
        assert np.array_equal(store.get_or_encode([texts[n] for n in vectors], encoder), expected[vectors])
    assert store.get_or_encode([], encoder).shape == (0, 6)


def test_an_interrupted_run_keeps_its_finished_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.store.vector_cache._COMMIT_TEXTS", 10)
    texts = make_words(35)
    with pytest.raises(KeyboardInterrupt):
        VectorCache(tmp_path / "v.lance").get_or_encode(texts, LetterEncoder(fails_after=25))
    second = LetterEncoder()
    vectors = VectorCache(tmp_path / "v.lance").get_or_encode(texts, second)
    assert second.encoded == texts[20:]
    assert np.array_equal(vectors, LetterEncoder().encode(texts))


@pytest.mark.parametrize("stored", [0, 5, 30])
def test_stored_vectors_are_read_by_blocks(tmp_path: Path, stored: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.store.vector_cache._BLOCK_ROWS", 3)
    encoder, cache, texts = LetterEncoder(), VectorCache(tmp_path / "vectors.lance"), make_words(70)
    cache.get_or_encode([*texts[30:50], *texts[:stored][::-1], *texts[50:]], encoder)
    encoder.encoded.clear()
    assert np.array_equal(cache.get_or_encode(texts[:30], encoder), LetterEncoder().encode(texts[:30]))
    assert encoder.encoded == texts[stored:30]


def test_encoders_do_not_share_vectors(tmp_path: Path) -> None:
    store, other = VectorCache(tmp_path / "v.lance"), LetterEncoder(fingerprint="other")
    store.get_or_encode(["a"], LetterEncoder())
    store.get_or_encode(["a"], other)
    assert other.encoded == ["a"]
    keys = text_keys(["a", "a", "b"], "x").tolist()
    assert keys[0] == keys[1] != keys[2]


def test_an_encoder_without_vectors_needs_no_store(tmp_path: Path) -> None:
    assert VectorCache(tmp_path / "v.lance").get_or_encode(["a", "b"], LetterEncoder(dimension=0)).shape == (2, 0)
    assert not (tmp_path / "v.lance").exists()


def spoil_file(path: Path) -> None:
    path.write_text("not a folder")


def spoil_foreign(path: Path) -> None:
    lance.write_dataset(pa.table({"x": [1]}), str(path), mode="overwrite")


def spoil_emptied(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("spoil", [spoil_file, spoil_foreign, spoil_emptied])
def test_a_foreign_store_is_replaced_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: "Callable[[Path], None]"
) -> None:
    path = tmp_path / "v.lance"
    spoil(path)
    with caplog.at_level(logging.WARNING):
        VectorCache(path).get_or_encode(["a"], LetterEncoder())
    assert "discarded" in caplog.text
    encoder = LetterEncoder()
    VectorCache(path).get_or_encode(["a"], encoder)
    assert encoder.encoded == []


@pytest.mark.parametrize("truncated", [True, False])
def test_a_damaged_store_is_replaced_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, truncated: bool
) -> None:
    path = tmp_path / "v.lance"
    texts = make_words(30)
    expected = VectorCache(path).get_or_encode(texts, LetterEncoder())
    (file,) = (path / "data").iterdir()
    data = bytearray(file.read_bytes())
    offset = data.index(expected[7].tobytes())
    data[offset + 2] ^= 1
    file.write_bytes(data[:100] if truncated else data)
    encoder = LetterEncoder()
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(VectorCache(path).get_or_encode(texts, encoder), expected)
    assert "discarded" in caplog.text
    assert encoder.encoded == texts


def test_a_flipped_bit_in_a_version_of_the_store_stops_no_command(tmp_path: Path) -> None:
    """Reading the columns of a damaged version panicked, and every command that compares names ended with it."""
    path, whole = tmp_path / "v.lance", tmp_path / "whole.lance"
    texts = make_words(10)
    expected = VectorCache(whole).get_or_encode(texts, LetterEncoder())
    (newest, *_) = sorted(file.name for file in (whole / "_versions").glob("*.manifest"))
    bits = 8 * (whole / "_versions" / newest).stat().st_size
    for place in range(3, bits, 67):
        shutil.copytree(whole, path)
        flipped = bytearray((path / "_versions" / newest).read_bytes())
        flipped[place // 8] ^= 1 << place % 8
        (path / "_versions" / newest).write_bytes(flipped)
        assert np.array_equal(VectorCache(path).get_or_encode(texts, LetterEncoder()), expected), place
        assert VectorCache(path).get_or_encode(["more"], LetterEncoder()).shape == (1, 6)
        shutil.rmtree(path)


def test_a_store_that_was_swapped_for_an_older_one_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "v.lance"
    VectorCache(path).get_or_encode(["a"], LetterEncoder())
    newest = min((path / "_versions").glob("*.manifest"))
    older = newest.read_bytes()
    VectorCache(path).get_or_encode(["b"], LetterEncoder())
    min((path / "_versions").glob("*.manifest")).write_bytes(older)
    expected = LetterEncoder().encode(["a", "b", "c"])
    assert np.array_equal(VectorCache(path).get_or_encode(["a", "b", "c"], LetterEncoder()), expected)


def test_another_width_replaces_the_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    VectorCache(tmp_path / "v.lance").get_or_encode(["a"], LetterEncoder())
    assert VectorCache(tmp_path / "v.lance").get_or_encode(["a"], LetterEncoder(dimension=3)).shape == (1, 3)
    assert "not vectors of width 3" in caplog.text


def test_an_encoder_that_breaks_its_promise_is_named(tmp_path: Path) -> None:
    encoder = LetterEncoder()
    encoder.encode = lambda texts: np.zeros((len(texts), 5), np.float32)  # type: ignore[method-assign]
    with pytest.raises(ProviderError, match=r"letters gave vectors of shape \(1, 5\)"):
        VectorCache(tmp_path / "v.lance").get_or_encode(["a"], encoder)


WRITE = """
import sys
from pathlib import Path
from tests.store.test_vector_cache import LetterEncoder, make_words
from clew.store import vector_cache
vector_cache._COMMIT_TEXTS = 10
vector_cache.VectorCache(Path(sys.argv[1])).get_or_encode(make_words(100), LetterEncoder())
"""


def test_two_processes_may_write_at_once(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    command = [sys.executable, "-c", WRITE, str(tmp_path / "v.lance")]
    children = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    encoder = LetterEncoder()
    vectors = VectorCache(tmp_path / "v.lance").get_or_encode(make_words(100), encoder)
    assert encoder.encoded == []
    assert np.array_equal(vectors, LetterEncoder().encode(make_words(100)))
