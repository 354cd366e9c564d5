"""`clew extract`: what is found in a file, marked in its text, and as JSON."""

import json
from pathlib import Path

import pytest

from clew.types import Mention
from clew_lab.commands.extract import mark_mentions
from tests.faults.commands import run_clew
from tests.faults.model_server import model_server
from tests.indexing.extraction.scripted_model import answer_request

TEXT = "The Fram was built by Colin Archer in 1892."


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    path = tmp_path / "ship.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_names_are_marked_in_the_text_and_facts_follow(ship: Path) -> None:
    done = run_clew("extract", ship, "--extractor", "rules")
    assert done.code == 0
    assert "The [Fram] was built by [Colin Archer] in [1892: date]." in done.out
    assert "  Fram | was built by | Colin Archer\n" in done.out


def test_json_has_offsets_of_the_text(ship: Path) -> None:
    done = run_clew("extract", ship, "--extractor", "rules", "--json")
    (passage,) = json.loads(done.out)
    assert passage["text"] == TEXT
    assert [TEXT[m["start"] : m["end"]] for m in passage["mentions"]] == ["Fram", "Colin Archer", "1892"]
    assert [m["kind"] for m in passage["mentions"]] == ["name", "name", "date"]
    assert ["Fram", "was built by", "Colin Archer"] in passage["triples"]


def test_a_language_model_is_asked_and_its_cost_told(ship: Path) -> None:
    ship.write_text("Ada met Boris and Carl.", encoding="utf-8")
    with model_server(answer_request) as server:
        done = run_clew("extract", ship, "--extractor", "llm:openai:test", "--base-url", server.url)
    assert done.code == 0, done.err
    assert "[Ada] met [Boris] and [Carl]." in done.out
    assert "  Ada | knows | Boris\n" in done.out
    assert "spent: 2 calls" in done.out
    assert not (ship.parent / "calls.sqlite").exists()


@pytest.mark.parametrize("extractor", ["learned", "auto"])
def test_names_without_capitals(ship: Path, extractor: str) -> None:
    ship.write_text(TEXT.lower(), encoding="utf-8")
    done = run_clew("extract", ship, "--extractor", extractor)
    assert done.code == 0
    assert "[colin archer]" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.txt",), "nowhere.txt"),
        (("SHIP", "--extractor", "rulez"), "did you mean rules?"),
        (("SHIP", "--extractor", "learned:nowhere"), "nowhere has no config.json; give a folder"),
        (("EMPTY",), "holds no text"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(ship: Path, arguments: tuple[str, ...], message: str) -> None:
    empty = ship.parent / "empty.txt"
    empty.write_text(" \n", encoding="utf-8")
    paths = {"SHIP": str(ship), "EMPTY": str(empty)}
    done = run_clew("extract", *(paths.get(word, word) for word in arguments))
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_mentions_inside_others_and_without_a_place_are_left_out() -> None:
    text = "New York City and Oslo"
    mentions = (Mention("Oslo", "name", 18, 22), Mention("York", "name", 4, 8), Mention("New York City", "name", 0, 13))
    assert mark_mentions(text, (*mentions, Mention("Bergen"))) == "[New York City] and [Oslo]"
