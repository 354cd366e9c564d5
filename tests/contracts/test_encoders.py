"""Contract of every encoder; one of sentence-transformers is tested if its weights are installed."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from clew.errors import InputError
from clew.models.encoders.registry import DEFAULT_ENCODER, accept_encoder, open_encoder
from clew.protocols import Encoder
from tests.encoded_texts import run_for_each_text
from tests.models.fp32_weights import FOLDER, needs_fp32_weights

NAMES = (
    "hashing",
    "hashing:64",
    DEFAULT_ENCODER,
    pytest.param(str(FOLDER), marks=needs_fp32_weights, id="sentence-transformers"),
)
TEXTS = (
    "Fram",
    "",
    "The Fram left Oslo in 1893.",
    "卡尔斯克鲁纳",
    "🚢😀",
    " \n ",
    "word " * 600,
    "Fram",
    "a\0b",
    "فرام",
)


OWN = "that of docs/extend.md, given as an object"


@pytest.fixture(scope="module", params=[*NAMES, OWN])
def encoder(request: pytest.FixtureRequest, own_part: Callable[[str], dict[str, Any]]) -> Iterator[Encoder]:
    with run_for_each_text():
        yield accept_encoder(own_part("encoder")["Letters"]()) if request.param == OWN else open_encoder(request.param)


def test_rows_are_unit_vectors_in_the_order_of_the_texts(encoder: Encoder) -> None:
    for rows in (encoder.encode(TEXTS), encoder.encode_queries(TEXTS)):
        assert rows.shape == (len(TEXTS), encoder.dimension)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
        assert rows[0].tobytes() == rows[7].tobytes()
        assert rows[0].tobytes() != rows[2].tobytes()


def test_a_row_depends_on_its_own_text_only(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    for place, text in enumerate(TEXTS):
        assert encoder.encode([text])[0].tobytes() == together[place].tobytes()
        assert encoder.encode_queries([text])[0].tobytes() == encoder.encode_queries(TEXTS)[place].tobytes()


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == encoder.encode_queries([]).shape == (0, encoder.dimension)


def test_its_own_name_opens_the_same_encoder(encoder: Encoder) -> None:
    if encoder.name == "python:letters":  # which its name does not open
        return
    again = open_encoder(encoder.name)
    assert (again.name, again.dimension) == (encoder.name, encoder.dimension)
    assert again.fingerprint == encoder.fingerprint
    assert again.encode(TEXTS[:3]).tobytes() == encoder.encode(TEXTS[:3]).tobytes()


def test_text_without_a_utf_8_form_is_refused(encoder: Encoder) -> None:
    for encode in (encoder.encode, encoder.encode_queries):
        with pytest.raises(InputError, match="D800"):
            encode(["good", "bad \ud800"])


def test_fingerprints_tell_encoders_apart() -> None:
    names = ("hashing", "hashing:64", "none", DEFAULT_ENCODER)
    assert len({open_encoder(name).fingerprint for name in names}) == len(names)


def test_the_encoder_none_has_no_width_and_refuses() -> None:
    nothing = open_encoder("none")
    assert (nothing.name, nothing.dimension) == ("none", 0)
    for encode in (nothing.encode, nothing.encode_queries):
        with pytest.raises(InputError, match="--encoder none"):
            encode(["a"])
