"""`clew eval`, and `clew corpus`, which gives it something to measure."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from clew.commands.candidates import CandidateOptions, evaluate_candidate_file, require_index
from clew.commands.language_model import LLM, fill_models
from clew.commands.opening import make_llm_factory, retriever_names
from clew.commands.options import (
    DeviceOption,
    FeedbackOption,
    JsonFlag,
    LLMOptions,
    OptionalIndexOption,
    PathsOption,
    PromptsOption,
    RetrieverOptions,
    StrictOption,
    WhereOption,
    check_file,
)
from clew.commands.output import format_json, print_json, write_json
from clew.commands.pictures import check_new_file, write_plot
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import print_scores
from clew.commands.strict_filters import apply_strict
from clew.datasets.loaders import load_corpus, load_questions
from clew.datasets.published_kgqa import has_own_graphs, is_webqsp
from clew.errors import BudgetError, InputError
from clew.evaluation.adaptation import FROM_MODEL
from clew.evaluation.cluster import open_cluster_search
from clew.evaluation.evaluate_kgqa import are_graph_questions, evaluate_path_retrievers
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.evaluation.reports import EvaluationReport
from clew.index import Index
from clew.index import open as open_index
from clew.models.llm.access import LLMClientFactory
from clew.plugins.records import MAX_COUNT, SettingsRecord
from clew.protocols import Answerer
from clew.retrievers.registry import finds_nothing, parse_retriever
from clew.settings import load_settings
from clew.text.counts import format_count
from clew.types import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options of `clew eval`."""

    questions: Annotated[
        Path | None,
        typer.Option(
            help="Questions with gold: JSONL, HotpotQA, MuSiQue, 2Wiki, BEIR, gfmrag; on graphs WebQSP, CWQ, RoG, FRAG."
        ),
    ] = None
    candidates: CandidateOptions = field(default_factory=CandidateOptions)
    retrievers: RetrieverOptions = field(default_factory=RetrieverOptions)
    cutoffs: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, separated by commas.")] = "2,5,10"
    where: WhereOption = None
    strict_filters: StrictOption = False
    paths: PathsOption = 0
    json_: JsonFlag = False
    out: Annotated[Path | None, typer.Option(help="Write the figures to a file, as JSON.")] = None
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw recall at the largest cut-off against the seconds of a question, as SVG, into a file."),
    ] = None
    runs: Annotated[
        Path | None,
        typer.Option(help="Store the rankings in this folder; those stored there are scored, not computed again."),
    ] = None
    positives: Annotated[
        bool,
        typer.Option(
            "--positives", help="Also score the ranks of all gold ids among the first 100, ties at their mean."
        ),
    ] = False
    answer: Annotated[bool, typer.Option("--answer", help="Also score the answers of `ask`.")] = False
    prompts: PromptsOption = "json"
    feedback: FeedbackOption = None
    adapt: Annotated[
        Literal["answers", "model"] | None,
        typer.Option(
            help="Adapt frag to the first quarter of the questions and evaluate the rest, both ways (FRAG-F): to the "
            "shortest paths to the gold answers, or to the paths that --model names."
        ),
    ] = None
    device: DeviceOption = None
    ray: Annotated[
        str | None,
        typer.Option(help="Rank on a Ray cluster: HOST:PORT, auto for that of this machine, or local for its own."),
    ] = None
    llm: LLMOptions = field(default_factory=LLMOptions)


def evaluate(options: EvaluationOptions, index: OptionalIndexOption = None) -> None:
    """Evaluate retrievers side by side on questions whose evidence is known."""
    if options.out is not None:
        check_file("--out", options.out)
    if options.plot is not None:
        check_new_file("--plot", options.plot)
    factory = make_llm_factory(options.llm)
    with progress_on_stderr() as progress:
        if options.candidates.candidates is None:
            report = _evaluate_index(require_index(index, options.candidates), options, factory, progress)
        else:
            report = _evaluate_candidates(index, options, factory, progress)
    figures = report.to_json()
    if options.out is not None:
        write_json(options.out, figures)
    if options.plot is not None:
        write_plot(options.plot, figures)
    if options.json_:
        print_json(figures)
    else:
        print_scores(figures)
    if message := factory.budget.exceeded_message:  # last: the figures so far are of use all the same
        raise BudgetError(message)


def _open_answerers(
    index: Index, retrievers: Mapping[str, SettingsRecord], options: EvaluationOptions
) -> dict[str, Answerer]:
    """Return the answerer of each retriever, none without --answer; raises InputError where an option has no use."""
    model = load_settings().model if options.llm.model is None else options.llm.model
    if options.answer:
        return {name: index.answerer(model, spec, options.prompts) for name, spec in retrievers.items()}
    if options.feedback is not None or options.adapt == FROM_MODEL:
        option = "--feedback notes" if options.feedback is not None else "--adapt model learns from"
        raise InputError(f"{option} the paths that a language model names: give --answer and --model too")
    if options.prompts == "text":
        raise InputError("--prompts is of a language model's answers: give --answer and --model too")
    if useless := next((name for name, spec in retrievers.items() if finds_nothing(spec)), ""):
        raise InputError(
            f"the retriever {useless} finds nothing to evaluate but answers: give --answer and --model too"
        )
    return {}


def _check_graph_options(options: EvaluationOptions) -> None:
    """Refuse options that are of no use for questions on graphs."""
    if options.plot is not None:
        raise InputError("--plot is of recall, and questions on graphs have none: leave it out")
    if options.ray is not None:
        raise InputError("--ray ranks passages, and these are questions on graphs: leave it out")
    if options.where is not None and not options.strict_filters:
        raise InputError(
            "--where filters the passages that are ranked, and these are questions on graphs: add --strict-filters"
        )
    if options.positives:
        raise InputError("--positives ranks gold ids, and questions on graphs have none: leave it out")


def _own_graph_warnings(path: Path, count: int) -> tuple[str, ...]:
    if path.is_dir() or is_webqsp(path) or not has_own_graphs(path):
        return ()
    bring = format_count(count, "question brings a graph of its own", "questions bring graphs of their own")
    note = f"{bring}, not read here: paths are those of the index"
    return (f"{note}; clew compare --data {path} leaves each question its graph",)


def _evaluate_candidates(
    index: str | None, options: EvaluationOptions, factory: LLMClientFactory, progress: Progress
) -> EvaluationReport:
    names = ("questions", "where", "runs", "answer", "feedback", "adapt", "ray")
    others = {"index": index, **{name: getattr(options, name) for name in names}, "paths": options.paths or None}
    others["model"] = options.llm.model if options.retrievers.rerank != LLM else None
    others["strict_filters"] = options.strict_filters or None
    others["prompts"] = options.prompts if options.prompts != "json" else None
    retrievers = fill_models(options.retrievers, options.llm.model)
    given = options.candidates, retrievers, others, parse_cutoffs(options.cutoffs), options.device
    return evaluate_candidate_file(*given, factory, progress, positives=options.positives)


def _evaluate_index(
    index: str, options: EvaluationOptions, factory: LLMClientFactory, progress: Progress
) -> EvaluationReport:
    if options.questions is None:
        raise InputError("there are no --questions: give a file of questions with gold")
    if options.ray is not None and options.strict_filters:
        raise InputError("--strict-filters is not for the machines of --ray: leave one out")
    opened, where = apply_strict(
        open_index(index, progress, factory, options.device), options.where, strict=options.strict_filters
    )
    cutoffs = parse_cutoffs(options.cutoffs)
    names = list(map(str.strip, retriever_names(options.retrievers, opened, options.llm.model, several=True)))
    questions = load_questions(options.questions)
    retrievers = {name: parse_retriever(name) for name in names}
    answerers = _open_answerers(opened, retrievers, options)
    if are_graph_questions(questions):
        _check_graph_options(options)
        report = evaluate_path_retrievers(
            opened, questions, retrievers, progress, answerers, options.feedback, options.adapt or ""
        )
        return replace(report, warnings=(*report.warnings, *_own_graph_warnings(options.questions, len(questions))))
    if options.adapt is not None:
        raise InputError("--adapt is for questions on a graph, with topics and answers: leave it out")
    on_cluster = nullcontext() if options.ray is None else open_cluster_search(options.ray, opened, options.paths)
    with on_cluster as cluster:
        return evaluate_retrievers(
            opened,
            options.questions,
            retrievers,
            cutoffs,
            where,
            options.runs,
            progress,
            answerers,
            paths=options.paths,
            positives=options.positives,
            cluster=cluster,
        )


def corpus(
    path: Annotated[
        Path, typer.Argument(help="HotpotQA, MuSiQue, 2Wiki, HippoRAG or BEIR, or documents.json of gfmrag.")
    ],
) -> None:
    """Print the passages of a benchmark as JSON lines for `clew index -`; their ids fit its questions."""
    for document in load_corpus(path):
        record = {"id": document.id, "title": document.title, "text": document.text}
        print(format_json(record))


def parse_cutoffs(text: str) -> list[int]:
    """Return cut-offs that are separated by commas, ascending; InputError for other numbers than counts."""
    try:
        cutoffs = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--k is {text!r}: give whole numbers separated by commas, such as 2,5,10") from error
    if min(cutoffs) < 1 or max(cutoffs) > MAX_COUNT:
        raise InputError(f"--k is {text!r}: every cut-off must be at least 1, and at most {MAX_COUNT:,}")
    return sorted(set(cutoffs))
