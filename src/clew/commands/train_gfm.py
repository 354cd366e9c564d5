"""`clew train gfm`, `clew adapt` and `clew weights import`: weights of the retriever gfm."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption, IndexOption
from clew.commands.progress import progress_on_stderr
from clew.commands.record_options import Only
from clew.index import open as open_index
from clew.settings import load_settings
from clew.text.counts import format_count
from clew.training.recipes.gfm_recipe import ADAPTATION, GFMRecipe
from clew.types import ignore_progress


def gfm(
    out: Annotated[Path, typer.Option(help="Folder for the weights and the run, which resumes after a stop.")],
    data: Annotated[
        list[Path] | None, typer.Option(help="Folders with corpus.jsonl, and train.jsonl to fine-tune.")
    ] = None,
    index: Annotated[
        list[str] | None,
        typer.Option(help="Indexes that exist: INDEX, but INDEX=QUESTIONS to fine-tune; several may be given."),
    ] = None,
    validate: Annotated[
        list[str] | None,
        typer.Option(
            help="What chooses the epoch: folders with corpus.jsonl and dev.jsonl, or INDEX=QUESTIONS; to pretrain, "
            "folders with corpus.jsonl, or indexes."
        ),
    ] = None,
    *,
    recipe: GFMRecipe,
    device: DeviceOption = None,
) -> None:
    """Train the graph neural network of the retriever gfm, on several GPUs where torchrun starts it."""
    from clew.training.data.corpora import IndexedQuestions, is_data_folder
    from clew.training.distributed import join_process_group
    from clew.training.recipes.gfm import train_gfm

    recipe = replace(recipe, completion=replace(recipe.completion, batch=recipe.loss.batch))
    with (
        join_process_group(load_settings().device if device is None else device) as processes,
        nullcontext(ignore_progress) if processes.rank else progress_on_stderr() as progress,
    ):
        of_facts = recipe.stage == "pretrain"
        folders = [Path(place) for place in validate or () if is_data_folder(place, or_index=of_facts)]
        judges = [IndexedQuestions.parse(place) for place in validate or () if Path(place) not in folders]
        sources = [IndexedQuestions.parse(place) for place in index or ()]
        result = train_gfm(data or (), folders, out, recipe, progress, processes, sources, judges)
        if processes.rank:
            return
    for name, value in result.figures.items():
        print(f"{name}: {value:.3f}")
    if result.gold_nodes_outside:
        share = 100.0 * result.gold_nodes_outside / result.gold_nodes
        print(
            f"{result.gold_nodes_outside} of {result.gold_nodes} gold {recipe.targets} ({share:.1f}%) lie outside the "
            "graphs of their questions and were not learned: raise --nodes"
        )
    epoch = result.best_epoch + 1
    which = "best" if result.figures else "last"  # without figures nothing was compared
    best = f"{which} epoch {epoch}" if epoch else "no epoch was better than the start, which they are"
    print(f"weights in {out}, {best}, {result.seconds:.0f} s of training")


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
    recipe: Annotated[GFMRecipe, Only("questions", "epochs", "rate", "seed")] = ADAPTATION,
    device: DeviceOption = None,
) -> None:
    """Tune gfm on your own documents, without labels; the weights are stored if they win on held-out questions."""
    from clew.training.distributed import single_process
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


def import_weights(
    checkpoint: Annotated[
        str, typer.Argument(help="Folder with config.json and model.pth of GFM-RAG or G-reasoner, or hf:owner/name.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the weights, for --retriever gfm:weights=FOLDER.")],
) -> None:
    """Read a checkpoint of GFM-RAG or G-reasoner; nothing in it is executed, and all tensors must fit."""
    from clew.retrievers.gfm.published_checkpoint import load_published_checkpoint, locate_checkpoint
    from clew.retrievers.gfm.weights import save_weights

    folder = locate_checkpoint(checkpoint)
    trained = load_published_checkpoint(folder)
    name = folder.name if folder == Path(checkpoint) else checkpoint
    save_weights(out, trained, {"imported from": name}, half=False)
    shape = trained.model.settings
    count = sum(array.size for array in trained.model.arrays.values())
    print(f"{count:,} parameters, {shape.layers} layers of width {shape.width}, encoder {trained.encoder.name}")
    form = trained.form
    best = "all entities" if form.entities is None else f"the best {format_count(form.entities, 'entity')}"
    if trained.targets == "documents":
        print(f"seeds {form.seeds}; it scores documents, and reads their texts and the names of entities")
    else:
        print(f"seeds {form.seeds}, ranker {form.ranker} ({best}), rarity {'yes' if form.rarity else 'no'}")
    print(f"use it: clew search QUESTION --index INDEX --retriever gfm:weights={out}")
