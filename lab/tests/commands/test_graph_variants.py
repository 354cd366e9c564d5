"""Variants of FRAG by the command line: adaptation (FRAG-F), the language model alone, replies in plain text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.commands import run_clew
from tests.faults.model_server import Request, ServerReply, model_server
from tests.kinship import QUESTIONS


def write_many(folder: Path, copies: int = 4) -> Path:
    """Write the questions several times, with numbers of hops that are wrong: they must not be read."""
    path = folder / "many.jsonl"
    records = [
        {"id": f"q{copy}-{i}", "question": text, "topic": list(topics), "answers": list(answers), "hops": 1}
        for copy in range(copies)
        for i, (text, topics, answers, _) in enumerate(QUESTIONS)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def figures(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def reply_with(write: Callable[[str, list[str], tuple[str, ...]], str]) -> Callable[[Request, int], ServerReply]:
    """Return a script that writes a reply from the content, its lines of paths, and the answers to its question."""

    def script(request: Request, _before: int) -> ServerReply:
        content = request["messages"][-1]["content"]
        lines = [line for line in content.splitlines() if line[:1].isdigit()]
        answers = next((answers for text, _, answers, _ in QUESTIONS if text in content), ())
        return ServerReply(write(str(request["messages"]), lines, answers))

    return script


def write_json(_instructions: str, lines: list[str], answers: tuple[str, ...]) -> str:
    number = next((line.split(".")[0] for line in lines if line.endswith(answers[0])), "0")
    return json.dumps({"answerable": True, "answers": list(answers), "path": int(number)})


def write_text(instructions: str, lines: list[str], answers: tuple[str, ...]) -> str:
    if "Copy the one path" in instructions:
        return next((line.split(". ", 1)[1] for line in lines if line.endswith(answers[0])), "NO")
    return f"- {answers[0]}\n- and not Atlantis"


@pytest.mark.slow
def test_the_first_quarter_adapts_frag_and_the_rest_is_measured_both_ways(family: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    options = ("--retriever", "frag,frag-simple", "--adapt", "answers", "--out", out)
    done = run_clew("eval-graph", "--index", family, "--questions", write_many(tmp_path), *options)
    assert done.code == 0, done
    report = figures(out)
    assert report["questions"] == 18
    assert list(report["retrievers"]) == ["frag", "frag adapted", "frag-simple"]
    assert "frag adapted: learned from 6 of the first 6 questions, by answers" in done.err
    assert {(c["a"], c["b"]) for c in report["comparisons"]} == {("frag", "frag adapted"), ("frag", "frag-simple")}
    assert all(isinstance(c["statistic"], float) for c in report["comparisons"])
    assert "Wilcoxon's W = " in done.out


@pytest.mark.slow
def test_a_model_s_paths_adapt_frag(family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_API_KEY", "none")
    out = tmp_path / "figures.json"
    with model_server(reply_with(write_json)) as server:
        options = ("--adapt", "model", "--answer", "--model", "openai:tiny", "--base-url", server.url, "--no-cache")
        questions = write_many(tmp_path)
        done = run_clew("eval-graph", "--index", family, "--questions", questions, *options, "--out", out)
    assert done.code == 0, done
    assert "frag adapted: learned from 6 of the first 6 questions, by model" in done.err
    assert figures(out)["retrievers"]["frag adapted"]["hits@1"] == 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--adapt", "model"), "--adapt model learns from the paths that a language model names"),
        (("--adapt", "answers", "--retriever", "frag-simple"), "none of these asks a hop predictor"),
        (("--adapt", "answers", "--retriever", "frag:router=tf-idf"), "the kind tf-idf cannot be adapted"),
        (("--retriever", "none"), "the retriever none finds nothing to evaluate but answers"),
        (("--retriever", "none", "--answer"), "give a language model"),
        (("--prompts", "text", "--answer"), "give a --model, and frag or none"),
    ],
)
def test_options_of_no_use_are_refused(family: Path, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = run_clew("eval-graph", "--index", family, "--questions", write_many(tmp_path), *options)
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_a_quarter_of_three_questions_is_none(family: Path, tmp_path: Path) -> None:
    file = tmp_path / "three.jsonl"
    file.write_text("".join(write_many(tmp_path).read_text().splitlines(keepends=True)[:3]), encoding="utf-8")
    done = run_clew("eval-graph", "--index", family, "--questions", file, "--adapt", "answers")
    assert done.code == 2
    assert "the first quarter of 3 questions: give at least 4" in done.err


def test_the_model_alone_beside_frag(family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_API_KEY", "none")
    out = tmp_path / "figures.json"

    def script(request: Request, _before: int) -> ServerReply:
        content = request["messages"][-1]["content"]
        if "<paths>" in content:
            return reply_with(write_json)(request, _before)
        return ServerReply(json.dumps({"answers": ["Vardø"]}))

    with model_server(script) as server:
        model = ("--model", "openai:tiny", "--base-url", server.url, "--no-cache")
        options = ("--retriever", "frag,none", "--answer", *model, "--out", out)
        done = run_clew("eval-graph", "--index", family, "--questions", write_many(tmp_path, 1), *options)
        asked = run_clew("ask", "where is it?", "--index", family, "--retriever", "none", *model)
    assert done.code == 0, done
    rows = figures(out)["retrievers"]
    assert rows["frag"]["hits@1"] == 1.0
    assert rows["none"]["hits@1"] == pytest.approx(1 / 6)
    assert (rows["none"]["coverage"], rows["none"]["paths"], rows["none"]["answer_calls"]) == (0.0, 0.0, 1.0)
    assert asked.code == 0, asked
    assert asked.out.startswith("Vardø\n")
    assert "no evidence was retrieved" in asked.out


def test_replies_in_plain_text(family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_API_KEY", "none")
    out, log = tmp_path / "figures.json", tmp_path / "log.jsonl"
    with model_server(reply_with(write_text)) as server:
        model = ("--prompts", "text", "--model", "openai:tiny", "--base-url", server.url, "--no-cache")
        options = ("--answer", *model, "--out", out)
        done = run_clew("eval-graph", "--index", family, "--questions", write_many(tmp_path, 1), *options)
        asked = run_clew("ask", QUESTIONS[4][0], "--index", family, "--feedback", log, *model)
    assert done.code == 0, done
    row = figures(out)["retrievers"]["frag"]
    assert (row["hits@1"], row["hit"], row["answer_calls"]) == (1.0, 1.0, 2.0)
    assert row["F1"] == pytest.approx(2 / 3)  # the second line is wrong
    assert asked.code == 0, asked
    assert asked.out.startswith("- Tromsø\n- and not Atlantis\n")
    assert json.loads(log.read_text(encoding="utf-8"))["hops"] == 3
