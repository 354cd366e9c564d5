"""`clew eval` of questions on a graph: whether the answer is reached, kept and given, step by step."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.answering.feedback_log import log_feedback
from clew.answering.kg_paths import PathAnswerer
from clew.errors import InputError
from clew.evaluation.kgqa_metrics import (
    answer_coverage,
    compare_with_wilcoxon,
    hits_at_1,
    path_entity_names,
    path_recall,
)
from clew.evaluation.significance import mean_intervals
from clew.index import Index
from clew.protocols import Answerer
from clew.retrievers.frag.retriever import FragRetriever, SearchTrace
from clew.retrievers.registry import parse_retriever
from clew.types import Answer, Progress, Question, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    DoubleArray = NDArray[np.float64]

BATCH_SIZE = 64
_SEED = 0
_CHARACTERS_PER_TOKEN = 4
_FEEDBACK_SHARE = 0.25
"""Share of the questions whose answers teach the router, as published."""


def are_graph_questions(questions: Sequence[Question]) -> bool:
    """Whether these are questions on a graph: about given entities, with answers and without gold passages."""
    return bool(questions) and all(q.topics and q.answers and not q.gold for q in questions)


def evaluate_path_retrievers(
    index: Index,
    questions: Sequence[Question],
    retrievers: Sequence[str],
    progress: Progress,
    answerer: Answerer | None = None,
    feedback_log: Path | None = None,
) -> dict[str, Any]:
    """Return the figures of each retriever of paths, and comparisons of the first with each other one.

    Args:
        index: What is searched.
        questions: With topics and answers.
        retrievers: Names, each once.
        progress: Told the questions done.
        answerer: Whose answers are scored; None for the end of the best path.
        feedback_log: Gets the hops of the paths that the first quarter of the first retriever's answers name.

    Raises:
        InputError: A retriever is not known or finds no paths.
    """
    names = list(dict.fromkeys(name.strip() for name in retrievers))
    made = {name: open_path_retriever(index, name) for name in names}
    values: dict[str, dict[str, DoubleArray]] = {}
    warnings: list[str] = []
    for name, retriever in made.items():
        values[name], answers = _evaluate_retriever(index, retriever, name, questions, progress, answerer)
        if feedback_log is not None and name == names[0]:
            taught = int(len(questions) * _FEEDBACK_SHARE)
            count = log_feedback(feedback_log, questions[:taught], answers[:taught])
            warnings.append(f"{count} of {taught} answers named their path: noted in {feedback_log}")
    generator = np.random.default_rng(_SEED)
    first = values[names[0]]
    comparisons = [
        compare_with_wilcoxon((names[0], other), measure, first[measure], values[other][measure], generator)
        for other in names[1:]
        for measure in ("hits@1", f"coverage@{made[names[0]].settings.paths}")
        if measure in values[other]
    ]
    return {
        "index": index.table.location.name,
        "questions": len(questions),
        "retrievers": {name: _summarize(columns) for name, columns in values.items()},
        "ceiling": {},
        "comparisons": [asdict(comparison) for comparison in comparisons],
        "warnings": warnings + _missing_entity_warnings(index, questions),
    }


def open_path_retriever(index: Index, name: str) -> FragRetriever:
    """Return a retriever of paths by its name.

    Raises:
        InputError: It is none.
    """
    retriever = index.retriever(parse_retriever(name))
    if not isinstance(retriever, FragRetriever):
        raise InputError(f"{name} finds passages: for questions on a graph choose frag, frag-simple or frag-complex")
    return retriever


def _evaluate_retriever(
    index: Index,
    retriever: FragRetriever,
    name: str,
    questions: Sequence[Question],
    progress: Progress,
    answerer: Answerer | None,
) -> "tuple[dict[str, DoubleArray], list[Answer]]":
    snapshot = index.snapshot
    rows: list[dict[str, float]] = []
    answers: list[Answer] = []
    retriever.retrieve_about([questions[0].text], [questions[0].topics], 1)  # loading is no part of a question
    for start in range(0, len(questions), BATCH_SIZE):
        some = questions[start : start + BATCH_SIZE]
        evidence = []
        for question in some:
            began = time.perf_counter()
            found, searched = retriever.retrieve_with_trace([question.text], [question.topics], 5)[0]
            seconds = time.perf_counter() - began
            evidence.append(found)
            paths = [path.item for path in found.paths]
            gold = np.unique(np.concatenate([snapshot.entities_with_name(a) for a in question.answers]))
            rows.append(
                _step_coverage(searched, gold)
                | {
                    f"coverage@{retriever.settings.paths}": answer_coverage(
                        path_entity_names(paths, found.topics), question.answers
                    ),
                    "path_recall": path_recall(paths, question.paths),
                    "paths": float(len(paths)),
                    "path_tokens": sum(len(t.head + t.relation + t.tail) for p in paths for t in p)
                    / _CHARACTERS_PER_TOKEN,
                    "seconds": seconds,
                }
            )
        given = (answerer or PathAnswerer()).answer([q.text for q in some], evidence)
        answers += given
        for question, answer, row in zip(some, given, rows[start:], strict=False):
            row["hits@1"] = hits_at_1(answer.text, question.answers)
        progress(name, len(answers), len(questions))
    columns = {
        measure: np.array([row[measure] for row in rows], dtype=np.float64) for measure in _order_measures(rows[0])
    }
    spent = sum((answer.usage for answer in answers), Usage())
    if spent.calls:
        columns["answer_calls"] = np.array([answer.usage.calls for answer in answers], dtype=np.float64)
        tokens = [answer.usage.input_tokens + answer.usage.output_tokens for answer in answers]
        columns["answer_tokens"] = np.array(tokens, dtype=np.float64)
    return columns, answers


def _step_coverage(searched: SearchTrace, gold: "NDArray[np.integer[Any]]") -> dict[str, float]:
    """Return whether an answer is left after each step."""
    steps = {
        "covered by neighbourhood": searched.neighbourhood,
        "covered by entity ranking": searched.ranked_entities,
        "covered by relation ranking": searched.connected_entities,
        "covered by path search": searched.path_ends,
    }
    return {name: float(np.isin(gold, nodes).any()) for name, nodes in steps.items()} | {
        "complex": float(searched.is_complex)
    }


def _order_measures(row: Mapping[str, float]) -> list[str]:
    """Return the measures with the most important first."""
    first = [name for name in row if name == "hits@1" or name.startswith("coverage@")]
    return sorted(first, reverse=True) + [name for name in row if name not in first]


def _summarize(columns: "Mapping[str, DoubleArray]") -> dict[str, Any]:
    """Return the means of all measures, times, and intervals of the first two."""
    means: dict[str, Any] = {
        name: float(np.nanmean(values)) for name, values in columns.items() if not np.isnan(values).all()
    }
    seconds = columns["seconds"]
    del means["seconds"]
    named = [name for name in columns if name == "hits@1" or name.startswith("coverage@")]
    table = np.stack([columns[name] for name in named], axis=1)
    intervals = mean_intervals(table, np.random.default_rng(_SEED))
    return {
        **means,
        "seconds_p50": float(np.percentile(seconds, 50)),
        "seconds_p95": float(np.percentile(seconds, 95)),
        "intervals": dict(zip(named, intervals.tolist(), strict=True)),
    }


def _missing_entity_warnings(index: Index, questions: Sequence[Question]) -> list[str]:
    lost = [q.id for q in questions if not any(len(index.snapshot.entities_with_name(t)) for t in q.topics)]
    without = [q.id for q in questions if not any(len(index.snapshot.entities_with_name(a)) for a in q.answers)]
    told = []
    if lost:
        told.append(f"{len(lost)} questions are about nothing that the graph has, first {lost[0]!r}")
    if without:
        told.append(f"{len(without)} questions have no answer that the graph has, first {without[0]!r}; they count 0")
    return told
