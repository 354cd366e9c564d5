"""The reader as a part for others: what it finds, means of readings, and what it refuses."""

import shutil
from pathlib import Path

import pytest

import clew
from clew.errors import InputError, ProviderError
from clew.models.reader.decoding import ReadSpan
from clew.models.reader.reader import MODEL_FILE, READER_FOLDER, Reading, average_readings, find_reader_problems

BUILT = "The Fram was built by Colin Archer in Larvik. She lies in Oslo."


def test_the_words_that_answer_have_a_place() -> None:
    reading = clew.Reader().read("Who built the Fram?", ["It rained for days.", BUILT])
    best = reading.spans[0]
    assert best.text == "Colin Archer"
    assert (best.source, BUILT[best.start : best.end]) == (1, "Colin Archer")
    assert sum(span.probability for span in reading.spans) + reading.none <= 1 + 1e-6


def test_without_words_nothing_is_said() -> None:
    for question, texts in (("", [BUILT]), ("Who?", []), ("Who?", [" "]), ("Is it?", ["# Heading"])):
        reading = clew.Reader().read(question, texts)
        assert (reading.spans, reading.none) == ((), 1.0)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        clew.Reader().read("Who?", ["a \ud800"])
    for question, texts in (("Who?", BUILT), ("Who?", None), ("Who?", [3]), (None, [BUILT])):
        with pytest.raises(InputError, match="give"):
            clew.Reader().read(question, texts)  # type: ignore[arg-type]
    with pytest.raises(ProviderError, match="holds no reader"):
        clew.Reader(tmp_path)
    copy = Path(shutil.copytree(READER_FOLDER, tmp_path / "copy"))
    assert find_reader_problems(copy) == find_reader_problems(tmp_path / "none") == []
    (copy / MODEL_FILE).write_bytes(b"x")
    assert "or remove" in find_reader_problems(copy)[0]


def test_readings_are_averaged_by_their_words() -> None:
    first = Reading((ReadSpan("Oslo", 0.6, 0, 5, 9), ReadSpan("yes", 0.2)), 0.2, ((0, 0, 9),))
    second = Reading((ReadSpan("Larvik", 0.5, 1, 0, 6), ReadSpan("oslo", 0.3, 1, 8, 12)), 0.2, ())
    mean = average_readings([first, second], [1.0, 2.0])
    assert [one.text for one in mean.spans] == ["Oslo", "Larvik", "yes"]
    assert [one.probability for one in mean.spans] == pytest.approx([0.4, 1 / 3, 0.2 / 3])
    assert (mean.spans[0].source, mean.spans[0].start) == (0, 5)
    assert mean.none == pytest.approx(0.2)
    assert mean.shown == first.shown
