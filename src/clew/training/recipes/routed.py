"""Trains what `routed` chooses by: every choice answers every question of some folders of data, and some are timed.

What was found and what was timed are kept in two files, so that seconds can be measured again, on a quiet machine,
without asking every question again. Timed choices take turns: what else the machine does falls on all of them alike.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.protocols import Retriever, fingerprint_of
from clew.query.context import IndexContext
from clew.query.graph_walk import GraphWalkConfig
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.retrievers.routed.retriever import FIRST_RETRIEVER, Preference
from clew.retrievers.routed.signals import SIGNALS, compute_signals
from clew.retrievers.routed.weights import NAME, RoutedWeights, save_choices
from clew.store.atomic import atomic_file
from clew.training.data.corpora import (
    CORPUS_FILE,
    DEVELOPMENT_FILE,
    TRAIN_FILE,
    distinct_names,
    hash_file,
    open_corpus_index,
)
from clew.training.fitting.routing import (
    RoutingObservations,
    RoutingOutcome,
    RoutingRecipe,
    calibrate,
    fit_routing,
    simulate_routing,
    single_retriever_outcome,
)
from clew.types import Progress, Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns = dict[str, NDArray[np.float64]]

DEFAULT_CHOICES = ("bm25", "dense", "pagerank", "gfm", "gear:base=gfm,expand=no")
"""Retrievers that are offered to choose among; others find less in more time on every set (docs/benchmarks.md)."""

TIMED_QUESTIONS = 100
"""Questions of a folder that are timed, spread over all of them."""
_WARM_UP_QUESTIONS = 5  # questions asked before any is timed: kernels are compiled, and files mapped
_QUESTIONS_PER_BATCH = 64


@dataclass(frozen=True, slots=True)
class TaughtChoices:
    """What training gave.

    Attributes:
        weights: As written.
        questions: Learned from.
        outcomes: By set of validation, of each single choice and of `routed`, by name.
        seconds: Of all.
    """

    weights: RoutedWeights
    questions: int
    outcomes: dict[str, dict[str, RoutingOutcome]]
    seconds: float


def train_routed(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    retrievers: Sequence[str],
    recipe: RoutingRecipe,
    progress: Progress,
) -> TaughtChoices:
    """Ask every retriever the questions of some folders, and write weights to choose by.

    Args:
        data: Folders with a corpus and `train.jsonl`.
        validation: Folders with a corpus and `dev.jsonl`, which choose the usual choices and the usual price of a
            second; without any the folders learned from do.
        out: Gets the weights; `out`/run keeps the indexes, and what was observed of each folder.
        retrievers: Choices, as `--retriever` takes them; `pagerank`, whose walk is looked at, among them.
        recipe: How.
        progress: Told the stage and how much of how much is done.

    Raises:
        InputError: A folder lacks a file or gives no questions with gold, or a choice cannot be made for its index.
    """
    started = time.perf_counter()
    names = [name.partition(":")[0] for name in retrievers]
    if FIRST_RETRIEVER not in retrievers or NAME in names:
        raise InputError(
            f"the choices are {', '.join(retrievers)}; wanted {FIRST_RETRIEVER} among them, and not {NAME}"
        )
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the weights need a folder: give another place")
    asked = [*((folder, TRAIN_FILE) for folder in data), *((folder, DEVELOPMENT_FILE) for folder in validation)]
    for folder, questions in asked:
        if missing := next((name for name in (CORPUS_FILE, questions) if not (folder / name).is_file()), ""):
            raise InputError(f"{folder} has no {missing}: give folders with {CORPUS_FILE} and {questions}")
    called = distinct_names([*data, *validation])
    seen = [
        observe_choices(folder, questions, called[folder], out / "run", retrievers, recipe, progress)
        for folder, questions in asked
    ]
    learned, judging = seen[: len(data)], seen[len(data) :] or seen
    weights = fit_routing(learned, retrievers, tuple(SIGNALS), recipe)
    weights = calibrate(weights, learned, judging, retrievers, recipe)
    outcomes = {one.name: _outcomes(weights, one, retrievers) for one in judging}
    about = {
        "data": [one.name for one in learned],
        "validation": [one.name for one in judging],
        "questions": sum(len(one.signals) for one in learned),
        "penalty": recipe.penalty,
        "kept": recipe.kept_recall,
        "margin": recipe.margin,
        "figures": {
            name: {choice: [round(o.recall, 4), round(o.seconds, 4)] for choice, o in found.items()}
            for name, found in outcomes.items()
        },
    }
    save_choices(out, weights, about)
    return TaughtChoices(weights, about["questions"], outcomes, time.perf_counter() - started)  # type: ignore[arg-type]


def observe_choices(
    folder: Path,
    questions: str,
    name: str,
    run: Path,
    retrievers: Sequence[str],
    recipe: RoutingRecipe,
    progress: Progress,
) -> RoutingObservations:
    """Return what every choice gives for the questions of a folder; what was observed before is read again.

    Args:
        folder: With a corpus and the questions.
        questions: The file.
        name: What the folder is called.
        run: Keeps indexes and observations, of each folder one file of what was found and one of seconds.
        retrievers: The choices.
        recipe: How.
        progress: Told the questions done.
    """
    parts = open_corpus_index(folder, run, progress)
    made = {one: open_retriever(parse_retriever(one), parts.with_paths_per_passage(0)) for one in retrievers}
    asked = [question for question in load_questions(folder / questions) if question.gold]
    if not asked:
        raise InputError(f"{folder / questions} has no question with gold passages; give some")
    known = [hash_file(folder / CORPUS_FILE), hash_file(folder / questions), *SIGNALS, recipe.cutoff]
    told = [f"{one}\0{fingerprint_of(retriever)}" for one, retriever in made.items()]
    key = blake2b(repr((known, told)).encode(), digest_size=6).hexdigest()
    kept = run / "observed" / f"{folder.resolve().name}-{key}"
    found = _cached_columns(
        kept.with_name(f"{kept.name}-found.npz"),
        lambda: _measure_recall(parts, made, asked, recipe.cutoff, lambda n, t: progress(f"asking {name}", n, t)),
    )
    some = [asked[place] for place in np.unique(np.linspace(0, len(asked) - 1, TIMED_QUESTIONS).round().astype(int))]
    spent = _cached_columns(
        kept.with_name(f"{kept.name}-seconds.npz"),
        lambda: _measure_seconds(parts, made, some, recipe.cutoff, lambda n: progress(f"timing {name}", n, len(some))),
    )
    return RoutingObservations(
        name, len(parts.scope), found["signals"], found["recalls"], spent["seconds"], spent["look"]
    )


def _cached_columns(path: Path, compute: "Callable[[], Columns]") -> "Columns":
    """Return the columns of a file, made where it is not there."""
    if not path.is_file():
        columns = compute()
        with atomic_file(path) as file, file.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **columns)
    try:
        with np.load(path, allow_pickle=False) as read:
            return {name: read[name] for name in read.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise InputError(f"{path} cannot be read ({error}): remove it, and it is observed again") from error


def _measure_recall(
    parts: IndexContext,
    retrievers: dict[str, Retriever],
    questions: Sequence[Question],
    cutoff: int,
    report: Callable[[int, int], None],
) -> "Columns":
    """Return the signals (n, s) of the questions, and the recall (n, c) of each choice in order."""
    first = PageRankRetriever(parts.scope, parts.lexical, GraphWalkConfig())
    allowed, snapshot = parts.scope.mask(None), parts.scope.snapshot
    documents = dict(zip(snapshot.passage_ids, snapshot.document_ids, strict=True))
    seen = [compute_signals(snapshot, first.walk(question.text, allowed)) for question in questions]
    recalls = np.zeros((len(questions), len(retrievers)))
    for column, retriever in enumerate(retrievers.values()):
        for start in range(0, len(questions), _QUESTIONS_PER_BATCH):
            batch = questions[start : start + _QUESTIONS_PER_BATCH]
            answers = retriever.retrieve([question.text for question in batch], cutoff)
            for row, (question, evidence) in enumerate(zip(batch, answers, strict=True), start):
                ids = [scored.item.id for scored in evidence.passages]
                recalls[row, column] = _recall({*ids, *(documents[id_] for id_ in ids)}, question.gold)
            report(column * len(questions) + start + len(batch), len(retrievers) * len(questions))
    return {"signals": np.array(seen, dtype=np.float64), "recalls": recalls}


def _measure_seconds(
    parts: IndexContext,
    made: dict[str, Retriever],
    questions: Sequence[Question],
    cutoff: int,
    report: Callable[[int], None],
) -> "Columns":
    """Return the seconds (m, c) of each choice, and of the look (m,), for one question at a time."""
    first = PageRankRetriever(parts.scope, parts.lexical, GraphWalkConfig())
    allowed = parts.scope.mask(None)
    seconds, look = np.zeros((len(questions), len(made))), np.zeros(len(questions))
    names, retrievers = list(made), list(made.values())
    warm = [(0, question) for question in questions[:_WARM_UP_QUESTIONS]]
    order = np.random.default_rng(0)
    for number, (row, question) in enumerate([*warm, *enumerate(questions)]):
        # Whoever comes after a retriever of several threads is slowed by them, so each turn has an order of its own.
        for column in order.permutation(len(names)).tolist():
            begun = time.perf_counter()
            if names[column] == FIRST_RETRIEVER:
                asked = first.walk(question.text, allowed)
                compute_signals(parts.scope.snapshot, asked)
                look[row] = time.perf_counter() - begun
                first.walk_evidence(asked, cutoff, allowed, begun)
                begun += look[row]
            else:
                retrievers[column].retrieve([question.text], cutoff)
            seconds[row, column] = time.perf_counter() - begun
        report(max(number + 1 - len(warm), 0))
    return {"seconds": seconds, "look": look}


def _recall(ids: set[str], gold: Sequence[str]) -> float:
    return sum(id_ in ids for id_ in gold) / len(gold)


def _outcomes(
    weights: RoutedWeights, observed: RoutingObservations, retrievers: Sequence[str]
) -> dict[str, RoutingOutcome]:
    single = {name.partition(":")[0]: single_retriever_outcome(observed, c, name) for c, name in enumerate(retrievers)}
    return single | {
        NAME: simulate_routing(
            weights, Preference(weights.default_choices, weights.seconds_price), observed, retrievers
        )
    }
