"""The encoder of a hundred languages: questions find answers, batches change nothing, a missing package is told."""

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import pytest

from clew.errors import InputError, MissingPackageError, ProviderError
from clew.models.encoders import int4_e5
from clew.models.encoders.int4_e5 import Int4E5
from clew.models.encoders.registry import open_encoder

needs_weights = pytest.mark.skipif(find_spec(int4_e5.PACKAGE) is None, reason="needs the extra multilingual")
NOTES = ("The gate closes at eight in the evening.", "The tank is nine metres deep.", "Two apprentices work here.")
QUESTIONS = {
    "de": ("Wann wird das Tor abends geschlossen?", "Welche Tiefe hat das Becken?", "Wie viele Lehrlinge gibt es?"),
    "ru": ("Когда вечером закрывают ворота?", "Какой глубины бак?", "Сколько здесь учеников?"),
    "zh": ("大门晚上几点关?", "水池有多深?", "这里有几个学徒?"),
    "hi": ("शाम को फाटक कब बंद होता है?", "टंकी कितनी गहरी है?", "यहाँ कितने प्रशिक्षु काम करते हैं?"),
}


@pytest.fixture(scope="module")
def encoder() -> Int4E5:
    return Int4E5()


@needs_weights
@pytest.mark.parametrize("questions", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_is_nearest_to_its_answer(encoder: Int4E5, questions: Sequence[str]) -> None:
    cosines = encoder.encode_queries(questions) @ encoder.encode([*NOTES, "A ship sailed north."]).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]


@needs_weights
def test_rows_are_unit_and_do_not_depend_on_the_batch(encoder: Int4E5) -> None:
    texts = ["", "\ufdfa" * 2000, "Fram " * 900, *NOTES]
    rows = encoder.encode(texts)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert all((encoder.encode([text])[0] == row).all() for text, row in zip(texts, rows, strict=True))
    assert (encoder.encode_queries(NOTES) != encoder.encode(NOTES)).any()


@needs_weights
def test_characters_are_normalised_as_for_the_model(encoder: Int4E5) -> None:
    rows = encoder.encode(["ＡＢＣ\u200bcafe\u0301\x07", "ABC café"])
    assert (rows[0] == rows[1]).all()


@needs_weights
def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int4_e5, "SHA256", "0" * 64)
    with pytest.raises(ProviderError, match="wanted 0000"):
        Int4E5().encode(["a"])


def test_a_missing_package_and_a_close_name_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="did you mean multilingual"):
        open_encoder("multilingul")
    monkeypatch.setattr("clew.plugins.extras.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"run pip install 'clew\[multilingual\]'"):
        open_encoder("multilingual")
