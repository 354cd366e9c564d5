"""Shared by the papers' tables: sets with their indexes and questions, and tables of answers."""

from collections.abc import Sequence
from pathlib import Path

from clew import index as indexes
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, DATA, WORK, build_index

SETS = ("hotpotqa", "musique-dev", "2wiki")
"""In the order of the papers; settings are chosen on the first two alone."""


def open_set(name: str) -> indexes.Index:
    """Return the index of a set, made or updated if necessary."""
    return indexes.open(build_index(BENCHMARKS[name]))


def questions_file(name: str, limit: int | None) -> Path:
    """Return the file of a set's questions, or of the first `limit` ones."""
    path = DATA / BENCHMARKS[name].questions
    if limit is None:
        return path
    WORK.mkdir(parents=True, exist_ok=True)
    short = WORK / f"{name}-first-{limit}.jsonl"
    short.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:limit]))
    return short


def answer_rows(index: indexes.Index, questions: Path, retrievers: Sequence[str], model: str) -> list[list[str]]:
    """Return a row of exact match, F1, recall at 5, calls and tokens a question for each retriever.

    `model` (`PROVIDER:NAME`) answers; without one, sentences and names of the passages are quoted. Calls and tokens
    are those of the answers.
    """
    parsed = {name: parse_retriever(name) for name in retrievers}
    answerers = dict.fromkeys(parsed, index.answerer(model))
    report = evaluate_retrievers(index, questions, parsed, (5,), None, None, lambda *_: None, answerers).to_json()
    for warning in report["warnings"]:
        print(warning)
    rows = []
    for name, summary in report["retrievers"].items():
        shares = [f"{100 * summary[measure]:.1f}" if measure in summary else "" for measure in ("em", "f1", "recall@5")]
        costs = [f"{summary.get(cost, 0.0):,.1f}" for cost in ("answer_calls", "answer_tokens")]
        rows.append([name, *shares, *costs])
    return rows
