import pytest

from clew import Document, StatedTime, Time
from clew.indexing.chunking import Chunker
from clew.indexing.passage_times import find_document_time, find_stated_times


def with_field(name: str, value: str) -> Document:
    return Document("a", "", "x", {name: value})


def with_path(path: str) -> Document:
    return Document(path, "", "x", {}, origin={"path": path, "modified": "2024-03-05T10:00:00Z"})


def with_text(text: str) -> Document:
    return Document("2024-03-05", "", text)  # an id is no name of a file


@pytest.mark.parametrize(
    ("document", "source"),
    [
        (with_field("date", "2024-03-05"), "field date"),
        (with_field("Published", "5 March 2024"), "field Published"),
        (with_field("created_at", "2024-03-05T10:00:00Z"), "field created_at"),
        (with_field("date", "Tue, 5 Mar 2024 10:00:00 +0100"), "field date"),
        (with_field("birthdate", "2024-03-05"), ""),
        (with_field("update", "2024-03-05"), ""),
        (with_field("date", "soon"), ""),
        (with_path("n/2024-03-05 notes.md"), "file name"),
        (with_path("n/notes.md"), ""),
        (with_text("# Minutes\n\nDate: 5 March 2024\n\nWe met."), "first lines"),
        (with_text("We met on 5 March 2024."), ""),
        (with_text("2024\n\nA year."), ""),
    ],
)
def test_a_document_has_the_time_that_is_plainly_stated(document: Document, source: str) -> None:
    assert find_document_time(document) == (Time("2024-03-05", "2024-03-05", source) if source else None)


def test_a_field_may_state_a_year() -> None:
    assert find_document_time(with_field("date", "2024")) == Time("2024-01-01", "2024-12-31", "field date")


def test_a_setting_names_the_field_of_the_time() -> None:
    document = Document("2024-03-05.md", "", "x", {"date": "2020-01-01", "event": {"day": "2021-02-03"}})
    assert find_document_time(document, "event.day") == Time("2021-02-03", "2021-02-03", "field event.day")
    assert find_document_time(document, "other") is None
    (passage,) = Chunker(time_field="event.day").split(document)
    assert passage.time == Time("2021-02-03", "2021-02-03", "field event.day")
    assert Chunker(time_field="event.day").fingerprint != Chunker().fingerprint


def test_sentences_state_times_as_seen_from_their_document() -> None:
    text = "We met yesterday. Ana has been here since 2019. He led it from 1990 to 1998."
    written = Time("2024-03-05", "2024-03-05", "field date")
    times = find_stated_times(text, written)
    assert [(text[one.start : one.end], one.first, one.last) for one in times] == [
        ("yesterday", "2024-03-04", "2024-03-04"),
        ("since 2019", "2019-01-01", ""),
        ("from 1990 to 1998", "1990-01-01", "1998-12-31"),
    ]
    assert [one.first for one in find_stated_times(text, None)] == ["2019-01-01", "1990-01-01"]
    (passage,) = Chunker().split(Document("a", "", text, {"date": "2024-03-05"}))
    assert passage.times == times
    assert passage.time_at(0, 17) == Time("2024-03-04", "2024-03-04", "text")
    assert passage.cite(18, 47).time == Time("2019-01-01", "", "text")
    assert passage.holds_on(18, 47, "2020-01-01")
    assert not passage.holds_on(18, 47, "2018-01-01")
    assert not passage.holds_on(48, 76, "2000-01-01")


def test_each_passage_of_a_long_document_has_its_own_times() -> None:
    text = " ".join(f"In {1900 + n} the harbour was dug anew." for n in range(60))
    passages = Chunker(max_tokens=50).split(Document("a", "", text, {"date": "2024-03-05"}))
    assert len(passages) > 3
    for passage in passages:
        assert passage.time == Time("2024-03-05", "2024-03-05", "field date")
        assert passage.times
        for stated in passage.times:
            assert passage.text[stated.start : stated.end].strip("In ") == stated.first[:4]
    assert sum(len(passage.times) for passage in passages) == 60


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        (Time("2024-03-05", "2024-03-05"), "2024-03-05"),
        (Time("2024-03-01", "2024-03-31"), "2024-03"),
        (Time("2024-02-01", "2024-02-28"), "2024-02-01 to 2024-02-28"),  # of a leap year
        (Time("2024-01-01", "2024-12-31"), "2024"),
        (Time("1990-01-01", "1998-12-31"), "1990 to 1998"),
        (Time("1998-01-01"), "since 1998"),
        (Time("", "2003-12-31"), "until 2003"),
        (Time("2003-05-04", "2003-05-09"), "2003-05-04 to 2003-05-09"),
    ],
)
def test_times_are_shown_for_people(time: Time, shown: str) -> None:
    assert str(time) == shown
    assert time.is_range == (" " in shown)


def test_a_stated_time_is_a_time_of_the_text() -> None:
    assert StatedTime(3, 9, "1998-01-01", "").time == Time("1998-01-01", "", "text")
