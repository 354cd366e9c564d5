"""Training of the ranker of candidate answers, on questions with answers whose passages a retriever finds.

The evidence of every fourth question is read once more without its gold passages: the calibration learns from it what
evidence looks like that does not hold the answer.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.named_subject import missing_names
from clew.answering.span_features import FEATURES, span_features
from clew.answering.span_ranker import (
    SIGNALS,
    SpanRanker,
    SpanRankerWeights,
    answer_candidates,
    calibrated_probabilities,
    calibration_signals,
    fit_signals,
    save_span_ranker,
)
from clew.answering.verdicts import is_comparison
from clew.arrays import BoolArray, DoubleArray, LongArray
from clew.errors import InputError
from clew.evaluation.answer_metrics import normalize_answer
from clew.protocols import Retriever, fingerprint_of
from clew.query.context import IndexContext
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.store.atomic import atomic_file
from clew.text.normalization import name_key
from clew.training.data import corpora
from clew.training.data.corpora import CORPUS_FILE, hash_file
from clew.training.loop import TrainingResult
from clew.types import Evidence, Progress, Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.training.fitting.span_ranker import (
    AnswerExample,
    AnswerRecipe,
    assign_folds,
    choose_threshold,
    fit_calibration,
    train_networks,
)

PASSAGES = 5
"""Passages per question, as in `clew ask`."""
FURTHER_PASSAGES = 10
"""Passages found for evidence from which the gold ones are taken."""
WITHOUT_GOLD_EVERY = 4
"""Every n-th question is read without its gold passages as well."""
RETRIEVER = "gfm"


@dataclass(frozen=True, slots=True, eq=False)
class ReadQuestion:
    """A question with the candidates of its evidence."""

    number: int  # of the question in its file
    example: AnswerExample
    names: LongArray  # (n,) number of each candidate's name among those of the question
    fit: DoubleArray  # inputs of the calibration that the evidence gives
    is_answerable: bool  # False without its gold passages


def train_answers(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    recipe: AnswerRecipe,
    progress: Progress,
    retriever: str = RETRIEVER,
    device: str | None = None,
) -> TrainingResult:
    """Train the ranker on the questions of some folders, and write its weights into `out`; `out`/run has the indexes.

    Folders have a corpus and `train.jsonl`, those of validation `dev.jsonl`, which only measures. The figures are the
    shares of questions, neither yes-or-no nor "A or B", whose best candidate is right ("SET: exact match"), that have a
    right candidate ("SET: covered"), of the right and wrong best candidates that the threshold withholds ("withheld")
    or that are asserted, and of the asserted ones that are right. Raises InputError if an index has no vectors, the
    indexes have different encoders, or no question can be learned from.
    """
    started = time.perf_counter()
    corpora.check_out_folder(out)
    files = corpora.question_files(data, validation)
    names = corpora.distinct_names([*data, *validation])
    fingerprints: set[str] = set()
    read: list[list[ReadQuestion]] = []
    for folder, questions in files:
        context = corpora.open_corpus_index(folder, out / "run", progress, device)
        if context.index_encoder is None:
            raise InputError(f"the index of {folder} has no vectors; the ranker reads them: index it with an encoder")
        fingerprints.add(context.index_encoder.fingerprint)
        report = partial(progress, f"reading {names[folder]}")
        read.append(_stored_reading(context, folder, questions, retriever, out / "run", report))
    if len(fingerprints) != 1:
        raise InputError("the indexes have different encoders: train on indexes of one encoder")
    training = read[: len(data)]
    trained = _train_calibrated(training, recipe, progress)
    trained = replace(trained, encoder=fingerprints.pop())
    figures: dict[str, float] = {}
    for (folder, _), some in list(zip(files, read, strict=True))[len(data) :]:
        figures |= {f"{names[folder]}, {name}": value for name, value in measure_ranker(trained, some).items()}
    count = sum(one.is_answerable for some in training for one in some)
    about = {
        "recipe": asdict(recipe), "retriever": retriever, "data": [names[folder] for folder in data],
        "questions": count, "figures": {name: round(value, 4) for name, value in figures.items()},
    }  # fmt: skip
    save_span_ranker(out, replace(trained, about=about))
    seconds = time.perf_counter() - started
    return TrainingResult(figures=figures, seconds=seconds, questions=count, parameters=trained.hidden.size)


def _stored_reading(
    context: IndexContext, folder: Path, questions: str, retriever: str, run: Path, report: Callable[[int, int], None]
) -> list[ReadQuestion]:
    """Return the questions of a folder as they were read before, else read and stored in a file of `run`."""
    opened = open_retriever(parse_retriever(retriever), context.with_paths_per_passage(1))
    encoder = context.index_encoder
    own = fingerprint_of(opened), encoder.fingerprint if encoder else ""
    inputs = [hash_file(folder / CORPUS_FILE), hash_file(folder / questions), *own, *FEATURES]
    key = blake2b(repr(inputs).encode(), digest_size=6).hexdigest()
    path = run / "read" / f"{folder.resolve().name}-{key}.npz"
    if not path.is_file():
        with_answers = [question for question in load_questions(folder / questions) if question.answers]
        read = read_questions(ExtractiveAnswerer(encoder), opened, with_answers, report)
        with atomic_file(path) as file, file.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **_pack(read))
    try:
        with np.load(path, allow_pickle=False) as stored:
            return _unpack({name: stored[name] for name in stored.files})
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(f"{path} cannot be read ({error}): remove it, and the questions are read again") from error


def _pack(read: Sequence[ReadQuestion]) -> dict[str, NDArray[Any]]:
    return {
        "counts": np.array([len(one.names) for one in read], dtype=np.int64),
        "features": np.concatenate(
            [np.zeros((0, len(FEATURES)), dtype=np.float32), *(r.example.features for r in read)]
        ),
        "right": np.concatenate([np.zeros(0, dtype=np.bool_), *(one.example.right for one in read)]),
        "names": np.concatenate([np.zeros(0, dtype=np.int64), *(one.names for one in read)]),
        "fit": np.array([one.fit for one in read]),
        "numbers": np.array([one.number for one in read], dtype=np.int64),
        "answerable": np.array([one.is_answerable for one in read], dtype=np.bool_),
    }


def _unpack(arrays: dict[str, NDArray[Any]]) -> list[ReadQuestion]:
    ends = np.cumsum(arrays["counts"]).tolist()
    read = []
    for row, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        example = AnswerExample(arrays["features"][start:end], arrays["right"][start:end])
        names, fit = arrays["names"][start:end], arrays["fit"][row]
        read.append(ReadQuestion(int(arrays["numbers"][row]), example, names, fit, bool(arrays["answerable"][row])))
    return read


def read_questions(
    answerer: ExtractiveAnswerer,
    retriever: Retriever,
    questions: Sequence[Question],
    report: Callable[[int, int], None],
) -> list[ReadQuestion]:
    """Return the questions that the ranker answers, with their candidates; every fourth one without gold as well."""
    read = []
    for number, question in enumerate(questions):
        report(number, len(questions))
        found = [retriever.retrieve([question.text], PASSAGES)[0]]
        if number % WITHOUT_GOLD_EVERY == 0 and question.gold:
            found.append(remove_gold(retriever.retrieve([question.text], FURTHER_PASSAGES)[0], question, PASSAGES))
        gold = {normalize_answer(answer) for answer in question.answers}
        for evidence, is_answerable in zip(found, (True, False), strict=False):
            analysis = answerer.analyze(question.text, evidence)
            if analysis is None or is_comparison(question.text, analysis.query, analysis.sentences):
                continue
            candidates = answer_candidates(analysis)
            right = np.array([normalize_answer(c.text) in gold for c in candidates], dtype=np.bool_)
            keys = [name_key(c.text) for c in candidates]
            numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
            names = np.array([numbers[key] for key in keys], dtype=np.int64)
            fit = fit_signals(analysis, len(missing_names(analysis.query, evidence)))
            example = AnswerExample(span_features(analysis, candidates), right)
            read.append(ReadQuestion(number, example, names, fit, is_answerable))
    return read


def remove_gold(evidence: Evidence, question: Question, count: int) -> Evidence:
    """Return evidence with `count` passages at most, none of them gold, and without the chains and paths over gold."""
    gold = {
        passage.id
        for passage in (scored.item for scored in evidence.passages)
        if passage.id in question.gold or passage.document_id in question.gold
    }
    passages = tuple(scored for scored in evidence.passages if scored.item.id not in gold)[:count]
    chains = tuple(c for c in evidence.chains if not any(s.passage_id in gold for s in c.item.sentences))
    paths = tuple(p for p in evidence.paths if not any(gold & set(triple.passages) for triple in p.item))
    return replace(evidence, passages=passages, chains=chains, paths=paths)


def measure_ranker(trained: SpanRankerWeights, read: Sequence[ReadQuestion]) -> dict[str, float]:
    """Return shares of questions: exact match, covered, and of right and other best candidates withheld, asserted."""
    signals, right = _collect_signals(SpanRanker(trained), read)
    answerable = np.array([one.is_answerable for one in read])
    if not answerable.any():
        raise InputError("no question of the validation has candidates: check that questions and corpus fit")
    probabilities = calibrated_probabilities(trained.calibration, signals)
    withheld, asserted = probabilities < trained.threshold, probabilities >= trained.line
    covered = np.array([one.example.right.any() for one in read])
    figures = {"exact match": right[answerable].mean(), "covered": covered[answerable].mean()}
    for name, some in (("right", right & answerable), ("wrong", ~right & answerable), ("without gold", ~answerable)):
        if some.any():
            figures[f"withheld, {name}"] = withheld[some].mean()
            figures[f"asserted, {name}"] = asserted[some].mean()
    if asserted.any():
        figures["right, of the asserted"] = (right & answerable)[asserted].mean()
    return {name: float(value) for name, value in figures.items()}


def _train_calibrated(
    sets: Sequence[Sequence[ReadQuestion]], recipe: AnswerRecipe, progress: Progress
) -> SpanRankerWeights:
    """Train on all questions; the calibration comes from networks that did not see the question."""
    read = [one for some in sets for one in some]
    # A question with and without its gold passages is in one fold.
    fold = np.concatenate(
        [assign_folds(1 + max((r.number for r in some), default=0), recipe)[[r.number for r in some]] for some in sets]
    )
    signals = np.zeros((len(read), len(SIGNALS)))
    right = np.zeros(len(read), dtype=np.bool_)
    for held_out in range(recipe.folds):
        progress("training", held_out, recipe.folds + 1)
        learned = [one.example for one, f in zip(read, fold, strict=True) if f != held_out and one.is_answerable]
        rows = np.flatnonzero(fold == held_out)
        ranker = SpanRanker(train_networks(learned, recipe))
        signals[rows], right[rows] = _collect_signals(ranker, [read[row] for row in rows])
    progress("training", recipe.folds, recipe.folds + 1)
    answerable = np.array([one.is_answerable for one in read])
    trained = train_networks([one.example for one in read if one.is_answerable], recipe)
    trained = replace(trained, calibration=fit_calibration(signals, right))
    probabilities = calibrated_probabilities(trained.calibration, signals)
    threshold = choose_threshold(probabilities, right & answerable, recipe.lost)
    return replace(trained, threshold=threshold, line=max(threshold, recipe.line))


def _collect_signals(ranker: SpanRanker, read: Sequence[ReadQuestion]) -> tuple[DoubleArray, BoolArray]:
    """Return the calibration's inputs (n, s) for each question, and whether its best candidate is right (n,)."""
    signals, right = np.zeros((len(read), len(SIGNALS))), np.zeros(len(read), dtype=np.bool_)
    for row, one in enumerate(read):
        probabilities = ranker.probabilities(one.example.features)
        with_rules = ranker.add_rules(probabilities, one.example.features)
        totals: DoubleArray = np.bincount(one.names, weights=with_rules, minlength=1).astype(np.float64)
        networks: DoubleArray = np.bincount(one.names, weights=probabilities, minlength=1).astype(np.float64)
        order = np.argsort(-totals, kind="stable")
        own = np.flatnonzero(one.names == order[0])
        features = (
            one.example.features[own[with_rules[own].argmax()]] if len(own) else np.zeros(len(FEATURES), np.float32)
        )
        signals[row] = calibration_signals(totals[order], networks[order], features, one.fit)
        right[row] = bool(one.example.right[own].any())
    return signals, right
