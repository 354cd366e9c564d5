"""Training of the choice of `routed`: every choice answers every question of some folders of data, and some are timed.

Recalls and seconds are stored in two files, so that seconds can be measured again, on a quiet machine, without all
the retrieval. Timed choices take turns: other load on the machine falls on all of them alike.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from clew.datasets.questions import load_questions
from clew.errors import InputError
from clew.protocols import Retriever, fingerprint_of
from clew.query.context import IndexContext
from clew.query.graph_walk import GraphWalkConfig
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.store.atomic import atomic_file
from clew.training.data import corpora
from clew.training.data.corpora import CORPUS_FILE, QUESTIONS_PER_BATCH, hash_file
from clew.training.loop import TrainingResult
from clew.types import Progress, Question
from clew_lab.retrievers.routed.retriever import FIRST_RETRIEVER, Preference
from clew_lab.retrievers.routed.weights import NAME, SIGNALS, RoutedWeights, compute_signals, save_choices
from clew_lab.training.fitting import routing
from clew_lab.training.fitting.routing import RoutingObservations, RoutingRecipe

Columns = dict[str, NDArray[np.float64]]
Opened = dict[str, Retriever]
Report = Callable[[int, int], None]

DEFAULT_CHOICES = ("bm25", "dense", "pagerank", "gfm", "gear:base=gfm,expand=no")
"""Retrievers to choose among; others find less in more time on every set (docs/benchmarks.md)."""

TIMED_QUESTIONS = 100
"""Questions of a folder that are timed, evenly spaced over all of them."""
_WARM_UP_QUESTIONS = 5  # answered before any is timed: kernels are compiled, and files mapped


def train_routed(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    retrievers: Sequence[str],
    recipe: RoutingRecipe,
    progress: Progress,
    device: str | None = None,
) -> tuple[RoutedWeights, TrainingResult]:
    """Fit the choice among retrievers on the questions of some folders, and write its weights.

    Folders have a corpus and `train.jsonl`, those of validation `dev.jsonl`; on these, else on `data`, the default
    choices and the default price of a second are calibrated. `out`/run holds the indexes, and the observations of each
    folder. The choices are given as `--retriever` takes them, `pagerank`, whose walk gives the signals, among them. The
    result has, for each set of validation and each choice, `routed` among them, a figure "set, choice: recall@cutoff"
    and a figure "set, choice: seconds" per question. `device` is where the models of the choices run; the choice is
    fitted on the processor.
    """
    started = time.perf_counter()
    names = [name.partition(":")[0] for name in retrievers]
    if FIRST_RETRIEVER not in retrievers or NAME in names:
        raise InputError(
            f"the choices are {', '.join(retrievers)}; wanted {FIRST_RETRIEVER} among them, and not {NAME}"
        )
    corpora.check_out_folder(out)
    files = corpora.question_files(data, validation)
    set_names = corpora.distinct_names([*data, *validation])
    observations = [
        observe_choices(folder, questions, set_names[folder], out / "run", retrievers, recipe, progress, device)
        for folder, questions in files
    ]
    training, held_out = observations[: len(data)], observations[len(data) :] or observations
    weights = routing.fit_routing(training, retrievers, tuple(SIGNALS), recipe)
    weights = routing.calibrate(weights, training, held_out, retrievers, recipe)
    outcomes = {one.name: _outcomes(weights, one, retrievers) for one in held_out}
    count = sum(len(one.signals) for one in training)
    about = {
        "data": [one.name for one in training],
        "validation": [one.name for one in held_out],
        "questions": count,
        "penalty": recipe.penalty,
        "kept": recipe.kept_recall,
        "margin": recipe.margin,
        "figures": {
            name: {choice: [round(o.recall, 4), round(o.seconds, 4)] for choice, o in by_choice.items()}
            for name, by_choice in outcomes.items()
        },
    }
    save_choices(out, weights, about)
    figures = {
        f"{name}, {choice}: {measure}": value
        for name, by_choice in outcomes.items()
        for choice, outcome in by_choice.items()
        for measure, value in ((f"recall@{recipe.cutoff}", outcome.recall), ("seconds", outcome.seconds))
    }
    return weights, TrainingResult(figures=figures, seconds=time.perf_counter() - started, questions=count)


def observe_choices(
    folder: Path,
    questions: str,
    name: str,
    run: Path,
    retrievers: Sequence[str],
    recipe: RoutingRecipe,
    progress: Progress,
    device: str | None = None,
) -> RoutingObservations:
    """Return recalls and seconds of every choice on the questions of a folder; stored observations are read again.

    The folder has a corpus and the file of `questions` with gold; `name` stands for it in progress and results. `run`
    holds the indexes, and one file of recalls and one of seconds per folder of data.
    """
    context = corpora.open_corpus_index(folder, run, progress, device)
    opened = _open_all(context, retrievers)
    with_gold = [question for question in load_questions(folder / questions) if question.gold]
    if not with_gold:
        raise InputError(f"{folder / questions} has no question with gold passages; give some")
    inputs = [hash_file(folder / CORPUS_FILE), hash_file(folder / questions), *SIGNALS, recipe.cutoff]
    fingerprints = [f"{one}\0{fingerprint_of(retriever)}" for one, retriever in opened.items()]
    key = blake2b(repr((inputs, fingerprints)).encode(), digest_size=6).hexdigest()
    stem = run / "observed" / f"{folder.resolve().name}-{key}"
    recalls = _cached_columns(
        stem.with_name(f"{stem.name}-found.npz"),
        lambda: _measure_recall(context, opened, with_gold, recipe.cutoff, partial(progress, f"asking {name}")),
    )
    places = np.unique(np.linspace(0, len(with_gold) - 1, TIMED_QUESTIONS).round().astype(int))
    timed = [with_gold[place] for place in places]
    warm_up = [with_gold[place] for place in np.setdiff1d(np.arange(len(with_gold)), places)[:_WARM_UP_QUESTIONS]]
    seconds = _cached_columns(
        stem.with_name(f"{stem.name}-seconds.npz"),
        # Opened again: those above have the vectors of these questions.
        lambda: _measure_seconds(
            context, _open_all(context, retrievers), warm_up, timed, recipe.cutoff, partial(progress, f"timing {name}")
        ),
    )
    return RoutingObservations(
        name, len(context.scope), recalls["signals"], recalls["recalls"], seconds["seconds"], seconds["look"]
    )


def _open_all(context: IndexContext, retrievers: Sequence[str]) -> Opened:
    return {one: open_retriever(parse_retriever(one), context.with_paths_per_passage(0)) for one in retrievers}


def _cached_columns(path: Path, compute: Callable[[], Columns]) -> Columns:
    """Return the columns of a file, which is computed if it does not exist."""
    if not path.is_file():
        columns = compute()
        with atomic_file(path) as file, file.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **columns)
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise InputError(f"{path} cannot be read ({error}): remove it, and it is observed again") from error


def _measure_recall(
    context: IndexContext, retrievers: Opened, questions: Sequence[Question], cutoff: int, report: Report
) -> Columns:
    """Return the signals (n, s) of the questions, and the recall (n, c) of each choice in order."""
    first = PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
    allowed, snapshot = context.scope.mask(None), context.scope.snapshot
    documents = dict(zip(snapshot.passage_ids, snapshot.document_ids, strict=True))
    signals = [compute_signals(snapshot, first.walk(question.text, allowed)) for question in questions]
    recalls = np.zeros((len(questions), len(retrievers)))
    for column, retriever in enumerate(retrievers.values()):
        for start in range(0, len(questions), QUESTIONS_PER_BATCH):
            batch = questions[start : start + QUESTIONS_PER_BATCH]
            answers = retriever.retrieve([question.text for question in batch], cutoff)
            for row, (question, evidence) in enumerate(zip(batch, answers, strict=True), start):
                ids = [scored.item.id for scored in evidence.passages]
                found = {*ids, *(documents[id_] for id_ in ids)}
                recalls[row, column] = sum(id_ in found for id_ in question.gold) / len(question.gold)
            report(column * len(questions) + start + len(batch), len(retrievers) * len(questions))
    return {"signals": np.array(signals, dtype=np.float64), "recalls": recalls}


def _measure_seconds(
    context: IndexContext,
    opened: Opened,
    warm_up: Sequence[Question],
    questions: Sequence[Question],
    cutoff: int,
    report: Report,
) -> Columns:
    """Return the seconds (m, c) of each choice, and those (m,) of the walk and its signals, one question at a time.

    The choices were not asked any of the questions before; those of `warm_up` come first and are not timed.
    """
    first = PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
    allowed = context.scope.mask(None)
    seconds, overhead = np.zeros((len(questions), len(opened))), np.zeros(len(questions))
    names, retrievers = list(opened), list(opened.values())
    warm = [(0, question) for question in warm_up]
    order = np.random.default_rng(0)
    for number, (row, question) in enumerate([*warm, *enumerate(questions)]):
        # Threads of one retriever slow down the next one, so each turn has an order of its own.
        for column in order.permutation(len(names)).tolist():
            started = time.perf_counter()
            if names[column] == FIRST_RETRIEVER:
                walk = first.walk(question.text, allowed)
                compute_signals(context.scope.snapshot, walk)
                overhead[row] = time.perf_counter() - started
                first.walk_evidence(walk, cutoff, allowed, started)
                started += overhead[row]
            else:
                retrievers[column].retrieve([question.text], cutoff)
            seconds[row, column] = time.perf_counter() - started
        report(max(number + 1 - len(warm), 0), len(questions))
    return {"seconds": seconds, "look": overhead}


def _outcomes(
    weights: RoutedWeights, observations: RoutingObservations, retrievers: Sequence[str]
) -> dict[str, routing.RoutingOutcome]:
    single = {
        name.partition(":")[0]: routing.single_retriever_outcome(observations, c, name)
        for c, name in enumerate(retrievers)
    }
    preference = Preference(weights.default_choices, weights.seconds_price)
    return single | {NAME: routing.simulate_routing(weights, preference, observations, retrievers)}
