"""What `clew search` and `clew ask` print of chains of sentences, and what JSON has of them."""

import json

import pytest

from clew.commands.answers import evidence_json, print_evidence
from clew.types import Citation, Evidence, Passage, Scored, SentenceChain

CHAIN = SentenceChain(
    (
        Citation("ship.md", "ship.md#1", "Vega", 10, 40, "Vega was towed\nby a hawser."),
        Citation("rope.md", "rope.md#2", "", 0, 20, "The hawser was long."),
    ),
    ("hawser",),
)


def found(count: int) -> Evidence:
    return Evidence(chains=tuple(Scored(CHAIN, 1.0 - 0.1 * number) for number in range(count)))


def test_a_chain_is_printed_sentence_by_sentence_with_what_joins_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_evidence(found(1))
    assert capsys.readouterr().out == (
        "\nChain 1 of 1:\n"
        "  Vega: “Vega was towed by a hawser.”  (ship.md#1)\n"
        "    by hawser: rope.md: “The hawser was long.”  (rope.md#2)\n"
    )


def test_the_best_chains_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_evidence(found(7))
    assert capsys.readouterr().out.count("of 7:") == 3


def test_json_has_all_chains() -> None:
    chains = json.loads(json.dumps(evidence_json("q", "chains", found(7))))["chains"]
    assert len(chains) == 7
    assert chains[1]["score"] == pytest.approx(0.9)
    assert chains[1]["bridges"] == ["hawser"]
    assert chains[1]["sentences"][0] == {
        "document_id": "ship.md",
        "passage_id": "ship.md#1",
        "title": "Vega",
        "start": 10,
        "end": 40,
        "quote": "Vega was towed\nby a hawser.",
        "place": None,
        "time": None,
    }


RUDDER = Evidence((Scored(Passage("a#1", "a", "A", "# A\r\n\r\nThe [rudder](b.md) \x1b[31mbroke.", 0, 30), 0.5),))


def test_snippets_are_plain_where_output_is_piped(capsys: pytest.CaptureFixture[str]) -> None:
    print_evidence(RUDDER, "Which rudder?")
    assert capsys.readouterr().out == "1. A  [a#1]  0.5000\n   The rudder [31mbroke.\n"


def test_matches_are_highlighted_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_evidence(RUDDER, "Which rudder?")
    shown = capsys.readouterr().out
    assert "\x1b[1;33mrudder\x1b[0m" in shown
    assert "\x1b[31m" not in shown
    monkeypatch.setenv("NO_COLOR", "1")
    print_evidence(RUDDER, "Which rudder?")
    assert "33m" not in capsys.readouterr().out
