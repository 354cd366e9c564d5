"""The hashing encoder against a slow version, and its guarantees."""

import math
import unicodedata
from collections import Counter
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.models.encoders.hashing import HashingEncoder

MASK = 2**64 - 1


def slow_row(text: str, dimension: int) -> list[float]:
    """The same features with Python's integers and one loop."""
    words = unicodedata.normalize("NFKC", text).casefold().split()
    padded = f" {' '.join(words)} "
    weights: dict[int, float] = {}
    counts: Counter[int] = Counter()
    for word in words:
        value = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
        counts[value] += 1
        weights[value] = 1.0
    for size in (3, 4, 5) if words else ():
        for start in range(len(padded) - size + 1):
            value = 0
            for sign in padded[start : start + size]:
                value = (value * 0x9E3779B97F4A7C15 + ord(sign)) & MASK
            value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
            value ^= value >> 31
            counts[value] += 1
            weights[value] = 0.5
    row = [0.0] * dimension
    for value, count in counts.items():
        row[value % dimension] += (1 if value >> 63 else -1) * weights[value] * math.sqrt(count)
    length = math.sqrt(math.fsum(x * x for x in row))
    return [x / length for x in row] if length > 1e-9 else [1.0] + [0.0] * (dimension - 1)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from([2, 7, 256]))
def test_rows_equal_the_slow_version(text: str, dimension: int) -> None:
    row = HashingEncoder(dimension).encode([text])[0]
    assert row.dtype == np.float32
    np.testing.assert_allclose(row, slow_row(text, dimension), atol=1e-6)


def test_the_bits_never_change() -> None:
    row = HashingEncoder(8).encode(["Ariadne gave Theseus a clew"])[0]
    want = [-6.0, -2.0, -6.0, -1.0, 4.0, 1.0, 1.0, -1.0]
    np.testing.assert_array_equal(row, (np.asarray(want) / np.sqrt(96)).astype(np.float32))


def test_spelling_decides_what_is_close() -> None:
    rows = HashingEncoder().encode(["Lothair II", "LOTHAIR  II", "Lothair II of Lotharingia", "東京タワー"])
    assert rows[0] @ rows[1] == pytest.approx(1)
    assert 0.5 < rows[0] @ rows[2] < 0.95
    assert abs(rows[0] @ rows[3]) < 0.2


def test_texts_of_white_space_give_one_fixed_unit_row() -> None:
    rows = HashingEncoder(4).encode(["", "  \n"])
    np.testing.assert_array_equal(rows, [[1, 0, 0, 0]] * 2)


def test_names_and_fingerprints_depend_on_the_width() -> None:
    assert [HashingEncoder().name, HashingEncoder(512).name] == ["hashing", "hashing:512"]
    assert HashingEncoder().fingerprint != HashingEncoder(512).fingerprint
    assert HashingEncoder().encode([]).shape == (0, 256)


def test_invalid_widths_and_texts_are_refused() -> None:
    with pytest.raises(InputError, match="0 numbers"):
        HashingEncoder(0)
    with pytest.raises(InputError, match=r"U\+D800 at character 1"):
        HashingEncoder().encode(["fine", "a\ud800"])
