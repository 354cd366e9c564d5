"""Registries of names: what other packages add, and what they cannot take; and the examples of docs/extend.md."""

import logging
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import clew
from clew.answering.selection import ANSWERERS
from clew.errors import InputError
from clew.indexing.extraction.registry import open_extractor
from clew.plugins import registry
from clew.plugins.registry import Registry
from tests.own_parts import NAMES, run_example


def test_an_entry_point_with_a_built_in_name_is_ignored_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = [EntryPoint("plain", "their_package:PLAIN", "clew.toys"), EntryPoint("pure", "builtins:dict", "clew.toys")]
    monkeypatch.setattr(registry, "_entry_points", lambda: EntryPoints(points))
    toys = Registry("toy", "clew.toys", {"plain": "ours"}, str)
    with caplog.at_level(logging.WARNING):
        assert toys.entry("plain") == "ours"
    (record,) = caplog.records
    said = (
        "the toy plain of their_package:PLAIN is ignored, since Clew has one of that name: give the entry point another"
    )
    assert record.getMessage() == said
    assert list(toys) == ["plain", "pure"]
    with pytest.raises(InputError, match=r"the entry point pure = builtins:dict of clew.toys is a type; wanted a clew"):
        toys.entry("pure")


@pytest.mark.parametrize(
    ("name", "right"),
    [("ruels", "rules"), ("publishd:a.jsonl", "published"), ("llm", "llm:PROVIDER:NAME"), ("Rules", "rules")],
)
def test_a_misspelt_extractor_gets_the_nearest_right_name(name: str, right: str) -> None:
    choice = "choose rules, learned, auto, llm:PROVIDER:NAME or published"
    with pytest.raises(InputError, match=rf"^no extractor is called '{name}'; did you mean {right}\? {choice}$"):
        open_extractor(name)


def test_a_misspelt_reader_or_installed_answerer_gets_the_nearest_right_name(
    small: clew.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"^reader is 'Local'; did you mean local\? wanted local, or a language model"):
        small.retriever(clew.Gear(reader="Local"))
    point = EntryPoint("title", "their_package:ENTRY", ANSWERERS.group)
    monkeypatch.setitem(vars(ANSWERERS), "_plugins", {"title": point})
    with pytest.raises(InputError, match=r"no answerer and no language model is called 'titel'; did you mean title\?$"):
        small.answerer("titel")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_is_shown(name: str, tmp_path: Path) -> None:
    done = run_example(name, tmp_path)
    assert done.printed == done.shown
