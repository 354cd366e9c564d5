"""Evaluation of path retrievers on knowledge graph questions: coverage of the answer after each step, and hits@1."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.answering.feedback_log import log_feedback
from clew.answering.kg_paths import PathAnswerer, full_reply
from clew.arrays import DoubleArray
from clew.errors import InputError
from clew.evaluation.scoring import EvaluationReport, RetrieverSummary
from clew.evaluation.significance import Comparison, compare_means
from clew.index import Index, RetrieverSpec
from clew.protocols import Answerer
from clew.retrievers.frag.retriever import FragRetriever, SearchTrace
from clew.retrievers.object_retriever import GivenRetriever
from clew.retrievers.registry import names_that_find_paths
from clew.retrievers.supporting_passages import PathRetriever
from clew.text.display import format_count
from clew.text.normalization import is_identifier
from clew.types import Answer, Evidence, Progress, Question
from clew_lab.evaluation.adaptation import (
    FEEDBACK_SHARE,
    FROM_MODEL,
    adapt,
    can_adapt,
    hops_of_named_paths,
    hops_to_gold,
    split_for_adaptation,
)
from clew_lab.evaluation.kgqa_metrics import (
    CHARACTERS_PER_TOKEN,
    answer_coverage,
    first_triples,
    gold_paths_in,
    hits_at_1,
    path_entity_names,
    path_recall,
    triples_cover_answer,
    wilcoxon,
)
from clew_lab.evaluation.published_accuracy import published_accuracy, published_f1

BATCH_SIZE = 64
_SEED = 0
COMPARED_TRIPLES = 20
"""Distinct triples of the best paths, of which every retriever has as many: nine paths of `tog` have 27 at most."""
ANSWER_IN_TRIPLES = f"answer in {COMPARED_TRIPLES} triples"
GOLD_PATHS_IN_TRIPLES = f"gold paths in {COMPARED_TRIPLES} triples"


def are_graph_questions(questions: Sequence[Question]) -> bool:
    """Whether some question has topic entities and answers, and none has gold passages."""
    return any(map(_is_graph_question, questions)) and not any(question.gold for question in questions)


def _is_graph_question(question: Question) -> bool:
    return bool(question.topics and question.answers)


def evaluate_path_retrievers(
    index: Index,
    questions: Sequence[Question],
    retrievers: Mapping[str, RetrieverSpec],
    progress: Progress,
    answerers: Mapping[str, Answerer] = MappingProxyType({}),
    feedback_log: Path | None = None,
    adapt_from: str = "",
) -> EvaluationReport:
    """Evaluate path retrievers on questions with topics and answers, and compare the first with each other one.

    The answerer of a retriever without one in `answerers` gives the end of the best path. The first quarter of the
    first retriever's answers is appended to `feedback_log`, if they name a path. With `adapt_from`, one of `SOURCES`,
    the first quarter of the questions adapts hop predictors, and the rest is measured with and without adaptation.
    Questions without a topic or an answer are left out, and a warning counts them.
    """
    names = list(retrievers)
    warnings, notes = _incomplete_warnings(questions), list[str]()
    questions = [label_answers(index, question) for question in questions if _is_graph_question(question)]
    opened = {name: open_path_retriever(index, name, spec) for name, spec in retrievers.items()}
    if adapt_from:
        adapting, questions = split_for_adaptation(questions)
        opened, answerers = _adapt_all(index, opened, adapting, progress, answerers, adapt_from, notes)
    values: dict[str, dict[str, DoubleArray]] = {}
    for name, retriever in opened.items():
        values[name], answers = _evaluate_retriever(index, retriever, name, questions, progress, answerers.get(name))
        warnings += _failure_warnings(name, answers)
        if feedback_log is not None and name == names[0]:
            logged = int(len(questions) * FEEDBACK_SHARE)
            count = log_feedback(feedback_log, questions[:logged], answers[:logged])
            notes.append(f"{count} of {logged} answers named their path: stored in {feedback_log}")
    return EvaluationReport(
        index.table.location.name,
        len(questions),
        {name: _summarize(columns) for name, columns in values.items()},
        {},
        _compare_with_first(values),
        (*warnings, *_missing_entity_warnings(index, questions)),
        notes=tuple(notes),
    )


def open_path_retriever(index: Index, name: str, spec: RetrieverSpec) -> PathRetriever[Any]:
    """Return a path retriever; raises InputError for one that finds passages."""
    retriever = index.retriever(spec)
    if isinstance(retriever, GivenRetriever):
        retriever = retriever.retriever  # the steps of its search are not part of the seam
    if not isinstance(retriever, PathRetriever):
        able = ", ".join(names_that_find_paths())
        raise InputError(f"{name} finds passages: for questions on a graph choose one of {able}")
    return retriever


def label_answers(index: Index, question: Question) -> Question:
    """Return a question whose answers, where they are identifiers of entities of the graph, are their labels."""
    labels: list[str] = []
    for answer in question.answers:
        found = index.snapshot.entities_with_name(answer) if is_identifier(answer) else ()
        labels += [index.snapshot.entities[int(entity)] for entity in found] or [answer]
    return replace(question, answers=tuple(dict.fromkeys(labels)))


def _adapt_all(
    index: Index,
    opened: Mapping[str, PathRetriever[Any]],
    questions: Sequence[Question],
    progress: Progress,
    answerers: Mapping[str, Answerer],
    source: str,
    notes: list[str],
) -> tuple[dict[str, PathRetriever[Any]], dict[str, Answerer]]:
    """Return the retrievers, and after each that can be adapted the adapted one, and their answerers."""
    arms: dict[str, PathRetriever[Any]] = {}
    own_answerers: dict[str, Answerer] = dict(answerers)
    for name, retriever in opened.items():
        arms[name] = retriever
        if not (isinstance(retriever, FragRetriever) and can_adapt(retriever)):
            continue
        if source == FROM_MODEL:
            _, answers = _evaluate_retriever(index, retriever, name, questions, progress, answerers.get(name))
            examples = hops_of_named_paths(questions, answers)
        else:
            examples = hops_to_gold(index, questions, progress)
        adapted = f"{name} adapted"
        arms[adapted] = adapt(name, retriever, examples)
        if name in answerers:
            own_answerers[adapted] = answerers[name]
        notes.append(f"{adapted}: learned from {len(examples)} of the first {len(questions)} questions, by {source}")
    if len(arms) == len(opened):
        raise InputError(f"--adapt is for frag, not {', '.join(opened)}: none of these asks a hop predictor")
    return arms, own_answerers


def _compare_with_first(values: Mapping[str, Mapping[str, DoubleArray]]) -> tuple[Comparison, ...]:
    """Return the comparisons of the first retriever with each other one in hits@1 and coverage."""
    generator = np.random.default_rng(_SEED)
    first, *others = values
    return tuple(
        compare_means((first, other), measure, values[first][measure], values[other][measure], generator, test=wilcoxon)
        for other in others
        for measure in filter(_is_main, values[first])
        if measure in values[other]
    )


def _evaluate_retriever(
    index: Index,
    retriever: PathRetriever[Any],
    name: str,
    questions: Sequence[Question],
    progress: Progress,
    answerer: Answerer | None,
) -> tuple[dict[str, DoubleArray], list[Answer]]:
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
            rows.append(_score_paths(index, retriever, question, found, trace) | {"seconds": seconds})
        batch_answers = (answerer or PathAnswerer()).answer([q.text for q in batch], evidence)
        answers += batch_answers
        for question, answer, row in zip(batch, batch_answers, rows[start:], strict=True):
            first = answer.candidates[0].item if answer.candidates else answer.text
            row["hits@1"] = hits_at_1(first, question.answers)
            row["hit"], row["F1"] = published_scores(full_reply(answer), question.answers)
        progress(name, len(answers), len(questions))
    main = sorted(filter(_is_main, rows[0]), reverse=True)
    measures = [*main, *(name for name in rows[0] if name not in main)]
    columns = {measure: np.array([row[measure] for row in rows], dtype=np.float64) for measure in measures}
    if not any(columns["retrieval_calls"]):
        del columns["retrieval_calls"]
    if any(answer.usage.calls or answer.failure is not None for answer in answers):
        columns["failed"] = np.array([answer.failure is not None for answer in answers], dtype=np.float64)
        columns["answer_calls"] = np.array([answer.usage.calls for answer in answers], dtype=np.float64)
        tokens = [answer.usage.input_tokens + answer.usage.output_tokens for answer in answers]
        columns["answer_tokens"] = np.array(tokens, dtype=np.float64)
    return columns, answers


def published_scores(reply: str, answers: Sequence[str]) -> tuple[float, float]:
    """Return Hits@1 and F1 of a reply as the code of RoG and FRAG computes them; both 0 for an empty reply."""
    if not reply.strip():
        return 0.0, 0.0
    return published_accuracy(reply, answers, "hit"), published_f1(reply, answers)


def path_limit(retriever: PathRetriever[Any]) -> int:
    """Return how many paths of a question a retriever ranks, at most; the larger number where it differs by kind.

    It is 0 where nothing but the size of the selected graph limits it.
    """
    if not isinstance(retriever, FragRetriever):
        return int(getattr(retriever, "path_limit", 0))
    kinds = {"simple": retriever.settings.simple, "complex": retriever.settings.complex}
    return max(kind.paths for name, kind in kinds.items() if retriever.settings.always in ("", name))


def _score_paths(
    index: Index, retriever: PathRetriever[Any], question: Question, found: Evidence, trace: object
) -> dict[str, float]:
    """Return the measures of a question's paths, and of each step of the search where it keeps a trace of its steps."""
    paths = [path.item for path in found.paths]
    triples = first_triples(paths, COMPARED_TRIPLES)
    limit = f"@{most}" if (most := path_limit(retriever)) else ""
    row = {
        f"coverage{limit}": answer_coverage(path_entity_names(paths, found.topics), question.answers),
        "path_recall": path_recall(paths, question.paths),
        ANSWER_IN_TRIPLES: triples_cover_answer(triples, question.answers),
        GOLD_PATHS_IN_TRIPLES: gold_paths_in(triples, question.paths),
        "paths": float(len(paths)),
        "path_tokens": sum(len(t.head + t.relation + t.tail) for path in paths for t in path) / CHARACTERS_PER_TOKEN,
        "retrieval_calls": float(found.usage.calls),
    }
    if not isinstance(trace, SearchTrace):
        return row
    gold = np.unique(np.concatenate([index.snapshot.entities_with_name(answer) for answer in question.answers]))
    return _step_coverage(trace, gold) | row


def _step_coverage(trace: SearchTrace, gold: NDArray[np.integer[Any]]) -> dict[str, float]:
    """Return for each step of the search whether an answer is among its entities; of paths the ends alone count."""
    steps = {
        "covered by neighbourhood": trace.neighbourhood,
        "covered by entity ranking": trace.ranked_entities,
        "covered by relation ranking": trace.connected_entities,
        "covered by path search": trace.path_ends,
    }
    return {name: float(np.isin(gold, ids).any()) for name, ids in steps.items()} | {"complex": float(trace.is_complex)}


def _is_main(measure: str) -> bool:
    return measure == "hits@1" or measure.partition("@")[0] == "coverage"


def _summarize(columns: Mapping[str, DoubleArray]) -> RetrieverSummary:
    """Return means of all measures, and intervals of hits@1 and coverage."""
    means = {
        name: float(np.nanmean(values))
        for name, values in columns.items()
        if name != "seconds" and not np.isnan(values).all()
    }
    main = {name: values for name, values in columns.items() if _is_main(name)}
    return RetrieverSummary.from_values(means, main, columns["seconds"], np.random.default_rng(_SEED))


def _failure_warnings(name: str, answers: Sequence[Answer]) -> list[str]:
    reasons = [answer.failure.reason for answer in answers if answer.failure is not None]
    if not reasons:
        return []
    answered = len(answers) - len(reasons)
    return [
        f"{name}: {answered} of {format_count(len(answers), 'question')} answered, the others count 0: {reasons[0]}"
    ]


def _incomplete_warnings(questions: Sequence[Question]) -> list[str]:
    left_out = [question for question in questions if not _is_graph_question(question)]
    if not left_out:
        return []
    no_topic = sum(not question.topics for question in left_out)
    no_answer = sum(not question.answers for question in left_out)
    counts = f"{no_topic} without a topic, {no_answer} without an answer"
    return [f"{len(left_out)} of {len(questions)} questions are left out: {counts}, first {left_out[0].id!r}"]


def _missing_entity_warnings(index: Index, questions: Sequence[Question]) -> list[str]:
    find = index.snapshot.entities_with_name
    no_topic = [q.id for q in questions if not any(len(find(name)) for name in q.topics)]
    no_answer = [q.id for q in questions if not any(len(find(name)) for name in q.answers)]
    warnings = []
    if no_topic:
        lacking = format_count(len(no_topic), "question has", "questions have")
        warnings.append(f"{lacking} no topic entity in the graph, first {no_topic[0]!r}")
    if no_answer:
        lacking = format_count(len(no_answer), "question has", "questions have")
        warnings.append(f"{lacking} no answer in the graph, which counts 0, first {no_answer[0]!r}")
    return warnings
