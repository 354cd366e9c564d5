"""`clew ask --model` and `clew eval --answer --model` end to end, with a scripted model server."""

import json
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from clew.commands.answers import StreamingAnswer
from tests.faults.commands import Outcome, run_clew, write_lines
from tests.faults.model_server import Request, RunningServer, ServerReply, model_server

QUESTION = "Where was the commander of the Vega born?"
QUOTE = "Louis Palander was born in Karlskrona in 1842."


def reply(request: Request, _: int) -> ServerReply:
    """Answer the question about Palander with one correct and one invented quote; abstain from others."""
    content = request["messages"][-1]["content"]
    if QUESTION not in content:
        return ServerReply(json.dumps({"answerable": False}), tokens=(900, 100))
    quotes = [{"passage": 1, "quote": QUOTE}, {"passage": 1, "quote": "Palander was born in Hamburg."}]
    return ServerReply(
        json.dumps({"answerable": True, "answer": "Karlskrona", "quotations": quotes}), tokens=(900, 100)
    )


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with model_server(reply) as running:
        yield running


def ask(folder: Path, server: RunningServer, question: str, *options: str) -> Outcome:
    return run_clew("ask", question, "--index", folder, "--model", "openai:test", "--base-url", server.url, *options)


def test_an_answer_with_checked_quotes(small_folder: Path, server: RunningServer) -> None:
    done = ask(small_folder, server, QUESTION, "--no-cache")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Karlskrona\n\n[1] Louis Palander (palander, characters 0-46)\n")
    assert f"“{QUOTE}”" in done.out
    assert "note: dropped a quote that is in no passage: 'Palander was born in Hamburg.'" in done.out
    assert "spent: 1 call, 900 + 100 tokens" in done.out
    (request,) = server.requests
    assert request["authorization"] == "Bearer none"
    assert request["temperature"] == 0.0


def test_the_same_as_json(small_folder: Path, server: RunningServer) -> None:
    answer = json.loads(ask(small_folder, server, QUESTION, "--no-cache", "--json").out)
    (citation,) = answer["citations"]
    assert (answer["answer"], answer["weak"]) == ("Karlskrona", False)
    assert (citation["quote"], citation["document_id"], citation["start"]) == (QUOTE, "palander", 0)
    assert answer["usage"]["input_tokens"] == 900
    assert not server.requests[0]["stream"]


def test_no_answer(small_folder: Path, server: RunningServer) -> None:
    done = ask(small_folder, server, "Who commanded the Fram?", "--no-cache")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No answer: the evidence does not hold one.\n")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--model", "nobody"), 2, "the language model is 'nobody'; wanted PROVIDER:NAME"),
        (("--model", "openai:gpt-4o-mini"), 2, "OPENAI_API_KEY is not set"),
        (("--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1"), 1, "cannot be reached"),
        (
            ("--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1", "--max-tokens", "10"),
            1,
            "the budget of 10 tokens",
        ),
        (
            ("--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1", "--max-tokens", "-1"),
            2,
            "--max-tokens is '-1'; wanted a number of at least 0",
        ),
        (
            ("--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1"),
            2,
            "no price of openai:x is known",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    small_folder: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    done = run_clew("ask", QUESTION, "--index", small_folder, "--no-cache", *options)
    assert done.code == code
    # The evidence is printed nevertheless, if a search ran.
    assert done.out.startswith("No answer: no reply of the language model can be used.\n" if code == 1 else "")
    assert ("\n1. " in done.out) == (code == 1)
    assert message in done.err
    assert message not in done.out, "it is told once"
    assert done.err.count("\n") == 1


def test_answers_are_scored_with_what_they_cost(small_folder: Path, server: RunningServer, tmp_path: Path) -> None:
    rows = [
        {"id": "1", "question": QUESTION, "gold": ["palander"], "answers": ["Karlskrona"]},
        {"id": "2", "question": "Who commanded the Fram?", "gold": ["vega"], "answers": ["nobody"]},
    ]
    questions = write_lines(tmp_path / "questions.jsonl", rows)
    options = ("--answer", "--model", "openai:test", "--base-url", server.url, "--no-cache", "--retriever", "bm25")
    done = run_clew("eval", "--index", small_folder, "--questions", questions, "--out", tmp_path / "out.json", *options)
    assert done.code == 0, done
    figures = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["retrievers"]["bm25"]
    assert (figures["em"], figures["f1"], figures["containment"], figures["abstained"]) == (0.5, 0.5, 0.5, 0.5)
    assert (figures["answer_calls"], figures["answer_tokens"], figures["answer_cost"]) == (1.0, 1000.0, 0.0)
    assert (figures["unsupported"], figures["asserted"], figures["reliability"]) == (0.0, 0.5, 1.0)
    assert len(server.requests) == 2
    assert "answer_tokens" in done.out


def test_a_streamed_answer_is_printed_once_and_a_new_one_on_its_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    out = StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    stream = StreamingAnswer()
    for text in ("Kar", "Karls", "Karls", "Karlskrona\x1b[31m"):
        stream(text)
    assert out.getvalue() == "Karlskrona\\x1b[31m"
    stream("Oslo")
    assert out.getvalue() == "Karlskrona\\x1b[31m\nOslo"
    assert stream.shown == "Oslo"
