"""Evaluation of retrievers on questions with gold ids, with cached runs, and of answers from what they retrieve."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType

from clew.datasets.questions import load_questions
from clew.errors import BudgetError
from clew.evaluation.ranking_metrics import check_installed
from clew.evaluation.runs import RUN_FORMAT, Run, execute
from clew.evaluation.scoring import EvaluationReport, FurtherMeasures, build_report, compare, score
from clew.index import Index, RetrieverSpec
from clew.protocols import Answerer, Retriever, fingerprint_of
from clew.query.entity_linker import LinkerSettings
from clew.store.error_mapping import map_errors
from clew.store.snapshot_files import read_manifest
from clew.text.answer_metrics import exact_match, score_answers
from clew.text.display import format_count
from clew.types import Answer, Evidence, Filter, Progress, Question, Usage

RUN_DEPTH = 10
DEEP_RUN = 100
"""Passages of a question that further measures are of."""
ANSWER_PASSAGES = 5
ANSWER_PATHS = 1
"""Paths that explain each passage that an answer is read from, as in `clew ask`."""
BATCH_SIZE = 64


def evaluate_retrievers(
    index: Index,
    questions_path: Path,
    retrievers: Mapping[str, RetrieverSpec],
    cutoffs: Sequence[int],
    where: Filter | None,
    runs_folder: Path | None,
    progress: Progress,
    answerers: Mapping[str, Answerer] = MappingProxyType({}),
    *,
    paths: int = 0,
    further: FurtherMeasures | None = None,
) -> EvaluationReport:
    """Evaluate retrievers on questions with gold ids, and compare the first with each other one.

    The retrievers come by their names in the report, the cut-offs k ascending. `runs_folder` caches runs: one of the
    same index, questions and options is scored without searching again. `answerers` answer the questions from the
    evidence of the retrievers of their names, to be scored too. `paths` is the number of paths that explain each
    passage, for retrievers where that costs time. `further` are more measures, of the first `DEEP_RUN` passages (see
    `score`).
    """
    check_installed()
    questions = load_questions(questions_path)
    opened = {name: index.retriever(spec, paths) for name, spec in retrievers.items()}  # fails before any search
    snapshot = index.snapshot
    depth = max(RUN_DEPTH, *cutoffs) if further is None else max(min(len(snapshot.passage_ids), DEEP_RUN), *cutoffs)
    scored = []
    searches: dict[str, dict[str, Evidence]] = {}  # by name and question what agents found, whose steps cost calls
    for name, retriever in opened.items():
        identity = f"{name}\0{fingerprint_of(retriever)}"
        file = None if runs_folder is None else _run_file(runs_folder, index, questions, identity, depth, where)
        if file is not None and file.is_file():
            run = Run.load(file)
        else:
            on_done = partial(progress, name)
            keep = None if name not in answerers else partial(_keep_steps, searches.setdefault(name, {}))
            run = execute(retriever, name, questions, depth, where, on_done, keep)
            if ended := index.llm_factory.budget.exceeded_message:  # before all questions were asked
                raise BudgetError(
                    f"{ended}; an evaluation needs all questions: raise the budget, cached replies cost nothing"
                )
            if file is not None:
                run.save(file)
        scored.append(score(run, questions, cutoffs, further=further))
    measures = [f"{kind}@{k}" for k in cutoffs for kind in ("recall", "all_gold")]
    comparisons = [compare(scored[0], other, m) for other in scored[1:] for m in measures]
    ids = {*snapshot.passage_ids, *snapshot.document_ids}
    report = build_report(index.table.location.name, questions, scored, comparisons, ids.__contains__)
    for name, answerer in answerers.items():
        found = searches.get(name, {})
        reading = index.retriever(retrievers[name], max(paths, ANSWER_PATHS))
        figures, warnings = _evaluate_answers(answerer, reading, questions, where, name, progress, found)
        summary = report.retrievers[name]
        summary = replace(summary, costs={**summary.costs, **figures})
        summaries = {**report.retrievers, name: summary}
        report = replace(report, retrievers=summaries, warnings=(*report.warnings, *warnings))
    return report


def _evaluate_answers(
    answerer: Answerer,
    retriever: Retriever,
    questions: Sequence[Question],
    where: Filter | None,
    name: str,
    progress: Progress,
    found: Mapping[str, Evidence],
) -> tuple[dict[str, float], list[str]]:
    """Answer the questions from `ANSWER_PASSAGES` passages each; return answer measures, costs and warnings.

    Questions with evidence in `found`, by id, are not searched for again; their first passages are read.
    Questions are answered `BATCH_SIZE` at a time, since a language model is called for all of them concurrently.
    Questions that were not asked, after the end of the budget or of the server, are left out of all means.
    """
    answers: list[Answer] = []
    for start in range(0, len(questions), BATCH_SIZE):
        batch = questions[start : start + BATCH_SIZE]
        others = [question for question in batch if question.id not in found]
        searched = iter(retriever.retrieve([question.text for question in others], ANSWER_PASSAGES, where))
        evidence = [found[question.id] if question.id in found else next(searched) for question in batch]
        answers += answerer.answer([question.text for question in batch], evidence)
        progress(f"{name} answers", len(answers), len(questions))
    answered = [i for i, answer in enumerate(answers) if answer.failure is None or answer.failure.run_error is None]
    warnings = [
        f"{name}: {len(answered)} of {format_count(len(questions), 'question')} answered: {answers[i].notes[0]}"
        for i in sorted(set(range(len(answers))) - set(answered))[:1]
    ]
    questions, answers = [questions[i] for i in answered], [answers[i] for i in answered]
    if not answers:
        return {}, warnings
    usage = sum((answer.usage for answer in answers), Usage())
    asserted = [i for i, answer in enumerate(answers) if answer.text and not answer.weak]
    totals = {
        "abstained": sum(not answer.text and answer.failure is None for answer in answers),
        "failed": sum(answer.failure is not None for answer in answers),
        "unsupported": sum(bool(answer.text) and answer.weak for answer in answers),
        "asserted": len(asserted),
        "answer_calls": usage.calls,
        "answer_tokens": usage.input_tokens + usage.output_tokens,
        "answer_cost": usage.cost,
    }
    scores = score_answers(questions, [answer.text for answer in answers])
    shares = {name: total / len(answers) for name, total in totals.items()}
    right = sum(exact_match(answers[i].text, questions[i].answers) for i in asserted)
    reliability = {"reliability": right / len(asserted)} if asserted else {}  # of those asserted, the right ones
    return {**asdict(scores), **shares, **reliability}, warnings


def _keep_steps(found: dict[str, Evidence], question: Question, evidence: Evidence) -> None:
    """Keep what an agent found for a question; other retrievers are searched again, which costs no call."""
    if evidence.steps:
        found[question.id] = replace(evidence, passages=evidence.passages[:ANSWER_PASSAGES])


def _run_file(
    folder: Path, index: Index, questions: Sequence[Question], identity: str, depth: int, where: Filter | None
) -> Path:
    """Return the file of a run in a folder, which is made, named by a hash of all that it depends on.

    `identity` is the name of the retriever, optionally followed by a null character and a fingerprint.
    """
    with map_errors(str(folder), "keeping the rankings in"):
        folder.mkdir(parents=True, exist_ok=True)
    files = read_manifest(index.snapshot_folder)["files"]
    asked = "".join(f"{question.id}\0{question.text}\0" for question in questions)
    inputs = f"{sorted(files.items())}\0{asked}\0{depth}\0{where}\0{RUN_FORMAT}\0{index.similar_names}\0{identity}"
    if index.linking != LinkerSettings():
        inputs += f"\0{index.linking}"
    name = identity.partition("\0")[0].partition(":")[0]  # without settings, which may hold a path
    return folder / f"{name}-{blake2b(inputs.encode(), digest_size=6).hexdigest()}.json"
