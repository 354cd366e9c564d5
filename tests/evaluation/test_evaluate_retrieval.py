"""`clew eval`: its depth, and its answers."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.answering.extractive import ExtractiveAnswerer
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.index import Index
from clew.types import AgentStep, Evidence, Filter, Usage, ignore_progress
from tests.faults.commands import run_clew

QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.jsonl"


def run_eval(index: str | Path, folder: Path, *options: str | Path) -> tuple[dict[str, Any], str]:
    """Return the figures and the printed text."""
    file = folder / "figures.json"
    done = run_clew("eval", "--index", index, "--questions", QUESTIONS, "--k", "2,10", "--out", file, *options)
    assert done.code == 0, done
    figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return figures, done.out


def test_ten_passages_are_ranked(polar: Index, tmp_path: Path) -> None:
    figures, out = run_eval(polar.table.location.name, tmp_path, "--retriever", "bm25,pagerank")
    assert figures["depth"] == 10
    assert "recall@10" in out


def test_a_missing_package_of_measures_is_told_before_any_search(polar: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    monkeypatch.setattr("clew.evaluation.evaluate_retrieval.execute", pytest.fail)
    done = run_clew("eval", "--index", polar.table.location.name, "--questions", QUESTIONS, "--retriever", "bm25")
    assert done.code == 2
    assert "pip install 'clew[eval]'" in done.err


class CountingAgent:
    """An agent that searches by words, and counts how often each question is searched for."""

    def __init__(self, index: Index, calls: int) -> None:
        self.asked: Counter[str] = Counter()
        self._words = index.retriever("bm25")
        self._calls = calls

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        self.asked.update(questions)
        step = AgentStep("q", verdict="enough")
        found = self._words.retrieve(questions, k, where)
        return [replace(evidence, steps=(step,), usage=Usage(calls=self._calls)) for evidence in found]


def test_the_answer_of_an_agent_is_searched_for_once(polar: Index, tmp_path: Path) -> None:
    few = tmp_path / "questions.jsonl"
    few.write_text("".join(QUESTIONS.read_text(encoding="utf-8").splitlines(keepends=True)[:9]), encoding="utf-8")
    agent = CountingAgent(polar, calls=1)
    report = evaluate_retrievers(
        polar, few, {"agent": agent}, (2,), None, None, ignore_progress, {"agent": ExtractiveAnswerer()}
    )
    assert set(agent.asked.values()) == {1}
    plain = evaluate_retrievers(
        polar, few, {"bm25": "bm25"}, (2,), None, None, ignore_progress, {"bm25": ExtractiveAnswerer()}
    )
    measures = ("em", "f1", "abstained")
    assert [report.retrievers["agent"].costs[m] for m in measures] == [
        plain.retrievers["bm25"].costs[m] for m in measures
    ]
