import time as clock
from collections.abc import Iterator

import pytest

import clew
from clew import Document, Index, TimeLimits
from clew.answering.time_choice import FIRST, FORMER, LAST, WantedTime, read_wanted_time

DAY = "2023-06-14"
DOCUMENTS = [
    Document("a", "Halden Ltd", "Halden Ltd is based in Drammen.", {"date": "2018-03-01"}),
    Document("b", "Halden Ltd", "Halden Ltd is based in Oslo.", {"date": "2020-05-02"}),
    Document("c", "Halden Ltd", "Halden Ltd is now based in Bergen. It opened a yard there last week.", {"date": DAY}),
]


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with clew.create(tmp_path_factory.mktemp("dated") / "index") as index:
        index.add(DOCUMENTS)
        yield index


@pytest.mark.parametrize(
    ("question", "as_of", "answer", "others"),
    [
        ("Where is Halden Ltd based?", "", "Bergen", "Oslo until 2023-06-14; Drammen until 2020-05-02"),
        ("Where is Halden Ltd based?", "2021", "Oslo", "Drammen until 2020-05-02"),
        ("Where is Halden Ltd based?", "2019", "Drammen", ""),
        ("Where is Halden Ltd based as of June 2021?", "", "Oslo", "Drammen until 2020-05-02"),
        ("Where was Halden Ltd based before?", "", "Oslo", "Bergen since 2023-06-14; Drammen until 2020-05-02"),
        ("Where was Halden Ltd based previously?", "", "Oslo", "Bergen since 2023-06-14; Drammen until 2020-05-02"),
        ("Where was Halden Ltd based originally?", "", "Drammen", "Bergen since 2023-06-14; Oslo since 2020-05-02"),
    ],
)
def test_the_time_of_sentences_decides_among_answers(
    dated: Index, question: str, as_of: str, answer: str, others: str
) -> None:
    found = dated.ask(question, times=TimeLimits(as_of=as_of))
    assert found.text == answer
    assert "; ".join(f"{one.text} {one.kind} {one.day}" for one in found.others) == others
    assert all(one.text in one.citation.quote for one in found.others)
    assert found.citations[0].quote.count(answer) == 1


def test_relative_words_are_answered_with_the_day(dated: Index) -> None:
    found = dated.ask("When did Halden Ltd open a yard in Bergen?")
    assert found.text == "2023-06-05 to 2023-06-11 (last week)"
    assert "last week" in found.citations[0].quote


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Who leads the firm?", WantedTime(LAST, "2025-01-01")),
        ("Who led the firm in 1998?", WantedTime(LAST, "1998-12-31")),
        ("Where did she use to live before this flat?", WantedTime(FORMER, "2025-01-01")),
        ("Where was the firm originally?", WantedTime(FIRST, "2025-01-01")),
        ("Who founded the firm?", None),
        ("Where did she go on holiday?", None),
    ],
)
def test_a_question_says_which_of_several_answers_it_wants(question: str, wanted: WantedTime | None) -> None:
    assert read_wanted_time(question, "2025-01-01") == wanted


def test_a_long_question_takes_no_quadratic_time() -> None:
    started = clock.process_time()
    read_wanted_time("from 1990 to " * 1500, "")  # 30 s, when all before each time was looked at
    assert clock.process_time() - started < 5
