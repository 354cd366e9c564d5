"""`clew eval --positives`: measures over all gold ids, the depth of the run, and the output without the option."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.answering.extractive import ExtractiveAnswerer
from clew.datasets.loaders import load_questions
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.evaluation.runs import Run
from clew.index import Index
from clew.types import AgentStep, Evidence, Filter, Usage, ignore_progress
from tests.faults.commands import run_clew

QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.jsonl"
ADDED = ["positives_rr", "tied_rr", "tied_hits@2", "tied_hits@10"]


def run_eval(index: str | Path, folder: Path, *options: str | Path) -> tuple[dict[str, Any], str]:
    """Return the figures and the printed text."""
    file = folder / "figures.json"
    done = run_clew("eval", "--index", index, "--questions", QUESTIONS, "--k", "2,10", "--out", file, *options)
    assert done.code == 0, done
    figures: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return figures, done.out


def mean_reciprocal_rank(run: Run) -> float:
    """Return the mean over questions of the mean over gold documents of 1 / the rank of their first passage."""
    documents = {ranking.question_id: ranking.document_ids for ranking in run.rankings}
    means = []
    for question in load_questions(QUESTIONS):
        ranked = documents[question.id]
        reciprocal_ranks = [1 / (ranked.index(gold) + 1) if gold in ranked else 0.0 for gold in question.gold]
        means.append(sum(reciprocal_ranks) / len(reciprocal_ranks))
    return sum(means) / len(means)


def test_positives_use_a_depth_of_a_hundred(polar: Index, tmp_path: Path) -> None:
    location = polar.table.location.name
    options = ("--retriever", "bm25,pagerank", "--positives", "--runs", tmp_path / "runs")
    figures, out = run_eval(location, tmp_path, *options)
    assert figures["depth"] == 100
    assert "60 questions over" in out
    assert "at most 100 passages each" in " ".join(out.split())
    runs = {run.retriever: run for run in map(Run.load, (tmp_path / "runs").iterdir())}
    for name in ("bm25", "pagerank"):
        scores = figures["retrievers"][name]
        assert [measure for measure in scores if measure in ADDED] == ADDED
        assert scores["positives_rr"] == pytest.approx(mean_reciprocal_rank(runs[name]))
        assert scores["positives_rr"] < scores["mrr"]  # the second document of a chain stands lower than the first
        assert max(len(ranking.passage_ids) for ranking in runs[name].rankings) > 10
    for measure in ADDED:
        assert f" {measure} " in out
    assert {"recall@2", "all_gold@10", "positives_rr", "tied_rr"} <= {c["measure"] for c in figures["comparisons"]}


def test_without_the_option_nothing_is_added(polar: Index, tmp_path: Path) -> None:
    figures, out = run_eval(polar.table.location.name, tmp_path, "--retriever", "bm25,pagerank")
    assert figures["depth"] == 10
    assert not set(ADDED) & set(figures["retrievers"]["bm25"])
    assert not set(ADDED) & {comparison["measure"] for comparison in figures["comparisons"]}
    assert "positives" not in out


def test_the_depth_is_limited_by_the_index(small: Index, tmp_path: Path) -> None:
    figures, _ = run_eval(small.table.location.name, tmp_path, "--retriever", "bm25", "--positives")
    assert figures["depth"] == len(small.snapshot.passage_ids) < 100


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


def test_the_answer_of_an_agent_is_searched_for_once(polar: Index) -> None:
    agent = CountingAgent(polar, calls=1)
    report = evaluate_retrievers(
        polar, QUESTIONS, {"agent": agent}, (2,), None, None, ignore_progress, {"agent": ExtractiveAnswerer()}
    )
    assert set(agent.asked.values()) == {1}
    plain = evaluate_retrievers(
        polar, QUESTIONS, {"bm25": "bm25"}, (2,), None, None, ignore_progress, {"bm25": ExtractiveAnswerer()}
    )
    measures = ("em", "f1", "abstained")
    assert [report.retrievers["agent"].costs[m] for m in measures] == [
        plain.retrievers["bm25"].costs[m] for m in measures
    ]
