"""`clew eval`: retrievers over questions with known evidence, side by side; runs are kept and scored again at will."""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from clew.datasets.loaders import load_questions
from clew.errors import BudgetError
from clew.evaluation.answer_metrics import score_answers
from clew.evaluation.runs import RUN_FORMAT, Run, execute
from clew.evaluation.scoring import build_report, compare, score
from clew.index import Index
from clew.indexing.snapshot_builder import read_manifest, snapshot_folder
from clew.protocols import Answerer, Retriever, fingerprint_of
from clew.retrievers.registry import parse_retriever
from clew.store.error_mapping import map_errors
from clew.types import Answer, Filter, Progress, Question, Usage

RUN_DEPTH = 10
POSITIVES_DEPTH = 100  # how many passages G-RAG ranks (arXiv 2405.18414, section 4.1)
ANSWER_PASSAGES = 5
BATCH_SIZE = 64


def evaluate_retrievers(
    index: Index,
    questions_path: Path,
    retrievers: Sequence[str],
    cutoffs: Sequence[int],
    where: Filter | None,
    runs_folder: Path | None,
    progress: Progress,
    answerer: Answerer | None = None,
    *,
    paths: int = 0,
    positives: bool = False,
) -> dict[str, Any]:
    """Return the figures of each retriever, and paired comparisons of the first with each other one.

    Args:
        index: What is searched.
        questions_path: Questions with gold ids.
        retrievers: Names, each once.
        cutoffs: Ascending.
        where: Restricts the passages.
        runs_folder: A folder that keeps rankings; one made of the same index, questions and options is scored, not run.
        progress: Told the questions done.
        answerer: Whose answers from what each retriever finds are scored too; None for none.
        paths: How many paths explain each passage, where that costs time.
        positives: Whether to measure where all gold ids stand, among the first `POSITIVES_DEPTH` passages.

    Raises:
        InputError: The questions cannot be read, or a retriever is not known.
    """
    questions = load_questions(questions_path)
    names = list(dict.fromkeys(name.strip() for name in retrievers))
    made = [
        index.retriever(parse_retriever(name), paths) for name in names
    ]  # an unknown name fails before anything is run
    snapshot = index.snapshot
    depth = max(RUN_DEPTH, *cutoffs, min(POSITIVES_DEPTH, len(snapshot.passage_ids)) if positives else 0)
    scored = []
    for name, retriever in zip(names, made, strict=True):
        called = f"{name}\0{fingerprint_of(retriever)}"
        kept = _run_file(runs_folder, index, questions, called, depth, where)
        if kept is not None and kept.is_file():
            run = Run.load(kept)
        else:
            run = execute(retriever, name, questions, depth, where, lambda d, t, n=name: progress(n, d, t))  # type: ignore[misc]
            _check_budget(index)
            if kept is not None:
                run.save(kept)
        scored.append(score(run, questions, cutoffs, positives=positives))
    measures = [f"{kind}@{k}" for k in cutoffs for kind in ("recall", "all_gold")]
    measures += ["positives_rr", "tied_rr"] if positives else []
    comparisons = [compare(scored[0], other, m) for other in scored[1:] for m in measures]
    ids = {*snapshot.passage_ids, *snapshot.document_ids}
    result = build_report(index.table.location.name, questions, scored, comparisons, ids.__contains__)
    if answerer is not None:
        for name, retriever in zip(names, made, strict=True):
            figures, warnings = _evaluate_answers(answerer, retriever, questions, where, name, progress)
            result["retrievers"][name] |= figures
            result["warnings"] += warnings
    return result


def _check_budget(index: Index) -> None:
    """Refuse figures of questions that the end of the budget cut short.

    Raises:
        BudgetError: It did.
    """
    if ended := index.llm_factory.budget.exceeded_message:
        raise BudgetError(
            f"{ended}; figures need all questions: give a new budget, and replies that were kept cost nothing"
        )


def _evaluate_answers(
    answerer: Answerer,
    retriever: Retriever,
    questions: Sequence[Question],
    where: Filter | None,
    name: str,
    progress: Progress,
) -> tuple[dict[str, float], list[str]]:
    """Return the measures of the answers and what a question cost, with `SHOWN` passages a question, and warnings.

    Questions are answered `TOGETHER` at a time: a language model is asked for all of them at once. Those that no model
    was asked for, its budget being spent or its server gone, are left out of all means.
    """
    answers: list[Answer] = []
    for start in range(0, len(questions), BATCH_SIZE):
        texts = [question.text for question in questions[start : start + BATCH_SIZE]]
        answers += answerer.answer(texts, retriever.retrieve(texts, ANSWER_PASSAGES, where))
        progress(f"{name} answers", len(answers), len(questions))
    asked = [i for i, answer in enumerate(answers) if answer.failure is None or answer.failure.run_error is None]
    warnings = [
        f"{name}: {len(asked)} of {len(questions)} questions were answered: {answers[i].notes[0]}"
        for i in sorted(set(range(len(answers))) - set(asked))[:1]
    ]
    questions, answers = [questions[i] for i in asked], [answers[i] for i in asked]
    if not answers:
        return {}, warnings
    spent = sum((answer.usage for answer in answers), Usage())
    each = {
        "abstained": sum(not answer.text and answer.failure is None for answer in answers),
        "failed": sum(answer.failure is not None for answer in answers),
        "unsupported": sum(bool(answer.text) and answer.weak for answer in answers),
        "answer_calls": spent.calls,
        "answer_tokens": spent.input_tokens + spent.output_tokens,
        "answer_cost": spent.cost,
    }
    scores = score_answers(questions, [answer.text for answer in answers])
    return {**scores, **{measure: total / len(answers) for measure, total in each.items()}}, warnings


def _run_file(
    runs_folder: Path | None, index: Index, questions: Sequence[Question], name: str, depth: int, where: Filter | None
) -> Path | None:
    """Return the file of a run, named by everything that it depends on; `name` may go on after a zero."""
    if runs_folder is None:
        return None
    with map_errors(str(runs_folder), "keeping the rankings in"):
        runs_folder.mkdir(parents=True, exist_ok=True)
    files = read_manifest(snapshot_folder(index.table))["files"]
    asked = "".join(f"{question.id}\0{question.text}\0" for question in questions)
    key = blake2b(
        f"{sorted(files.items())}\0{asked}\0{depth}\0{where}\0{RUN_FORMAT}\0{name}".encode(), digest_size=6
    ).hexdigest()
    called = name.partition("\0")[0].partition(":")[0]  # its settings may hold a path
    return runs_folder / f"{called}-{key}.json"
