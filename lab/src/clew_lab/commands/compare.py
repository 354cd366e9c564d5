"""`clew compare`."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.commands.options import DeviceOption, JsonFlag, check_folder
from clew.commands.output import print_json, print_note
from clew.commands.progress import progress_on_stderr
from clew.commands.record_options import Without
from clew.commands.reports import print_comparisons
from clew.errors import InputError
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.protocols import LOCAL_READER
from clew.settings import load_settings
from clew.text.display import format_count
from clew_lab.commands.options import DtypeOption
from clew_lab.commands.train_subgraph import GraphEncoderOption, SplitOption, note_truncated
from clew_lab.graph.prizes import EDGE_COST
from clew_lab.retrievers.selectors import TOP_EDGES, TOP_NODES, SteinerSelector
from clew_lab.training.data.graph_sources import GraphQuestionSource, load_comparison_splits
from clew_lab.training.recipes.reader_settings import ReaderSettings
from clew_lab.training.recipes.selection_recipe import SelectionRecipe

if TYPE_CHECKING:
    from clew.types import Progress
    from clew_lab.evaluation.compare_subgraphs import SelectionReport

_SIZES = ("nodes", "tokens", "select_ms", "read_ms", "train_seconds")
_SHARES = ("accuracy", "published", "F1", "containment", "gold")
_DECIMALS = dict.fromkeys((*_SHARES, "loss"), 3) | dict.fromkeys(_SIZES, 1)


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
    topk: Annotated[int, typer.Option(min=1, help="Nodes that have a prize in steiner.")] = TOP_NODES
    topk_e: Annotated[
        int, typer.Option(min=1, help="Similarities of edges that have a prize in steiner; G-Retriever: 3 for scenes.")
    ] = TOP_EDGES
    cost: Annotated[float, typer.Option(min=0.0, help="Cost of an edge in steiner.")] = EDGE_COST
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds of training, starts and samples.")] = 3
    recipe: Annotated[SelectionRecipe, Without("objective", "patience", "seed")] = field(
        default_factory=SelectionRecipe
    )
    encoder: GraphEncoderOption = DEFAULT_ENCODER
    device: DeviceOption = None
    dtype: DtypeOption = "float32"
    runs: Annotated[
        Path | None,
        typer.Option(help="Folder for the networks, so that a killed run resumes; by default they are not stored."),
    ] = None
    json_: JsonFlag = False


def compare(options: CompareOptions) -> None:
    """Compare ways of selecting subgraphs: the same questions, reader and budget; accuracy, gold, tokens, time."""
    names = _selected_names(options.select, options.reader)
    options.source.check(options.split)
    if options.runs is not None:
        check_folder("--runs", options.runs)
    with progress_on_stderr() as progress, tempfile.TemporaryDirectory() as scratch:
        found = _compare_selected(options, names, options.runs or Path(scratch), progress)
    report = found.to_json()
    if options.json_:
        print_json(report)
        return
    for name, count in report["shortened"].items():
        note_truncated(f"{name}: ", count, options.reader.context_tokens)
    _print_selections(report, found.validation_questions)
    print_comparisons(report)


def _selected_names(select: str | None, reader: ReaderSettings) -> list[str]:
    """Return the names of the selections to compare, by default all that the reader can read, but steiner-fill."""
    from clew_lab.evaluation.compare_subgraphs import OWN_READER_SELECTIONS, SELECTIONS, check_selection_names

    is_local = reader.name == LOCAL_READER
    if select is None:
        known = SELECTIONS if is_local else (*SELECTIONS, *OWN_READER_SELECTIONS)
        return [name for name in known if name != "steiner-fill"]
    names = [name.strip() for name in select.split(",") if name.strip()]
    check_selection_names(names)
    if is_local and (lacking := [name for name in names if name in OWN_READER_SELECTIONS]):
        raise InputError(f"{lacking[0]} reads graph tokens: give --reader FOLDER with a causal language model")
    return names


def _compare_selected(
    options: CompareOptions, names: Sequence[str], runs: Path, progress: "Progress"
) -> "SelectionReport":
    from clew.models.encoders.registry import open_encoder
    from clew.training.checkpoint import single_process
    from clew_lab.evaluation.compare_subgraphs import ComparisonConfig, compare_selections
    from clew_lab.training.recipes.graph_readers import open_model, reader_factory, token_reader_factories

    # First what can fail at once: a language model or an encoder that cannot be opened.
    device = load_settings().device if options.device is None else options.device
    model = open_model(options.reader, device, options.dtype)
    encoder = open_encoder(options.encoder, device=device)
    splits = load_comparison_splits(
        options.source, options.split, options.test, options.test_split, encoder, progress, print_note
    )
    config = ComparisonConfig(
        splits.train,
        splits.validation,
        splits.test,
        reader_factory(options.reader, model, encoder, splits.train, splits.choices),
        encoder,
        options.recipe.feedback.budget,
        token_reader_factories(options.reader, model, encoder),
        splits.choices,
        splits.rule,
        SteinerSelector(options.topk, options.topk_e, options.cost),
        single_process(device),
    )
    return compare_selections(config, names, range(options.seeds), options.recipe, runs, progress)


def _print_selections(report: Mapping[str, Any], validation: int) -> None:
    budget = f"budget {format_count(report['budget'], 'node')}, {format_count(report['seeds'], 'seed')}"
    others = f"{report['learned_from']} to learn from, {validation} that choose the epoch"
    print(f"{format_count(report['questions'], 'question')}, {others}, {budget}")
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
