"""Evaluation of path retrievers on knowledge graph questions: coverage of the answer after each step, and hits@1."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.answering.feedback_log import log_feedback
from clew.answering.kg_paths import PathAnswerer
from clew.arrays import DoubleArray
from clew.errors import InputError
from clew.evaluation.answer_metrics import containment, line_f1
from clew.evaluation.kgqa_metrics import answer_coverage, hits_at_1, path_entity_names, path_recall, wilcoxon_p
from clew.evaluation.reports import EvaluationReport, RetrieverSummary
from clew.evaluation.significance import compare_means
from clew.index import Index, RetrieverSpec
from clew.protocols import Answerer
from clew.retrievers.frag.retriever import FragRetriever, SearchTrace
from clew.types import Answer, Progress, Question

BATCH_SIZE = 64
_SEED = 0
_CHARACTERS_PER_TOKEN = 4
_FEEDBACK_SHARE = 0.25
"""Share of the questions whose answers are logged to adapt the hop predictor, as published."""


def are_graph_questions(questions: Sequence[Question]) -> bool:
    """Whether all questions have topic entities and answers but no gold passages."""
    return bool(questions) and all(q.topics and q.answers and not q.gold for q in questions)


def evaluate_path_retrievers(
    index: Index,
    questions: Sequence[Question],
    retrievers: Mapping[str, RetrieverSpec],
    progress: Progress,
    answerer: Answerer | None = None,
    feedback_log: Path | None = None,
) -> EvaluationReport:
    """Evaluate path retrievers on questions with topics and answers, and compare the first with each other one.

    The `answerer` is by default the end of the best path. The first quarter of the first retriever's answers is
    appended to `feedback_log`, if they name a path.
    """
    names = list(retrievers)
    opened = {name: open_path_retriever(index, name, spec) for name, spec in retrievers.items()}
    values: dict[str, dict[str, DoubleArray]] = {}
    warnings: list[str] = []
    for name, retriever in opened.items():
        values[name], answers = _evaluate_retriever(index, retriever, name, questions, progress, answerer)
        if feedback_log is not None and name == names[0]:
            logged = int(len(questions) * _FEEDBACK_SHARE)
            count = log_feedback(feedback_log, questions[:logged], answers[:logged])
            warnings.append(f"{count} of {logged} answers named their path: noted in {feedback_log}")
    generator = np.random.default_rng(_SEED)
    first = values[names[0]]
    comparisons = [
        compare_means((names[0], other), measure, first[measure], values[other][measure], generator, p_value=wilcoxon_p)
        for other in names[1:]
        for measure in ("hits@1", f"coverage@{opened[names[0]].settings.paths}")
        if measure in values[other]
    ]
    return EvaluationReport(
        index.table.location.name,
        len(questions),
        {name: _summarize(columns) for name, columns in values.items()},
        {},
        tuple(comparisons),
        (*warnings, *_missing_entity_warnings(index, questions)),
    )


def open_path_retriever(index: Index, name: str, spec: RetrieverSpec) -> FragRetriever:
    """Return a path retriever; raises InputError for one that finds passages."""
    retriever = index.retriever(spec)
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
) -> tuple[dict[str, DoubleArray], list[Answer]]:
    snapshot = index.snapshot
    rows: list[dict[str, float]] = []
    answers: list[Answer] = []
    retriever.retrieve_about([questions[0].text], [questions[0].topics], 1)  # warm-up: loading is not timed
    for start in range(0, len(questions), BATCH_SIZE):
        batch = questions[start : start + BATCH_SIZE]
        evidence = []
        for question in batch:
            started = time.perf_counter()
            found, trace = retriever.retrieve_with_trace([question.text], [question.topics], 5)[0]
            seconds = time.perf_counter() - started
            evidence.append(found)
            paths = [path.item for path in found.paths]
            gold = np.unique(np.concatenate([snapshot.entities_with_name(a) for a in question.answers]))
            coverage = answer_coverage(path_entity_names(paths, found.topics), question.answers)
            characters = sum(len(t.head + t.relation + t.tail) for path in paths for t in path)
            row = {
                f"coverage@{retriever.settings.paths}": coverage,
                "path_recall": path_recall(paths, question.paths),
                "paths": float(len(paths)),
                "path_tokens": characters / _CHARACTERS_PER_TOKEN,
                "seconds": seconds,
            }
            rows.append(_step_coverage(trace, gold) | row)
        batch_answers = (answerer or PathAnswerer()).answer([q.text for q in batch], evidence)
        answers += batch_answers
        for question, answer, row in zip(batch, batch_answers, rows[start:], strict=True):
            row["hits@1"] = hits_at_1(answer.text, question.answers)
            row["hit"], row["F1"] = containment(answer.text, question.answers), line_f1(answer.text, question.answers)
        progress(name, len(answers), len(questions))
    main = sorted(filter(_is_main, rows[0]), reverse=True)
    measures = [*main, *(name for name in rows[0] if name not in main)]
    columns = {measure: np.array([row[measure] for row in rows], dtype=np.float64) for measure in measures}
    if any(answer.usage.calls for answer in answers):
        columns["answer_calls"] = np.array([answer.usage.calls for answer in answers], dtype=np.float64)
        tokens = [answer.usage.input_tokens + answer.usage.output_tokens for answer in answers]
        columns["answer_tokens"] = np.array(tokens, dtype=np.float64)
    return columns, answers


def _step_coverage(trace: SearchTrace, gold: NDArray[np.integer[Any]]) -> dict[str, float]:
    """Return for each step of the search whether an answer is among its entities."""
    steps = {
        "covered by neighbourhood": trace.neighbourhood,
        "covered by entity ranking": trace.ranked_entities,
        "covered by relation ranking": trace.connected_entities,
        "covered by path search": trace.path_ends,
    }
    return {name: float(np.isin(gold, ids).any()) for name, ids in steps.items()} | {"complex": float(trace.is_complex)}


def _is_main(measure: str) -> bool:
    return measure == "hits@1" or measure.startswith("coverage@")


def _summarize(columns: Mapping[str, DoubleArray]) -> RetrieverSummary:
    """Return means of all measures, and intervals of hits@1 and coverage."""
    means = {
        name: float(np.nanmean(values))
        for name, values in columns.items()
        if name != "seconds" and not np.isnan(values).all()
    }
    main = {name: values for name, values in columns.items() if _is_main(name)}
    return RetrieverSummary.from_values(means, main, columns["seconds"], np.random.default_rng(_SEED))


def _missing_entity_warnings(index: Index, questions: Sequence[Question]) -> list[str]:
    find = index.snapshot.entities_with_name
    no_topic = [q.id for q in questions if not any(len(find(name)) for name in q.topics)]
    no_answer = [q.id for q in questions if not any(len(find(name)) for name in q.answers)]
    warnings = []
    if no_topic:
        warnings.append(f"{len(no_topic)} questions have no topic entity in the graph, first {no_topic[0]!r}")
    if no_answer:
        warnings.append(f"{len(no_answer)} questions have no answer in the graph, first {no_answer[0]!r}; they count 0")
    return warnings
