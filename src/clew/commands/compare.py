"""`clew compare`."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.commands.options import JsonFlag, check_folder
from clew.commands.output import print_json
from clew.commands.progress import progress_on_stderr
from clew.commands.record_options import Without
from clew.commands.reports import print_comparisons
from clew.commands.train_subgraph import DEFAULT_ENCODER, GraphEncoderOption, SplitOption, note_truncated
from clew.training.data.graph_sources import GraphQuestionSource
from clew.training.recipes.records import ReaderSettings, SelectionRecipe

_SIZES = ("nodes", "tokens", "select_ms", "read_ms", "train_seconds")
_DECIMALS = {"accuracy": 3, "gold": 3, "loss": 3} | dict.fromkeys(_SIZES, 1)


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Options of `clew compare`."""

    source: GraphQuestionSource = field(default_factory=GraphQuestionSource)
    test: Annotated[
        Path | None,
        typer.Option(help="Questions to measure on, of the same form; by default a split, or a fifth of the groups."),
    ] = None
    split: SplitOption = None
    test_split: Annotated[
        str | None, typer.Option(help="Split to measure on, of --test if that is given; test by default.")
    ] = None
    select: Annotated[
        str | None,
        typer.Option(
            help="gcn, gcn-paper, gcn-untrained, steiner, steiner-fill, top-k, ego, random, whole; with a language "
            "model also g-retriever (steiner and a token of the part) and graphtoken (a token of the whole graph, no "
            "text). All but steiner-fill by default."
        ),
    ] = None
    reader: ReaderSettings = field(default_factory=ReaderSettings)
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds of training, starts and samples.")] = 3
    recipe: Annotated[SelectionRecipe, Without("objective", "patience", "seed")] = field(
        default_factory=SelectionRecipe
    )
    encoder: GraphEncoderOption = DEFAULT_ENCODER
    runs: Annotated[
        Path | None,
        typer.Option(help="Folder for the networks, so that a killed run resumes; by default they are not stored."),
    ] = None
    json_: JsonFlag = False


def compare(options: CompareOptions) -> None:
    """Compare ways of selecting subgraphs: the same questions, reader and budget; accuracy, gold, tokens, time."""
    from clew.commands.comparing import compare_selected, selected_names

    names = selected_names(options.select, options.reader)
    options.source.check(options.split)
    if options.runs is not None:
        check_folder("--runs", options.runs)
    with progress_on_stderr() as progress, tempfile.TemporaryDirectory() as scratch:
        report = compare_selected(options, names, options.runs or Path(scratch), progress).to_json()
    if options.json_:
        print_json(report)
        return
    for name, count in report["shortened"].items():
        note_truncated(f"{name}: ", count, options.reader.context_tokens)
    _print_selections(report)
    print_comparisons(report)


def _print_selections(report: Mapping[str, Any]) -> None:
    """Print one line per selection, with the interval of each of its measures."""
    budget = f"budget {report['budget']} nodes, {report['seeds']} seeds"
    print(f"{report['questions']} questions, {report['learned_from']} to learn from, {budget}")
    selections = report["selections"]
    measures = [name for name in _DECIMALS if any(name in figures for figures in selections.values())]
    print("".join(["selection".ljust(15), *(measure.rjust(22) for measure in measures)]))
    for name, figures in selections.items():
        print("".join([name.ljust(15), *(_format_cell(figures, measure).rjust(22) for measure in measures)]))


def _format_cell(figures: Mapping[str, Any], measure: str) -> str:
    if measure not in figures:
        return ""
    decimals = _DECIMALS[measure]
    low, high = figures["intervals"][measure]
    return f"{figures[measure]:.{decimals}f} ({low:.{decimals}f}-{high:.{decimals}f})"
