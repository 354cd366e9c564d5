"""Texts in batches of fixed shapes."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.models.encoders.sentence_transformer import BATCH_LENGTHS, BATCH_TOKENS, encode_rows

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, LongArray


@pytest.mark.parametrize("workers", [1, 3])
def test_each_text_gets_its_own_row_and_shapes_depend_on_length_only(workers: int) -> None:
    random = np.random.default_rng(0)
    texts = [random.integers(1, 1000, random.integers(1, 513)).astype(np.int32) for _ in range(300)]
    shapes = set()

    def forward(ids: "LongArray", real: "BoolArray") -> "FloatArray":
        shapes.add(ids.shape)
        assert real.any(axis=1).all()
        assert (ids[~real] == 0).all()
        return np.stack([(ids * real).sum(axis=1), real.sum(axis=1)], axis=1).astype(np.float32)

    rows = encode_rows(texts, 2, forward, workers)
    np.testing.assert_array_equal(rows, [[text.sum(), len(text)] for text in texts])
    assert shapes <= {(max(1, BATCH_TOKENS // length), length) for length in BATCH_LENGTHS}


def test_no_texts_give_no_rows() -> None:
    def forward(ids: "LongArray", real: "BoolArray") -> "FloatArray":
        raise AssertionError("called without texts")

    assert encode_rows([], 5, forward).shape == (0, 5)


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def forward(ids: "LongArray", real: "BoolArray") -> "FloatArray":
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        encode_rows([np.ones(3, dtype=np.int32)] * 1000, 5, forward, 2)
