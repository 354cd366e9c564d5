"""`clew train gfm` and `clew weights import`: weights of the retrievers gfm and gfm-paper."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption
from clew.commands.progress import progress_on_stderr
from clew.settings import load_settings
from clew.text.display import format_count
from clew.types import ignore_progress
from clew_lab.training.recipes.gfm_recipe import GFMRecipe


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
    from clew.training.checkpoint import join_process_group
    from clew.training.data.corpora import IndexedQuestions, is_data_folder
    from clew_lab.training.recipes.gfm import train_gfm

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


def import_weights(
    checkpoint: Annotated[
        str, typer.Argument(help="Folder with config.json and model.pth of GFM-RAG or G-reasoner, or hf:owner/name.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the weights, for --retriever gfm-paper:weights=FOLDER.")],
) -> None:
    """Read a checkpoint of GFM-RAG or G-reasoner; nothing in it is executed, and all tensors must fit."""
    from clew.retrievers.gfm.weights import save_weights
    from clew_lab.gfm.published_checkpoint import load_published_checkpoint, locate_checkpoint

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
    print(f"use it: clew search QUESTION --index INDEX --retriever gfm-paper:weights={out}")
