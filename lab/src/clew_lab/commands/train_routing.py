"""`clew train routed`."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption
from clew.commands.progress import progress_on_stderr
from clew.plugins.spec import split_list
from clew.text.display import format_count
from clew_lab.training.fitting.routing import RoutingRecipe
from clew_lab.training.recipes.routed import DEFAULT_CHOICES, train_routed


def routing(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl and train.jsonl.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights, the indexes and the observations.")],
    validate: Annotated[
        list[Path] | None,
        typer.Option(help="Folders with corpus.jsonl and dev.jsonl, which set the default choices and price of time."),
    ] = None,
    choices: Annotated[
        str | None,
        typer.Option(
            help="Retrievers to choose among, separated by commas, settings after a colon; pagerank among them."
        ),
    ] = None,
    *,
    recipe: RoutingRecipe,
    device: DeviceOption = None,
) -> None:
    """Train the choice of the retriever routed; every choice answers every question, and is timed."""
    names = DEFAULT_CHOICES if choices is None else tuple(split_list(choices))
    with progress_on_stderr() as progress:
        weights, result = train_routed(data, validate or (), out, names, recipe, progress, device)
    figures = iter(result.figures.items())
    for (name, recall), (_, seconds) in zip(figures, figures, strict=True):
        print(f"{name} {recall:.3f}, {1000 * seconds:.1f} ms")
    price = f"a second has to buy {weights.seconds_price:g} points of recall"
    print(f"default choices {'+'.join(weights.default_choices)}; {price}")
    print(f"weights in {out}, learned from {format_count(result.questions, 'question')} in {result.seconds:.0f} s")
