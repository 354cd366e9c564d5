"""The commands over questions on textual graphs: `clew train subgraph` and `clew compare`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from clew.cli_options import JsonFlag
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.comparing_subgraphs import Comparing
    from clew.protocols import Encoder, GraphReader
    from clew.teaching_subgraphs import AskedQuestion

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
HopsOption = Annotated[int, typer.Option(min=1, max=4, help="How far around a topic --kg is cut out.")]
LimitOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=2, help="Questions used at most, spread evenly over the file."),
]
ReaderOption = Annotated[str, typer.Option(help="local, or a causal language model: a folder or a name on the hub.")]
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
_HELD = 0.15  # of the questions to learn from, whose losses choose the epoch


@dataclass(frozen=True, slots=True)
class _Where:
    """Where questions on graphs come from, as the options say."""

    data: Path | None
    kg: Path | None
    index: str | None
    questions: Path | None
    hops: int
    limit: int | None


def subgraph(
    out: Annotated[Path, typer.Option(help="Gets the weights, and the state of the run.")],
    data: DataOption = None,
    kg: KgOption = None,
    index: IndexesOption = None,
    questions: QuestionsOption = None,
    hops: HopsOption = 3,
    limit: LimitOption = None,
    reader: ReaderOption = "local",
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
    from clew.models.encoders import open_encoder
    from clew.reporting import progress_on_stderr
    from clew.retrievers.subgraph_weights import ScorerSettings, save_scorer
    from clew.teaching_subgraphs import parted, train_selection
    from clew.training.loop import Recipe
    from clew.training.subgraph_feedback import FeedbackRecipe

    if out.is_file():
        raise InputError(f"--out is {str(out)!r}, which is a file: name a folder")
    settings = ScorerSettings(inputs, combination, width, stops=stops)
    feedback = FeedbackRecipe(objective, budget, draws, price)
    recipe = Recipe(epochs=epochs, rate=rate, seed=seed, average=0.9, warmup=10)
    with progress_on_stderr() as progress:
        opened = open_encoder(encoder)
        asked, choices = _asked(_Where(data, kg, index, questions, hops, limit), opened, progress)
        learned, held = parted(asked, 1 - _HELD, seed)
        judge = _readers(reader, opened, learned, choices)(seed)
        trained, told = train_selection(learned, held, judge, opened, settings, feedback, recipe, out / "run", progress)
        save_scorer(out, trained)
    chosen = f"{told.held} chose the epoch: {_epoch(told.best)}"
    print(f"learned from {told.questions} questions, {chosen}, {told.seconds:.0f} s")
    for name, value in told.figures.items():
        print(f"{name}: {value:.3f} (untrained: {told.started_at[name]:.3f})")
    print(f"weights in {out}; use them: --retriever gcn-subgraph:weights={out}")


def compare(
    data: DataOption = None,
    kg: KgOption = None,
    index: IndexesOption = None,
    questions: QuestionsOption = None,
    test: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Questions to measure on, of the same form; without it a fifth of the groups of questions."),
    ] = None,
    hops: HopsOption = 3,
    limit: LimitOption = None,
    select: Annotated[
        str, typer.Option(help="gcn, gcn-paper, gcn-untrained, steiner, steiner-fill, top-k, ego, random, whole.")
    ] = "gcn,gcn-paper,gcn-untrained,steiner,top-k,ego,random,whole",
    reader: ReaderOption = "local",
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
    runs: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Keeps the networks, so that a run that was killed goes on; else they are thrown away."),
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Compare ways of selecting subgraphs: the same questions, reader and budget; accuracy, gold kept, tokens, time."""
    import json
    import tempfile

    from clew.comparing_subgraphs import compare_selections
    from clew.models.encoders import open_encoder
    from clew.reporting import print_comparisons, progress_on_stderr
    from clew.retrievers.subgraph_weights import ScorerSettings
    from clew.training.loop import Recipe
    from clew.training.subgraph_feedback import FeedbackRecipe

    settings = ScorerSettings(inputs, combination, width, stops=stops)
    feedback = FeedbackRecipe("policy", budget, draws, price)
    recipe = Recipe(epochs=epochs, rate=rate, average=0.9, warmup=10)
    names = [name.strip() for name in select.split(",") if name.strip()]
    with progress_on_stderr() as progress, tempfile.TemporaryDirectory() as scratch:
        where = _Where(data, kg, index, questions, hops, limit)
        on = _compared_on(where, test, reader, open_encoder(encoder), budget, progress)
        report = compare_selections(
            on, names, range(seeds), settings, feedback, recipe, runs or Path(scratch), progress
        )
    if json_:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        _print_selections(report)
        print_comparisons(report)


def _compared_on(
    where: _Where, test: Path | None, reader: str, encoder: "Encoder", budget: int, progress: Any
) -> "Comparing":
    from clew.comparing_subgraphs import Comparing
    from clew.teaching_subgraphs import parted

    known, choices = _asked(where, encoder, progress)
    if test is None:
        known, tested = parted(known, 0.8, 0)
    else:
        there = replace(where, data=test) if where.data else replace(where, questions=test)
        tested, _ = _asked(there, encoder, progress)
    learned, held = parted(known, 1 - _HELD, 0)
    return Comparing(learned, held, tested, _readers(reader, encoder, learned, choices), encoder, budget)


def _asked(where: _Where, encoder: "Encoder", progress: Any) -> "tuple[list[AskedQuestion], tuple[str, ...]]":
    """Return the questions that the options name, and the possible answers where these are few.

    Raises:
        InputError: They name none, or two; or the files cannot be used.
    """
    from clew import index as opening
    from clew.evaluation.explagraphs import explagraphs
    from clew.evaluation.g_retriever import g_retriever
    from clew.evaluation.kg_questions import kg_questions
    from clew.reporting import print_note
    from clew.teaching_subgraphs import asked_questions, index_questions, spread

    given = (where.data is not None, where.kg is not None, where.index is not None, where.questions is not None)
    if given == (False, False, True, True):
        opened = opening.open(where.index or "", progress)
        if opened.table.settings["encoder"] != encoder.name:
            raise InputError(
                f"{where.index} was made with the encoder {opened.table.settings['encoder']!r}, not {encoder.name!r}: "
                f"give --encoder {opened.table.settings['encoder']}"
            )
        return index_questions(opened, where.questions or Path(), progress, where.limit), ()
    if given == (True, False, False, False):
        path = where.data or Path()
        found = g_retriever(path) if path.is_dir() else explagraphs(path)
    elif given == (False, True, False, True):
        found = kg_questions(where.kg or Path(), where.questions or Path(), where.hops)
    else:
        raise InputError("give --data FOLDER or FILE, or --kg TRIPLES or --index INDEX with --questions FILE")
    for note in found.notes:
        print_note(note)
    places = spread(len(found.questions), where.limit)
    return asked_questions(
        replace(found, questions=tuple(found.questions[place] for place in places)), encoder, progress
    ), found.choices


def _readers(
    name: str, encoder: "Encoder", learned: "list[AskedQuestion]", choices: tuple[str, ...]
) -> "Callable[[int], GraphReader]":
    from clew.teaching_subgraphs import LOCAL, local_reader

    if name == LOCAL:
        return lambda seed: local_reader(encoder, learned, choices, seed)
    from clew.models.causal_model import CausalModel
    from clew.models.causal_reader import CausalReader
    from clew.prompts import graph_answer

    made = CausalReader(CausalModel(name), graph_answer.prompt)
    return lambda _: made


def _epoch(best: int) -> str:
    return "untrained" if best < 0 else f"epoch {best + 1}"


def _print_selections(report: "dict[str, Any]") -> None:
    budget = f"budget {report['budget']} nodes, {report['seeds']} seeds"
    print(f"{report['questions']} questions, {report['learned_from']} to learn from, {budget}")
    told = report["selections"]
    judged = [measure for measure in ("accuracy", "gold", "loss") if any(measure in found for found in told.values())]
    plain = ("nodes", "tokens", "select_ms", "read_ms", "train_seconds")
    print("".join(["selection".ljust(15), *(m.rjust(22) for m in judged), *(m.rjust(14) for m in plain)]))
    for name, found in told.items():
        intervals = [found["intervals"].get(measure, (0.0, 0.0)) for measure in judged]
        cells = [
            f"{found[measure]:.3f} ({low:.3f}-{high:.3f})" if measure in found else ""
            for measure, (low, high) in zip(judged, intervals, strict=True)
        ]
        print("".join([name.ljust(15), *(c.rjust(22) for c in cells), *(f"{found[m]:.1f}".rjust(14) for m in plain)]))
