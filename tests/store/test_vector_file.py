"""Vectors in a file are read and written as those of an array, whatever memory is given back in between."""

from pathlib import Path

import numpy as np
import pytest

from clew.models.encoders.hashing import HashingEncoder
from clew.store import array_file, vector_cache
from clew.store.array_file import VectorFile
from clew.store.vector_cache import VectorCache

TEXTS = [f"text number {number}" for number in range(50)]


@pytest.mark.parametrize("resident", [1, 3 * 4200, 1 << 20])
def test_rows_are_those_of_an_array(tmp_path: Path, resident: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "RESIDENT_BYTES", resident)
    random = np.random.default_rng(3)
    array = np.zeros((90, 7), dtype=np.float32)
    file = VectorFile(tmp_path / "vectors", *array.shape)
    assert (len(file), file.shape) == (90, (90, 7))
    for _ in range(40):
        rows = random.permutation(90)[: random.integers(1, 9)]
        values = random.normal(size=(len(rows), 7)).astype(np.float32)
        array[rows] = values
        file[rows] = values
        read = random.permutation(90)[:20]
        np.testing.assert_array_equal(file[read], array[read])
        np.testing.assert_array_equal(file[10:60], array[10:60])
    copy = file[:5]
    copy[:] = 7.0
    np.testing.assert_array_equal(file[:5], array[:5])


@pytest.mark.parametrize("block_rows", [3, 4096])
@pytest.mark.parametrize("stored", [0, 5, 30, 50])
def test_stored_and_new_vectors_go_to_a_file_by_blocks(
    tmp_path: Path, stored: int, block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "_BLOCK_ROWS", block_rows)
    encoder, cache = HashingEncoder(8), VectorCache(tmp_path / "vectors.lance")
    others = [f"other {number}" for number in range(40)]
    cache.get_or_encode(others[:20] + TEXTS[:stored][::-1] + others[20:], encoder)
    file = VectorFile(tmp_path / "vectors", len(TEXTS), encoder.dimension)
    encoded: list[int] = []
    cache.fill(file, TEXTS, encoder, encoded.append)
    assert sum(encoded) == len(TEXTS) - stored
    np.testing.assert_array_equal(file[:], encoder.encode(TEXTS))
    np.testing.assert_array_equal(cache.get_or_encode(TEXTS[::2] * 2, encoder), encoder.encode(TEXTS[::2] * 2))
