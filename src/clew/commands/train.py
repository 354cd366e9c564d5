"""`clew adapt` and `clew train`: weights that are tuned or trained on the data of a user."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption, IndexOption, check_folder, find_default_index
from clew.commands.progress import progress_on_stderr
from clew.commands.record_options import Only
from clew.datasets.questions import read_records
from clew.errors import InputError
from clew.index import open as open_index
from clew.models.reader.reader import READER_FOLDER, read_manifest
from clew.text.display import format_count
from clew.training.fitting.span_tagger import ExtractorRecipe
from clew.training.hyperparameters import AdaptRecipe, ReaderRecipe
from clew.training.recipes.extractor import train_extractor
from clew.training.recipes.router import train_router

_RECIPE = AdaptRecipe()


def adapt(
    index: IndexOption,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the weights; by default the index, where gfm finds them.")
    ] = None,
    start: Annotated[Path | None, typer.Option(help="Weights to begin with; by default those that gfm uses.")] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(help="Questions of your own with their evidence, a few dozen: JSONL as for clew eval."),
    ] = None,
    recipe: Annotated[AdaptRecipe, Only("questions", "epochs", "rate", "seed")] = _RECIPE,
    device: DeviceOption = None,
) -> None:
    """Tune gfm on your own documents, without labels; the weights are stored if they win on held-out questions."""
    from clew.training.checkpoint import single_process
    from clew.training.recipes.gfm_adapt import adapt_gfm

    with progress_on_stderr() as progress:
        opened = open_index(index, progress, device=device)
        begin = opened.context.weights_folder("gfm") if start is None else start
        folder = opened.context.own_weights_folder("gfm") if out is None else out
        result = adapt_gfm(opened, begin, folder, recipe, progress, single_process(opened.device), labelled)
    made = f"{format_count(result.questions, 'question')} made of the index"
    print(f"{made}, {result.held_out} more held out; {result.seconds:.0f} s")
    for name, value in result.figures.items():
        print(f"{name}: {result.initial_figures[name]:.3f} before, {value:.3f} after")
    if result.best_epoch >= 0:
        print(f"kept: weights in {folder}")
    else:
        print("not kept: no epoch was better than before on the questions held out; nothing was changed")


def router(
    log: Annotated[list[Path], typer.Option(help="Logs of clew ask --feedback; may be given several times.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights.")],
    start: Annotated[Path | None, typer.Option(help="Weights to begin with; by default the package's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Train the hop predictor of frag on logs of clew ask --feedback."""
    check_folder("--out", out)
    count = train_router(log, out, start, seed)
    print(f"learned from {format_count(count, 'question')}")
    print(f"weights in {out}; use them: --retriever frag:router_weights={out}")


def extractor(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl and openie.jsonl, its annotations.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights.")],
    cased: Annotated[
        list[Path] | None, typer.Option(help="Folders with corpus.jsonl, whose capitals teach as well.")
    ] = None,
    *,
    recipe: ExtractorRecipe,
) -> None:
    """Train the names that learned finds; use it by clew index --extractor learned:FOLDER."""
    with progress_on_stderr() as progress:
        result = train_extractor(data, cased or (), out, recipe, progress)
    print(
        f"names of {format_count(result.held_out, 'passage')} held out:",
        *(f"{k} {v:.3f}" for k, v in result.figures.items()),
    )
    print(f"weights in {out}, learned from {format_count(result.questions, 'passage')} in {result.seconds:.0f} s")


def reader(
    files: Annotated[
        list[Path],
        typer.Argument(help="Questions with answers: JSONL with their passages, or as for clew eval with --index."),
    ],
    index: Annotated[
        str | None, typer.Option(help="The index that questions without passages are asked; else CLEW_INDEX.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the weights; by default the index, where clew ask finds them.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option(help="Weights to begin with: of a reader or a BERT model; by default the package's.")
    ] = None,
    *,
    recipe: Annotated[ReaderRecipe, Only("epochs", "rate", "batch", "seed")],
    device: DeviceOption = None,
) -> None:
    """Train the reader of clew ask on questions of your own, with their answers."""
    from clew.training.checkpoint import single_process
    from clew.training.recipes.reader import QuestionFile, ReaderData, SearchedQuestions, train_reader

    given = [file for file in files if "passages" in next(read_records(file)).fields]
    others = [file for file in files if file not in given]
    with progress_on_stderr() as progress:
        index = find_default_index() if index is None and (others or out is None) else index
        opened = None if index is None else open_index(index, progress)
        folder = out or (opened.context.own_weights_folder("reader") if opened else None)
        if folder is None or (others and opened is None):
            fault = f"{others[0]} has no passages" if others else "there is neither --index nor --out"
            raise InputError(f"{fault}: give --index, the index that is asked and keeps the weights")
        name = str(index).rstrip("/").rpartition("/")[2]
        searched = [SearchedQuestions(file, opened, name) for file in others] if opened else []
        data = ReaderData([QuestionFile(file) for file in given], searched)
        result = train_reader(data, start or READER_FOLDER, folder, recipe, progress, single_process(device or "auto"))
    for name, value in result.figures.items():
        print(f"{name}: {result.initial_figures[name]:.1f} before, {value:.1f} after")
    if result.best_epoch < 0:
        print("no epoch measured better than the weights before: these are kept")
    if calibrated := read_manifest(folder)["about"].get("calibration"):
        asserted, right = calibrated["asserted"], calibrated["right of the asserted"]
        print(f"answers asserted from now on: {asserted:.0f}% of those held out, {right:.0f}% of them right")
    else:
        print("too few questions are held out to say which answers are sure: they are asserted as before")
    print(f"weights in {folder}, learned from {format_count(result.questions, 'question')} in {result.seconds:.0f} s")
