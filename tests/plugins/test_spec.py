"""Settings in their text form, and what a settings record refuses."""

from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from clew.errors import InputError
from clew.plugins.records import (
    Amount,
    CountOrAll,
    SettingRow,
    SettingsRecord,
    WholeNumber,
    setting,
    setting_rows,
)
from clew.plugins.registry import load_object
from clew.plugins.spec import split_list, split_settings
from clew.rerankers.registry import RERANKERS
from clew.retrievers.registry import RETRIEVERS, parse_retriever, record_of


class Example(SettingsRecord):
    """Settings of each kind."""

    label: ClassVar[str] = "example"

    nodes: CountOrAll = setting("all", "nodes of the graph", "a paper, table 2")
    hops: Annotated[int, Field(ge=1, le=127)] = setting(3, "radius")
    depth: WholeNumber = setting(10, "passages")
    gamma: Amount | None = setting(None, "penalty", unset="as the weights say")
    ranker: Literal["weighted", "paper"] = setting("weighted", "ranker")
    lengths: bool = setting(default=True, description="whether lengths count")


def parse(text: str) -> Example:
    """Return the record of a text, as the registries make it."""
    return Example(**split_settings(text, Example.label))  # type: ignore[arg-type]


def test_values_are_read_by_name() -> None:
    example = parse("nodes=12, ranker=paper,gamma=0.5,lengths=no")
    assert (example.nodes, example.ranker, example.gamma, example.lengths) == (12, "paper", 0.5, False)
    assert parse("") == Example()
    assert parse("nodes=all").nodes == "all"


@pytest.mark.parametrize("text", ["nodes", "=3", "nodes=1,nodes=2", "depth=1,b"])
def test_text_that_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="name=value"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((f"nodes={bad}", "nodes is '.*'; wanted a whole number of at least 1, or all$") for bad in ("0", "x", "")),
        *((f"depth={bad}", "depth is '.*'; wanted a whole number of at least 1$") for bad in ("-1", "all", "1.5")),
        *((f"hops={value}", "hops is '.*'; wanted a whole number from 1 to 127$") for value in ("0", "128", "all")),
        *((f"gamma={value}", "gamma is '.*'; wanted a number of at least 0$") for value in ("-1", "x", "inf", "nan")),
        ("ranker=best", "ranker is 'best'; wanted one of weighted, paper$"),
        ("lengths=perhaps", "lengths is 'perhaps'; wanted yes or no$"),
        ("rankr=paper", "example has no setting 'rankr'; did you mean ranker\\?$"),
        ("colour=red", "example has no setting 'colour'; it has: nodes, hops, depth, gamma, ranker, lengths$"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


def test_a_record_from_python_is_checked_and_frozen() -> None:
    with pytest.raises(InputError, match="depth is 0; wanted a whole number of at least 1"):
        Example(depth=0)
    with pytest.raises(ValueError, match="frozen"):
        Example().depth = 3
    assert hash(Example(depth=3)) == hash(Example(depth=3))


def test_the_table_of_settings_has_values_defaults_and_sources() -> None:
    first, _, _, gamma, _, last = setting_rows(Example)
    assert (gamma.default, gamma.source) == ("as the weights say", "ours")
    assert first == SettingRow(
        "nodes", "a whole number of at least 1, or all", "all", "nodes of the graph", "a paper, table 2"
    )
    assert (last.wanted, last.default, last.source) == ("yes or no", "yes", "ours")


@pytest.mark.parametrize("name", [*RETRIEVERS, *RERANKERS])
def test_every_setting_prints_a_default_and_a_source(name: str) -> None:
    record = record_of(name) if name in RETRIEVERS else load_object(RERANKERS.entry(name).record)
    assert all(row.default and row.source for row in setting_rows(record))


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
def test_a_list_of_retrievers_is_split_at_the_commas_between_them(text: str, names: list[str]) -> None:
    assert split_list(text) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gfm:rerank_dept=3,rerank=g-rag", "gfm has no setting 'rerank_dept'; did you mean rerank_depth"),
        ("fused:rerank=grag", "no reranker is called 'grag'; did you mean g-rag"),
        ("frag-simple:complexity=complex", "frag-simple fixes complexity: leave it out"),
        ("gfmm", "no retriever is called 'gfmm'; did you mean gfm"),
        ("nope", "no retriever is called 'nope'; choose one of "),
    ],
)
def test_misspelt_names_are_refused_with_the_nearest_right_one(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_retriever(text)
