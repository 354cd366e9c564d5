"""`clew eval` of questions on a graph: whether the answer is reached, kept and given, step by step."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.answering.feedback_log import note_feedback
from clew.answering.kg_paths import PathAnswerer
from clew.errors import InputError
from clew.evaluation.kgqa_metrics import compare_by_ranks, covered, hit, names_on, path_recall
from clew.evaluation.significance import mean_intervals
from clew.index import Index
from clew.indexing.snapshot_builder import Progress
from clew.protocols import Answerer
from clew.retrievers.frag.retriever import FragRetriever, Searched
from clew.types import Answer, Question, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    DoubleArray = NDArray[np.float64]

TOGETHER = 64
_SEED = 0
_CHARACTERS_A_TOKEN = 4
_FEEDBACK_SHARE = 0.25
"""Share of the questions whose answers teach the router, as published."""


def on_graphs(questions: Sequence[Question]) -> bool:
    """Whether these are questions on a graph: about given entities, with answers and without gold passages."""
    return bool(questions) and all(q.topics and q.answers and not q.gold for q in questions)


def measure_graph(
    index: Index,
    questions: Sequence[Question],
    retrievers: Sequence[str],
    progress: Progress,
    answerer: Answerer | None = None,
    feedback: Path | None = None,
) -> dict[str, Any]:
    """Return the figures of each retriever of paths, and comparisons of the first with each other one.

    Args:
        index: What is searched.
        questions: With topics and answers.
        retrievers: Names, each once.
        progress: Told the questions done.
        answerer: Whose answers are scored; None for the end of the best path.
        feedback: Gets the hops of the paths that the first quarter of the first retriever's answers name.

    Raises:
        InputError: A retriever is not known or finds no paths.
    """
    names = list(dict.fromkeys(name.strip() for name in retrievers))
    made = {name: paths_of(index, name) for name in names}
    values: dict[str, dict[str, DoubleArray]] = {}
    warnings: list[str] = []
    for name, retriever in made.items():
        values[name], answers = _measured(index, retriever, name, questions, progress, answerer)
        if feedback is not None and name == names[0]:
            taught = int(len(questions) * _FEEDBACK_SHARE)
            count = note_feedback(feedback, questions[:taught], answers[:taught])
            warnings.append(f"{count} of {taught} answers named their path: noted in {feedback}")
    generator = np.random.default_rng(_SEED)
    first = values[names[0]]
    comparisons = [
        compare_by_ranks((names[0], other), measure, first[measure], values[other][measure], generator)
        for other in names[1:]
        for measure in ("hits@1", f"coverage@{made[names[0]].settings.paths}")
        if measure in values[other]
    ]
    return {
        "index": index.table.location.name,
        "questions": len(questions),
        "retrievers": {name: _summary(columns) for name, columns in values.items()},
        "ceiling": {},
        "comparisons": [asdict(comparison) for comparison in comparisons],
        "warnings": warnings + _unknown(index, questions),
    }


def paths_of(index: Index, name: str) -> FragRetriever:
    """Return a retriever of paths by its name.

    Raises:
        InputError: It is none.
    """
    retriever = index.retriever(name)
    if not isinstance(retriever, FragRetriever):
        raise InputError(f"{name} finds passages: for questions on a graph choose frag, frag-simple or frag-complex")
    return retriever


def _measured(
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
    for start in range(0, len(questions), TOGETHER):
        some = questions[start : start + TOGETHER]
        evidence = []
        for question in some:
            began = time.perf_counter()
            found, searched = retriever.searched_about([question.text], [question.topics], 5)[0]
            seconds = time.perf_counter() - began
            evidence.append(found)
            paths = [path.item for path in found.paths]
            gold = np.unique(np.concatenate([snapshot.entities_called(a) for a in question.answers]))
            rows.append(
                _steps(searched, gold)
                | {
                    f"coverage@{retriever.settings.paths}": covered(names_on(paths, found.topics), question.answers),
                    "path_recall": path_recall(paths, question.paths),
                    "paths": float(len(paths)),
                    "path_tokens": sum(len(t.head + t.relation + t.tail) for p in paths for t in p)
                    / _CHARACTERS_A_TOKEN,
                    "seconds": seconds,
                }
            )
        given = (answerer or PathAnswerer()).answers([q.text for q in some], evidence)
        answers += given
        for question, answer, row in zip(some, given, rows[start:], strict=False):
            row["hits@1"] = hit(answer.text, question.answers)
        progress(name, len(answers), len(questions))
    columns = {measure: np.array([row[measure] for row in rows], dtype=np.float64) for measure in _measures(rows[0])}
    spent = sum((answer.usage for answer in answers), Usage())
    if spent.calls:
        columns["answer_calls"] = np.array([answer.usage.calls for answer in answers], dtype=np.float64)
        tokens = [answer.usage.input_tokens + answer.usage.output_tokens for answer in answers]
        columns["answer_tokens"] = np.array(tokens, dtype=np.float64)
    return columns, answers


def _steps(searched: Searched, gold: "NDArray[np.integer[Any]]") -> dict[str, float]:
    """Return whether an answer is left after each step."""
    steps = {
        "covered by neighbourhood": searched.neighbourhood,
        "covered by entity ranking": searched.ranked,
        "covered by relation ranking": searched.joined,
        "covered by path search": searched.ended,
    }
    return {name: float(np.isin(gold, nodes).any()) for name, nodes in steps.items()} | {
        "complex": float(searched.complex)
    }


def _measures(row: Mapping[str, float]) -> list[str]:
    """Return the measures with the most important first."""
    first = [name for name in row if name == "hits@1" or name.startswith("coverage@")]
    return sorted(first, reverse=True) + [name for name in row if name not in first]


def _summary(columns: "Mapping[str, DoubleArray]") -> dict[str, Any]:
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


def _unknown(index: Index, questions: Sequence[Question]) -> list[str]:
    lost = [q.id for q in questions if not any(len(index.snapshot.entities_called(t)) for t in q.topics)]
    without = [q.id for q in questions if not any(len(index.snapshot.entities_called(a)) for a in q.answers)]
    told = []
    if lost:
        told.append(f"{len(lost)} questions are about nothing that the graph has, first {lost[0]!r}")
    if without:
        told.append(f"{len(without)} questions have no answer that the graph has, first {without[0]!r}; they count 0")
    return told
