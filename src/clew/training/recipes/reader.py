"""Training of the reader of answers on questions with their texts, and on questions that an index is searched for.

Held out are the questions on a tenth of the titles, and 15 in 100 of those on an index; they choose the epoch and
calibrate the probabilities, as do the questions of the validation.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from tokenizers import Tokenizer
from transformers import BertConfig

from clew.answering.confidence import Confidence, Signals
from clew.datasets.questions import load_questions, read_records
from clew.errors import InputError
from clew.index import Index
from clew.models.reader.reader import MANIFEST_FILE, MODEL_FILE, TOKENIZER_FILE, Reader, read_manifest
from clew.models.reader.windows import READ_PASSAGES, ReaderText, WindowMaker, evidence_texts
from clew.nn.span_reader import SpanReader, read_body
from clew.store.atomic import atomic_folder, discard
from clew.training.checkpoint import ProcessGroup
from clew.training.data.corpora import check_out_folder
from clew.training.data.reader_examples import (
    FOUND,
    Distractors,
    ReadingExample,
    combine_questions,
    found_examples,
    is_held_out,
    is_held_out_of_index,
    read_examples,
    recurring_questions,
)
from clew.training.fitting.answer_confidence import CalibrationCase, confidence_to_dict, fit_confidence, remove_gold
from clew.training.hyperparameters import ReaderRecipe, Recipe, TrainingResult
from clew.training.int8_export import read_parameters, reader_model
from clew.training.loop import SINGLE_PROCESS, train
from clew.training.objectives.reading import MeasuredQuestion, Source, SpanReading
from clew.types import Evidence, Passage, Progress, Question, Scored

_MEASURED = 300  # held-out questions on single texts that are measured
_WITHOUT_GOLD_EVERY = 4  # every so many questions calibrate without their gold passages, too


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """A file of questions with their texts, and how many of them an epoch draws; None for all."""

    path: Path
    per_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class SearchedQuestions:
    """A file of questions, the index that is searched for them, and its name in figures."""

    file: Path
    index: Index
    name: str


@dataclass(frozen=True, slots=True)
class ReaderData:
    """Questions that a reader learns from, and those that it is measured on.

    Attributes:
        files: Questions with their texts.
        indexed: Questions that an index is searched for.
        further: Files of {title, text}, from which texts that do not answer are drawn as well, and of which questions
            without labels are made.
        validation: Questions that an index is searched for, and that are not learned.
    """

    files: Sequence[QuestionFile] = ()
    indexed: Sequence[SearchedQuestions] = ()
    further: Sequence[Path] = ()
    validation: Sequence[SearchedQuestions] = ()


def train_reader(
    data: ReaderData,
    start: Path,
    out: Path,
    recipe: ReaderRecipe,
    progress: Progress,
    group: ProcessGroup = SINGLE_PROCESS,
) -> TrainingResult:
    """Train a reader from weights in a folder, and write it into `out`, which ends whole or as it was.

    `start` holds a reader, or a BERT model as its authors publish it. A run that was stopped goes on after its last
    epoch. The figures are exact match and F1 of the passages that are found, and of held-out questions.

    Raises:
        InputError: A file has another form, or there is nothing to learn from.
    """
    started = time.perf_counter()
    out = out.resolve()
    check_out_folder(out)
    if out.is_dir() and {one.name for one in out.iterdir()} - {MODEL_FILE, TOKENIZER_FILE, MANIFEST_FILE}:
        raise InputError(f"{out} holds other files than a reader's, and is replaced as a whole: give an empty folder")
    maker = WindowMaker(open_tokenizer(start))
    further = [ReaderText(r.text("title"), r.text("text")) for path in data.further for r in read_records(path)]
    sources, held_out = _read_sources(data, further, recipe, progress)
    measured = {place.name: _ask_texts(place, progress) for place in data.validation}
    measured |= {f"{one.name}, held out": _ask_texts(one, progress, held_out=True) for one in data.indexed}
    measured = {name: questions for name, questions in measured.items() if questions}
    some = held_out[:: max(1, len(held_out) // _MEASURED)]
    if some:
        measured["held out"] = [MeasuredQuestion(one.question, one.answers, one.gold) for one in some]
    distractors = Distractors((one for source in sources for one in source.examples), further)
    torch.manual_seed(recipe.loop.seed)  # of the heads, where a BERT model has none
    model, config = open_weights(start)
    run = out.parent / f"{out.name}.run"
    objective = SpanReading(sources, distractors, maker, measured, recipe.batch)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    result = train(model, objective, fit_to_steps(recipe.loop, len(objective)), run, progress, group, recipe.dtype)
    figures = average_with(before, model, objective.validate, result.figures)
    about = {"recipe": asdict(recipe), "figures": {name: round(v, 2) for name, v in figures.items()}}
    cases = [*_calibration(data, progress), *_single_texts(some, distractors, recipe.loop.seed)]
    save_reader(out, model, config, open_tokenizer(start), about, _calibration_of(start), cases)
    discard(run)
    parameters = sum(value.numel() for value in model.parameters())
    seconds = time.perf_counter() - started
    count = sum(len(source.examples) for source in sources)
    return TrainingResult(
        result.best_epoch, figures, seconds, result.initial_figures, count, len(some), parameters=parameters
    )


def fit_to_steps(loop: Recipe, steps_of_epoch: int) -> Recipe:
    """Return the recipe with a shorter warm-up and a faster average where a run has few steps: they suit thousands."""
    steps = max(1, loop.epochs * steps_of_epoch)
    return replace(loop, warmup=min(loop.warmup, steps // 10), average=min(loop.average, 1 - 1 / max(2.0, steps / 10)))


def average_with(
    before: Mapping[str, torch.Tensor],
    model: SpanReader,
    validate: Callable[[torch.nn.Module], dict[str, float]],
    figures: dict[str, float],
) -> dict[str, float]:
    """Give a trained model the mean of its weights and those before, where that measures better; return the figures.

    A further run forgets some of what was learned, and the mean forgets less.
    """
    after = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict({name: torch.lerp(before[name], value, 0.5) for name, value in after.items()})
    mean = validate(model)
    if mean and next(iter(mean.values())) > next(iter(figures.values())):
        return mean
    model.load_state_dict(after)
    return figures


def _read_sources(
    data: ReaderData, further: Sequence[ReaderText], recipe: ReaderRecipe, progress: Progress
) -> tuple[list[Source], list[ReadingExample]]:
    """Return what is learned from, and the held-out questions whose places of answers are known."""
    sources: list[Source] = []
    held_out: list[ReadingExample] = []
    for file in data.files:
        examples = read_examples(file.path)
        held_out += [one for one in examples if is_held_out(one) and one.starts]
        own = [one for one in examples if not is_held_out(one)]
        sources.append(Source(own, len(own) if file.per_epoch is None else file.per_epoch))
    if recipe.combined:
        singles = [one for source in sources for one in source.examples]
        sources.append(Source(combine_questions(singles, recipe.loop.seed), recipe.combined))
    if recipe.recurring:
        made = [one for one in recurring_questions(further, recipe.loop.seed) if not is_held_out(one)]
        sources.append(Source(made, recipe.recurring))
    for place in data.indexed:
        examples = found_examples(place.index, place.file, progress)
        examples = [one for one in examples if not is_held_out_of_index(one.question)]
        sources.append(Source(examples, len(examples)))
    sources = [source for source in sources if source.examples]
    if not sources:
        raise InputError("no question is left to learn from: give files or indexes with more questions")
    return sources, held_out


def _ask_texts(place: SearchedQuestions, progress: Progress, *, held_out: bool = False) -> list[MeasuredQuestion]:
    """Return the questions of a file, or the held-out ones alone, with the passages that `clew ask` reads."""
    index = place.index
    questions = [one for one in load_questions(place.file) if one.answers]
    questions = [one for one in questions if not held_out or is_held_out_of_index(one.text)]
    measured = []
    for number, one in enumerate(questions):
        progress(f"searching {place.name}", number, len(questions))
        texts = evidence_texts(index.search(one.text, READ_PASSAGES))
        measured.append(MeasuredQuestion(one.text, tuple(one.answers), tuple(texts)))
    return measured


def _calibration(data: ReaderData, progress: Progress) -> Iterator[CalibrationCase]:
    """Yield the questions of the validation and the held-out ones of indexes, some also without gold passages."""
    for place, is_validation in [*((p, True) for p in data.validation), *((p, False) for p in data.indexed)]:
        index = place.index
        questions = [one for one in load_questions(place.file) if one.answers]
        kept = [one for one in questions if is_validation or is_held_out_of_index(one.text)]
        for number, question in enumerate(kept):
            progress(f"calibrating on {place.name}", number, len(kept))
            yield from _ask_with_and_without(index, question, without=number % _WITHOUT_GOLD_EVERY == 0)


def _ask_with_and_without(index: Index, question: Question, *, without: bool) -> Iterator[CalibrationCase]:
    """Yield a question with what a search finds, and without its gold passages; each also without its chains.

    Not every retriever gives chains, and what they say must not be all that is said for an answer.
    """
    found = [(tuple(question.answers), index.search(question.text, READ_PASSAGES))]
    if without:
        found.append(((), remove_gold(index.search(question.text, FOUND), question.gold, READ_PASSAGES)))
    for answers, evidence in found:
        yield CalibrationCase(question.text, answers, evidence)
        yield CalibrationCase(question.text, answers, replace(evidence, chains=()))


def _single_texts(examples: Sequence[ReadingExample], distractors: Distractors, seed: int) -> Iterator[CalibrationCase]:
    """Yield questions on single texts among others of the same words, in any order, some without the right text."""
    chooser = random.Random(seed)
    for number, one in enumerate(examples):
        others = distractors.find_similar(one, 8)[: READ_PASSAGES - 1]
        texts = [*one.gold, *others]
        chooser.shuffle(texts)
        yield CalibrationCase(one.question, one.answers, _as_evidence(texts))
        if number % _WITHOUT_GOLD_EVERY == 0:
            yield CalibrationCase(one.question, (), _as_evidence(others))


def _as_evidence(texts: Sequence[ReaderText]) -> Evidence:
    passages = [Passage(str(n), str(n), one.title, one.text, 0, len(one.text)) for n, one in enumerate(texts)]
    return Evidence(tuple(Scored(passage, 1.0) for passage in passages))


def save_reader(
    out: Path,
    model: SpanReader,
    config: dict[str, Any],
    tokenizer: Tokenizer,
    about: dict[str, Any],
    calibration: dict[str, Any],
    cases: Sequence[CalibrationCase],
) -> None:
    """Write a reader in 8-bit integers into a folder, calibrated on questions with evidence.

    Where these are too few, it keeps the calibration that is given.
    """
    weights = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    with atomic_folder(out) as folder:
        data = reader_model(weights, config).SerializeToString(deterministic=True)
        (folder / MODEL_FILE).write_bytes(data)
        tokenizer.save(str(folder / TOKENIZER_FILE), pretty=False)
        hashes = {name: sha256((folder / name).read_bytes()).hexdigest() for name in (MODEL_FILE, TOKENIZER_FILE)}
        manifest = {"sha256": hashes, "model": config, "calibration": calibration, "about": about}
        _write_manifest(folder, manifest)
        if (fitted := fit_confidence(Reader(folder), cases)) is not None:
            confidence, figures = fitted
            manifest["about"] = {**about, "calibration": {name: round(v, 2) for name, v in figures.items()}}
            _write_manifest(folder, {**manifest, "calibration": confidence_to_dict(confidence)})


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _calibration_of(start: Path) -> dict[str, Any]:
    """Return the calibration of a reader's folder; of a BERT model one by which nothing is asserted."""
    if (start / MODEL_FILE).is_file():
        return dict(read_manifest(start)["calibration"])
    return confidence_to_dict(Confidence((0.0,) * (len(Signals._fields) + 1), 0.0, 1.0))


def open_weights(folder: Path) -> tuple[SpanReader, dict[str, Any]]:
    """Return the network of a reader's folder or of a BERT model's, and the settings of its shape."""
    if (folder / MODEL_FILE).is_file():
        config = dict(read_manifest(folder)["model"])
        parameters = read_parameters(onnx.load(folder / MODEL_FILE), int(config["num_attention_heads"]))
        model = SpanReader(BertConfig(**config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
        model.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in parameters.items()})
        return model, config
    try:
        model = read_body(folder)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds neither a reader nor a BERT model ({error}): give another --start") from error
    return model, {name: getattr(model.bert.config, name) for name in _SHAPE}


_SHAPE = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "type_vocab_size", "layer_norm_eps",
)  # fmt: skip


def open_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of a folder, without padding and truncation."""
    if not (folder / TOKENIZER_FILE).is_file():
        raise InputError(
            f"{folder} holds neither a reader nor a BERT model (no {TOKENIZER_FILE}): give another --start"
        )
    content = (folder / TOKENIZER_FILE).read_bytes()
    if not content.startswith(b"{") or b'"model"' not in content:
        raise InputError(f"{folder / TOKENIZER_FILE} is no file of the tokenizers library: give another --start")
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
