"""The commands over questions on textual graphs: `clew train subgraph` and `clew compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from clew.commands.options import JsonFlag, check_folder
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.evaluation.compare_subgraphs import ComparisonConfig
    from clew.retrievers.subgraph.gcn_weights import ScorerSettings
    from clew.training.data.graph_sources import GraphQuestionSource
    from clew.training.loop import Recipe
    from clew.training.objectives.subgraph_feedback import FeedbackRecipe
    from clew.training.recipes.graph_readers import ReaderSettings

DataOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Questions with graphs of their own: a folder in G-Retriever's layout, or ExplaGraphs as JSONL."),
]
KgOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="In the place of --data: a graph of triples, cut out around what each of --questions names."),
]
QuestionsOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Questions on --kg or --index: JSONL with question, topic, answers and, where known, paths."),
]
IndexesOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--index", help="In the place of --kg: an index, as far as gcn-subgraph looks at it."),
]
HopsOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, max=4, help="How far around a topic --kg is cut out; 3."),
]
LimitOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=2, help="Questions used at most of each file or split, spread evenly over it."),
]
ReaderOption = Annotated[str, typer.Option(help="local, or a causal language model: a folder or a name on the hub.")]
SoftPromptOption = Annotated[
    int, typer.Option(min=0, help="Virtual tokens before the prompt of a language model, which learn; 0 for none.")
]
GraphTokenOption = Annotated[
    str, typer.Option(help="A token that learns, made of the selected part, of the whole graph, or none.")
]
ContextOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, help="Tokens of a graph's text that a language model reads, at most; 512."),
]
SplitOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="Of --data FOLDER with split/: what is learned from; train."),
]
TestOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Questions to measure on, of the same form; without it a split, or a fifth of the groups."),
]
TestSplitOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="The same: what is measured on, of --test where that is given; test."),
]
SelectOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="gcn, gcn-paper, gcn-untrained, steiner, steiner-fill, top-k, ego, random, whole; with a language "
        "model also g-retriever (steiner and a token of the part) and graphtoken (a token of the whole graph, no "
        "text). All but steiner-fill by default."
    ),
]
RunsOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Keeps the networks, so that a run that was killed goes on; else they are thrown away."),
]
BudgetOption = Annotated[int, typer.Option(min=1, help="Nodes of a selection, at most.")]
ObjectiveOption = Annotated[str, typer.Option(help="policy, or paper (the printed loss).")]
InputsOption = Annotated[str, typer.Option(help="question, or text (the published network's).")]
CombinationOption = Annotated[str, typer.Option(help="sum, or product (the published network's).")]
StopsOption = Annotated[bool, typer.Option("--stops", help="A selection may end before the budget is spent.")]
DrawsOption = Annotated[int, typer.Option(min=2, help="Selections of a question that are judged together.")]
PriceOption = Annotated[float, typer.Option(min=0.0, help="Of a selected node, in nats of the reader's loss.")]
EpochsOption = Annotated[int, typer.Option(min=1, help="How often each question is seen, at most.")]
RateOption = Annotated[float, typer.Option(help="Highest learning rate.")]
WidthOption = Annotated[int, typer.Option(min=1, help="Of the network's hidden layers.")]
EncoderName = Annotated[str, typer.Option(help="Of the graphs' texts; the index's, where the weights are for one.")]


def subgraph(
    out: Annotated[Path, typer.Option(help="Gets the weights, and the state of the run.")],
    data: DataOption = None,
    kg: KgOption = None,
    index: IndexesOption = None,
    questions: QuestionsOption = None,
    split: SplitOption = None,
    hops: HopsOption = None,
    limit: LimitOption = None,
    reader: ReaderOption = "local",
    soft_prompt: SoftPromptOption = 0,
    graph_token: GraphTokenOption = "none",  # noqa: S107 - no password
    context_tokens: ContextOption = None,
    objective: ObjectiveOption = "policy",
    budget: BudgetOption = 20,
    inputs: InputsOption = "question",
    combination: CombinationOption = "sum",
    stops: StopsOption = False,
    draws: DrawsOption = 4,
    price: PriceOption = 0.0,
    width: WidthOption = 64,
    epochs: EpochsOption = 3,
    rate: RateOption = 2e-3,
    encoder: EncoderName = "all-MiniLM-L6-v2",
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
) -> None:
    """Train what selects subgraphs by how well a reader answers; used by --retriever gcn-subgraph:weights=FOLDER."""
    from clew.commands.output import print_note, progress_on_stderr
    from clew.evaluation.evaluate_subgraphs import count_truncated
    from clew.models.encoders.registry import open_encoder
    from clew.retrievers.subgraph.gcn_weights import save_scorer
    from clew.training.data.graph_sources import GraphQuestionSource, load_training_splits
    from clew.training.recipes.graph_readers import ReaderSettings, reader_factory, save_soft_prompt
    from clew.training.recipes.subgraph import train_selection

    check_folder("--out", out)
    settings, feedback, recipe = _networks(
        (inputs, combination, width, stops), (objective, budget, draws, price), (epochs, rate, seed)
    )
    choice = ReaderSettings(reader, soft_prompt, graph_token, context_tokens)
    source = GraphQuestionSource(data, kg, index, questions, hops, limit)
    source.check(split)
    with progress_on_stderr() as progress:
        model, opened = choice.open_model(), open_encoder(encoder)
        parts = load_training_splits(source, split, opened, seed, progress, print_note)
        judge = reader_factory(choice, model, opened, parts.train, parts.choices)(seed)
        trained, told = train_selection(
            parts.train, parts.validation, judge, opened, settings, feedback, recipe, out / "run", progress
        )
        save_scorer(out, trained)
        soft = save_soft_prompt(judge, out / "reader")
    chosen = f"{told.held} chose the epoch: {_format_epoch(told.best)}"
    print(f"learned from {told.questions} questions, {chosen}, {told.seconds:.0f} s")
    for name, value in told.figures.items():
        print(f"{name}: {value:.3f} (untrained: {told.started_at[name]:.3f})")
    print(f"weights in {out}; use them: --retriever gcn-subgraph:weights={out}")
    _note_shortened("", count_truncated(judge), context_tokens)
    if soft:
        print(f"what the reader learned is in {out / 'reader'}")


def compare(
    data: DataOption = None,
    kg: KgOption = None,
    index: IndexesOption = None,
    questions: QuestionsOption = None,
    test: TestOption = None,
    split: SplitOption = None,
    test_split: TestSplitOption = None,
    hops: HopsOption = None,
    limit: LimitOption = None,
    select: SelectOption = None,
    reader: ReaderOption = "local",
    soft_prompt: SoftPromptOption = 0,
    graph_token: GraphTokenOption = "none",  # noqa: S107 - no password
    context_tokens: ContextOption = None,
    budget: BudgetOption = 20,
    seeds: Annotated[int, typer.Option(min=1, help="Of teaching, starts and draws.")] = 3,
    inputs: InputsOption = "question",
    combination: CombinationOption = "sum",
    stops: StopsOption = False,
    draws: DrawsOption = 4,
    price: PriceOption = 0.0,
    width: WidthOption = 64,
    epochs: EpochsOption = 3,
    rate: RateOption = 2e-3,
    encoder: EncoderName = "all-MiniLM-L6-v2",
    runs: RunsOption = None,
    json_: JsonFlag = False,
) -> None:
    """Compare ways of selecting subgraphs: the same questions, reader and budget; accuracy, gold kept, tokens, time."""
    import json
    import tempfile

    from clew.commands.output import print_comparisons, progress_on_stderr
    from clew.evaluation.compare_subgraphs import compare_selections
    from clew.training.data.graph_sources import GraphQuestionSource
    from clew.training.recipes.graph_readers import ReaderSettings

    settings, feedback, recipe = _networks(
        (inputs, combination, width, stops), ("policy", budget, draws, price), (epochs, rate, 0)
    )
    choice = ReaderSettings(reader, soft_prompt, graph_token, context_tokens)
    source = GraphQuestionSource(data, kg, index, questions, hops, limit)
    names = _parse_selections(select, choice)
    source.check(split)
    if runs is not None:
        check_folder("--runs", runs)
    with progress_on_stderr() as progress, tempfile.TemporaryDirectory() as scratch:
        on = _open_comparison(source, (split, test, test_split), choice, encoder, budget, progress)
        report = compare_selections(
            on, names, range(seeds), settings, feedback, recipe, runs or Path(scratch), progress
        ).to_json()
    if json_:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        for name, count in report["shortened"].items():
            _note_shortened(f"{name}: ", count, context_tokens)
        _print_selections(report)
        print_comparisons(report)


def _networks(
    shape: tuple[str, str, int, bool], feedback: tuple[str, int, int, float], steps: tuple[int, float, int]
) -> "tuple[ScorerSettings, FeedbackRecipe, Recipe]":
    """Return how networks are made and trained, as the options say."""
    from clew.retrievers.subgraph.gcn_weights import ScorerSettings
    from clew.training.loop import Recipe
    from clew.training.objectives.subgraph_feedback import FeedbackRecipe, check_stopping

    inputs, combination, width, stops = shape
    epochs, rate, seed = steps
    settings, judged = ScorerSettings(inputs, combination, width, stops=stops), FeedbackRecipe(*feedback)
    check_stopping(settings, judged)
    return settings, judged, Recipe(epochs=epochs, rate=rate, seed=seed, average=0.9, warmup=10)


def _parse_selections(select: str | None, choice: "ReaderSettings") -> list[str]:
    """Return the selections that are asked for, all of them known and with a reader."""
    from clew.evaluation.compare_subgraphs import OWN_READER_SELECTIONS, SELECTIONS, check_selection_names
    from clew.training.recipes.subgraph import LOCAL_READER

    local = choice.name == LOCAL_READER
    if select is None:
        return [name for name in (*SELECTIONS, *(() if local else OWN_READER_SELECTIONS)) if name != "steiner-fill"]
    names = [name.strip() for name in select.split(",") if name.strip()]
    check_selection_names(names)
    if local and (lacking := [name for name in names if name in OWN_READER_SELECTIONS]):
        raise InputError(f"{lacking[0]} reads graph tokens: give --reader FOLDER with a causal language model")
    return names


def _open_comparison(
    source: "GraphQuestionSource",
    parts: tuple[str | None, Path | None, str | None],
    choice: "ReaderSettings",
    encoder: str,
    budget: int,
    progress: Any,
) -> "ComparisonConfig":
    from clew.commands.output import print_note
    from clew.evaluation.compare_subgraphs import ComparisonConfig
    from clew.models.encoders.registry import open_encoder
    from clew.training.data.graph_sources import load_comparison_splits
    from clew.training.recipes.graph_readers import reader_factory, token_reader_factories

    model, opened = choice.open_model(), open_encoder(encoder)  # before all that takes long
    found = load_comparison_splits(source, *parts, opened, progress, print_note)
    reader = reader_factory(choice, model, opened, found.train, found.choices)
    own = token_reader_factories(choice, model, opened)
    return ComparisonConfig(found.train, found.validation, found.test, reader, opened, budget, own)


def _note_shortened(prefix: str, count: int, tokens: int | None) -> None:
    from clew.commands.output import print_note
    from clew.training.recipes.graph_readers import CONTEXT_TOKENS

    if count:
        graphs = f"{count:,} parts of graphs" if count > 1 else "1 part of a graph"
        most = f"{tokens or CONTEXT_TOKENS} tokens (--context-tokens)"
        print_note(f"{prefix}{graphs} had more than {most}, or than the model reads: the last lines were left out")


def _format_epoch(best: int) -> str:
    return "untrained" if best < 0 else f"epoch {best + 1}"


def _print_selections(report: "dict[str, Any]") -> None:
    budget = f"budget {report['budget']} nodes, {report['seeds']} seeds"
    print(f"{report['questions']} questions, {report['learned_from']} to learn from, {budget}")
    told = report["selections"]
    sizes = ("nodes", "tokens", "select_ms", "read_ms", "train_seconds")
    known = [
        (measure, places)
        for measure, places in (*((name, 3) for name in ("accuracy", "gold", "loss")), *((name, 1) for name in sizes))
        if any(measure in found for found in told.values())
    ]
    print("".join(["selection".ljust(15), *(measure.rjust(22) for measure, _ in known)]))
    for name, found in told.items():
        print("".join([name.ljust(15), *(_format_cell(found, measure, places).rjust(22) for measure, places in known)]))


def _format_cell(found: "dict[str, Any]", measure: str, places: int) -> str:
    if measure not in found:
        return ""
    low, high = found["intervals"][measure]
    return f"{found[measure]:.{places}f} ({low:.{places}f}-{high:.{places}f})"
