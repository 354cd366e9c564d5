"""The commands that make weights: `clew train`, `clew adapt`, `clew weights`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

if TYPE_CHECKING:
    from clew.training.recipes.gfm import GFMRecipe

train = typer.Typer(help="Train weights on your own data.", rich_markup_mode=None)
weights = typer.Typer(help="Bring in weights that were trained elsewhere.", rich_markup_mode=None)

Whole = Optional[int]  # noqa: UP045 - typer reads Optional on every Python it supports
Number = Optional[float]  # noqa: UP045
Flag = Optional[bool]  # noqa: UP045
Word = Optional[str]  # noqa: UP045


@train.command()
def gfm(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl, and train.jsonl to fine-tune.")],
    out: Annotated[Path, typer.Option(help="Gets the weights; the run is kept in it, and goes on after a stop.")],
    validate: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(help="Folders with corpus.jsonl, and dev.jsonl but to pretrain; they choose the epoch."),
    ] = None,
    stage: Annotated[
        str, typer.Option(help="pretrain (complete facts), paths (questions made of the graph) or finetune.")
    ] = "finetune",
    start: Annotated[Optional[Path], typer.Option(help="Weights to begin with; their shape is kept.")] = None,  # noqa: UP045
    targets: Annotated[Word, typer.Option(help="passages, or entities as published.")] = None,
    width: Annotated[Whole, typer.Option(help="Width of a node's state; 64.")] = None,
    layers: Annotated[Whole, typer.Option(help="How many steps a message goes; 3.")] = None,
    nodes: Annotated[
        Whole, typer.Option(help="Nodes of a question's graph, at most; 100, or 1000 of entities; 250 to pretrain.")
    ] = None,
    message: Annotated[Word, typer.Option(help="distmult or transe.")] = None,
    aggregate: Annotated[Word, typer.Option(help="sum or mean.")] = None,
    features: Annotated[Flag, typer.Option("--features/--no-features", help="What the walk knows of a node.")] = None,
    prior: Annotated[Flag, typer.Option("--prior/--no-prior", help="Start from the walk's ranking.")] = None,
    alpha: Annotated[Number, typer.Option(help="Share of the cross-entropy; 0.3, to pretrain 1.")] = None,
    ranking: Annotated[str, typer.Option(help="listwise, or the ratio of the paper or of its code.")] = "listwise",
    fraction: Annotated[float, typer.Option(help="Share of the training questions that is used.")] = 1.0,
    questions: Annotated[int, typer.Option(help="Path questions made of each corpus.")] = 1000,
    steps: Annotated[int, typer.Option(help="Batches of facts an epoch, to pretrain.")] = 400,
    negatives: Annotated[int, typer.Option(help="Wrong ends drawn for each fact, to pretrain.")] = 128,
    batch: Annotated[int, typer.Option(help="Questions or facts a step.")] = 8,
    epochs: Annotated[int, typer.Option(help="How often each question is seen.")] = 4,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-3,
    patience: Annotated[int, typer.Option(help="Epochs without a better figure before it stops; 0 never.")] = 0,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda; start it by torchrun for several.")] = "auto",
) -> None:
    """Train the graph neural network of the retriever gfm."""
    from contextlib import nullcontext

    from clew.commands.output import progress_on_stderr
    from clew.training.distributed import join_process_group
    from clew.training.recipes.gfm import train_gfm
    from clew.types import ignore_progress

    shape = {"width": width, "layers": layers, "nodes": nodes, "message": message, "aggregate": aggregate}
    shape |= {"targets": targets, "features": features, "prior": prior}
    share = (1.0 if stage == "pretrain" else 0.3) if alpha is None else alpha
    what = {"stage": stage, "start": start, "fraction": fraction, "questions": questions}
    loss = {"alpha": share, "ranking": ranking, "batch": batch}
    learning = {"epochs": epochs, "rate": rate, "patience": patience, "seed": seed}
    recipe = _recipe(what, shape, loss, {"steps": steps, "negatives": negatives}, learning)
    with (
        join_process_group(device) as processes,
        nullcontext(ignore_progress) if processes.rank else progress_on_stderr() as progress,
    ):
        result = train_gfm(data, validate or (), out, recipe, progress, processes)
        if processes.rank:
            return
    for name, value in result.figures.items():
        print(f"{name}: {value:.3f}")
    best = (
        f"best epoch {result.best_epoch + 1}"
        if result.best_epoch >= 0
        else "no epoch was better than the start, which they are"
    )
    print(f"weights in {out}, {best}, {result.seconds:.0f} s of training")


@train.command()
def routed(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl and train.jsonl.")],
    out: Annotated[Path, typer.Option(help="Gets the weights; indexes and what was observed are kept in it.")],
    validate: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(help="Folders with corpus.jsonl and dev.jsonl; they choose the usual choices and price."),
    ] = None,
    choices: Annotated[
        Word, typer.Option(help="Retrievers to choose among, by commas, settings after a colon; pagerank among them.")
    ] = None,
    cutoff: Annotated[int, typer.Option(help="Recall is that of the first so many passages.")] = 5,
    penalty: Annotated[float, typer.Option(help="Questions' worth of doubt in every signal.")] = 100.0,
    kept: Annotated[float, typer.Option(help="Share of the recall that the usual price of time keeps.")] = 0.995,
) -> None:
    """Train what the retriever routed chooses by; every choice is asked every question, and timed."""
    from clew.commands.output import progress_on_stderr
    from clew.plugins.spec import split_list
    from clew.training.fitting.routing import RoutingRecipe
    from clew.training.recipes.routed import DEFAULT_CHOICES, train_routed

    names = DEFAULT_CHOICES if choices is None else tuple(split_list(choices))
    recipe = RoutingRecipe(cutoff, penalty, kept)
    with progress_on_stderr() as progress:
        result = train_routed(data, validate or (), out, names, recipe, progress)
    for name, outcomes in result.outcomes.items():
        for choice, outcome in outcomes.items():
            print(f"{name}, {choice}: recall@{cutoff} {outcome.recall:.3f}, {1000 * outcome.seconds:.1f} ms")
    chosen = result.weights
    print(
        f"usual choices {'+'.join(chosen.default_choices)}; a second has to buy {chosen.seconds_price:g} points of "
        f"recall"
    )
    print(f"weights in {out}, learned from {result.questions} questions in {result.seconds:.0f} s")


def _recipe(
    what: dict[str, Any],
    shape: dict[str, Any],
    loss: dict[str, Any],
    drawn: dict[str, Any],
    learning: dict[str, Any],
) -> "GFMRecipe":
    """Return a recipe of what was given; what was not is the start's, or the default."""
    from clew.training.loop import Recipe
    from clew.training.objectives.document_retrieval import RetrievalLoss
    from clew.training.objectives.kg_completion import CompletionRecipe
    from clew.training.recipes.gfm import DEFAULT_NODES, GFMRecipe, settings_of_weights

    start = what["start"]
    whole = {} if start is None else settings_of_weights(start)
    whole |= {name: value for name, value in shape.items() if value is not None}
    whole.setdefault("nodes", DEFAULT_NODES.get(whole.get("targets", "passages"), 1))
    completion = CompletionRecipe(**drawn, batch=loss["batch"], nodes=min(whole["nodes"], CompletionRecipe().nodes))
    return GFMRecipe(**what, **whole, loss=RetrievalLoss(**loss), completion=completion, loop=Recipe(**learning))


def adapt(
    index: Annotated[str, typer.Option("--index", help="The index: a folder, or s3://bucket/prefix.")],
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Gets the weights; by default the index itself, where gfm finds them."),
    ] = None,
    start: Annotated[Optional[Path], typer.Option(help="Weights to begin with; those gfm uses now.")] = None,  # noqa: UP045
    questions: Annotated[int, typer.Option(help="Questions made of the index, at most.")] = 1500,
    epochs: Annotated[int, typer.Option(help="How often each is seen.")] = 1,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-4,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
) -> None:
    """Tune gfm on your own documents, without a label; the weights are kept if they win on questions held out."""
    from clew import index as indexes
    from clew.commands.output import progress_on_stderr
    from clew.training.recipes.gfm import ADAPTATION, adapt_gfm

    loop = replace(ADAPTATION.loop, epochs=epochs, rate=rate, seed=seed)
    recipe = replace(ADAPTATION, questions=questions, loop=loop)
    with progress_on_stderr() as progress:
        opened = indexes.open(index, progress)
        begin = opened.context.weights_folder("gfm") if start is None else start
        place = opened.context.own_weights_folder("gfm") if out is None else out
        result = adapt_gfm(opened, begin, place, recipe, progress)
    print(f"{result.learned} questions made of the index, {result.held_out} more held out; {result.seconds:.0f} s")
    for name, value in result.after.items():
        print(f"{name}: {result.before[name]:.3f} before, {value:.3f} after")
    if result.kept:
        print(f"kept: weights in {place}")
    else:
        print("not kept: no epoch was better than before on the questions held out; nothing was changed")


@weights.command(name="import")
def import_(
    checkpoint: Annotated[Path, typer.Argument(help="Folder with config.json and model.pth of GFM-RAG.")],
    out: Annotated[Path, typer.Option(help="Gets the weights, for --retriever gfm:weights=FOLDER.")],
) -> None:
    """Read a published GFM-RAG checkpoint; nothing in it is run, and every tensor has to fit."""
    from clew.retrievers.gfm.published_checkpoint import load_published_checkpoint
    from clew.retrievers.gfm.weights import save_weights

    read = load_published_checkpoint(checkpoint)
    save_weights(out, read, {"imported from": checkpoint.name}, half=False)
    shape = read.model.settings
    count = sum(parameter.numel() for parameter in read.model.parameters())
    print(f"{count:,} parameters, {shape.layers} layers of width {shape.width}, encoder {read.encoder.name}")
    print(f"use it: clew search QUESTION --index INDEX --retriever gfm:weights={out}")
