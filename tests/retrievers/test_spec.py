"""What a user says of a retriever after its name."""

import pytest

from clew.errors import InputError
from clew.retrievers.spec import Options, split_names


def test_values_by_name() -> None:
    options = Options("nodes=all, ranker=paper,size=7", "gfm")
    assert (
        options.positive_or_all("nodes", 3),
        options.positive_or_all("size", 3),
        options.positive_or_all("other", 3),
    ) == (None, 7, 3)
    assert options.text("ranker", "weighted", ("weighted", "paper")) == "paper"
    assert options.text("weights", "here") == "here"
    options.check()


@pytest.mark.parametrize("text", ["nodes", "=3", "nodes=1,nodes=2", "a=1,b"])
def test_what_is_no_setting(text: str) -> None:
    with pytest.raises(InputError, match="name=value"):
        Options(text, "gfm")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", "", "٣"])
def test_what_is_no_count(value: str) -> None:
    with pytest.raises(InputError, match="at least 1, or all"):
        Options(f"nodes={value}", "gfm").positive_or_all("nodes", 1)


@pytest.mark.parametrize("value", ["0", "-1", "all", "1.5", "", "٣"])
def test_what_is_no_whole_number(value: str) -> None:
    with pytest.raises(InputError, match=f"gfm: hops is '{value}'; wanted a whole number of at least 1$"):
        Options(f"hops={value}", "gfm").integer("hops", 1)


def test_a_whole_number_may_have_a_bound() -> None:
    assert [Options(f"hops={value}", "gfm").integer("hops", 1, 127) for value in (1, 127)] == [1, 127]
    for value in ("128", "0", "all"):
        with pytest.raises(InputError, match=f"gfm: hops is '{value}'; wanted a whole number from 1 to 127$"):
            Options(f"hops={value}", "gfm").integer("hops", 1, 127)


def test_a_name_that_no_one_takes_is_told() -> None:
    options = Options("rankr=paper", "gfm")
    options.text("ranker", "")
    with pytest.raises(InputError, match="no setting 'rankr'; it has: ranker"):
        options.check()
    with pytest.raises(InputError, match="one of weighted, paper"):
        Options("ranker=best", "gfm").text("ranker", "", ("weighted", "paper"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bm25", ["bm25"]),
        ("gfm, bm25", ["gfm", "bm25"]),
        ("gfm:nodes=all,ranker=paper,bm25", ["gfm:nodes=all,ranker=paper", "bm25"]),
        ("gfm,gfm:nodes=all,pagerank", ["gfm", "gfm:nodes=all", "pagerank"]),
        ("gfm:nodes=1,gfm:nodes=2", ["gfm:nodes=1", "gfm:nodes=2"]),
    ],
)
def test_a_list_of_retrievers(text: str, names: list[str]) -> None:
    assert split_names(text) == names
