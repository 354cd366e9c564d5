from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew import Document, Index, InputError, TimeLimits

DOCUMENTS = [
    Document("old", "Halden", "Halden Ltd is based in Oslo.", {"date": "2020-05-02"}),
    Document("new", "Halden", "Halden Ltd is based in Bergen.", {"date": "2023-06"}),
    Document("none", "Halden", "Halden Ltd makes pumps. Erik Dahl led Halden Ltd from 2012 to 2019."),
]


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder: Path = tmp_path_factory.mktemp("dated")
    with clew.create(folder / "index") as index:
        index.add(DOCUMENTS)
        yield index


@pytest.mark.parametrize("retriever", ["auto", "bm25", "dense", "pagerank", "chains", "hybrid", "fused"])
@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (TimeLimits(), {"old", "new", "none"}),
        (TimeLimits(as_of="2021"), {"old", "none"}),
        (TimeLimits(as_of="2020-05-01"), {"none"}),
        (TimeLimits(as_of="2023-06-15"), {"old", "new", "none"}),  # a month that has begun
        (TimeLimits(since="2021"), {"new"}),
        (TimeLimits(until="2022"), {"old"}),
        (TimeLimits(since="2020-05-02", until="2020-05-02"), {"old"}),
        (TimeLimits(as_of="2021", since="2019"), {"old"}),
    ],
)
def test_passages_out_of_the_limits_are_not_seen(
    dated: Index, retriever: str, times: TimeLimits, expected: set[str]
) -> None:
    evidence = dated.search("Where is Halden Ltd based?", 5, retriever, times=times)
    assert {scored.item.id for scored in evidence} == expected
    assert all(id_ in expected for path in evidence.paths for triple in path.item for id_ in triple.passages)


def test_limits_join_a_filter(dated: Index) -> None:
    evidence = dated.search("Halden", 5, "bm25", "id = 'new' OR id = 'old'", times=TimeLimits(as_of="2021"))
    assert [scored.item.id for scored in evidence] == ["old"]
    assert evidence.as_of == "2021-12-31"
    assert not evidence.notes
    undated = dated.search("Halden", 5, "bm25", times=TimeLimits(as_of="2021"))
    assert undated.notes == ("as of 2021-12-31: 1 of the passages found state no time, and are seen as of any day",)


def test_a_field_of_the_time_is_a_field_of_filters(dated: Index) -> None:
    found = dated.search("Halden", 5, "bm25", "dated_from <= '2021-01-01'")
    assert [scored.item.id for scored in found] == ["old"]
    found = dated.search("Halden", 5, "bm25", "dated_to IS NULL")
    assert [scored.item.id for scored in found] == ["none"]


@pytest.mark.parametrize(
    "times", [TimeLimits(as_of="yesterdy"), TimeLimits(since="13"), TimeLimits(until="2021-02-30")]
)
def test_what_is_no_date_is_refused(dated: Index, times: TimeLimits) -> None:
    with pytest.raises(InputError, match="which is no date: give a day such as 2024-03-05"):
        dated.search("Halden", times=times)


def test_limits_in_no_order_are_refused(dated: Index) -> None:
    with pytest.raises(InputError, match=r"from '2022' is after to '2021': give the earlier one first"):
        dated.search("Halden", times=TimeLimits(since="2022", until="2021"))


def test_no_chain_and_no_answer_says_what_held_at_another_time(tmp_path: Path) -> None:
    lines = (
        "Erik Dahl was chief executive of Halden Ltd from 2012 to 2019.",
        "Maria Olsen has been chief executive of Halden Ltd since 2019.",
    )
    with clew.create(tmp_path / "index") as index:
        index.add(Document(str(n), "", line) for n, line in enumerate(lines))
        index.add([Document("h", "Halden Ltd", "Halden Ltd is based in Oslo.")])
        question = "Where is the firm of the chief executive based?"
        for as_of, seen in (("", {"Erik", "Maria"}), ("2015", {"Erik"}), ("2021", {"Maria"})):
            found = index.search(question, 3, "chains", times=TimeLimits(as_of))
            said = " ".join(quote.quote for chain in found.chains for quote in chain.item.sentences)
            assert {name for name in ("Erik", "Maria") if name in said} == seen
            answer = index.ask("Who is chief executive of Halden Ltd?", times=TimeLimits(as_of))
            assert {name for name in ("Erik", "Maria") if name in answer.headline} == seen
