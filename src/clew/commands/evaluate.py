"""`clew eval`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.opening import make_llm_factory, retriever_names
from clew.commands.options import (
    DeviceOption,
    IndexOption,
    JsonFlag,
    LLMOptions,
    OutOption,
    PathsOption,
    PromptsOption,
    RetrieverOptions,
    StrictOption,
    TimeOptions,
    WhereOption,
    apply_strict,
    check_file,
)
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import finish_evaluation
from clew.errors import InputError
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.evaluation.scoring import EvaluationReport
from clew.index import Index
from clew.index import open as open_index
from clew.models.llm.access import LLMClientFactory
from clew.plugins.records import MAX_COUNT, SettingsRecord
from clew.protocols import Answerer
from clew.retrievers.registry import finds_nothing, parse_retriever
from clew.settings import load_settings
from clew.types import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options of `clew eval`."""

    retrievers: RetrieverOptions = field(default_factory=RetrieverOptions)
    cutoffs: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, separated by commas.")] = "2,5,10"
    where: WhereOption = None
    times: TimeOptions = field(default_factory=TimeOptions)
    strict_filters: StrictOption = False
    paths: PathsOption = 0
    json_: JsonFlag = False
    out: OutOption = None
    runs: Annotated[
        Path | None,
        typer.Option(help="Store the rankings in this folder; those stored there are scored, not computed again."),
    ] = None
    answer: Annotated[bool, typer.Option("--answer", help="Also score the answers of `ask`.")] = False
    prompts: PromptsOption = "json"
    device: DeviceOption = None
    llm: LLMOptions = field(default_factory=LLMOptions)


def eval_(
    index: IndexOption,
    questions: Annotated[
        Path, typer.Option(help="Questions with gold, one JSON object a line: {id, question, answers, gold}.")
    ],
    options: EvaluationOptions,
) -> None:
    """Evaluate retrievers side by side on questions whose evidence is known."""
    if options.out is not None:
        check_file("--out", options.out)
    factory = make_llm_factory(options.llm)
    with progress_on_stderr() as progress:
        report = _evaluate(index, questions, options, factory, progress)
    finish_evaluation(report, factory.budget, options.out, json_=options.json_)


def _open_answerers(
    index: Index, retrievers: Mapping[str, SettingsRecord], options: EvaluationOptions
) -> dict[str, Answerer]:
    """Return the answerer of each retriever, none without --answer; raises InputError where an option has no use."""
    model = load_settings().model if options.llm.model is None else options.llm.model
    if options.answer:
        return {name: index.answerer(model, spec, options.prompts) for name, spec in retrievers.items()}
    if options.prompts == "text":
        raise InputError("--prompts is of a language model's answers: give --answer and --model too")
    if useless := next((name for name, spec in retrievers.items() if finds_nothing(spec)), ""):
        raise InputError(
            f"the retriever {useless} finds nothing to evaluate but answers: give --answer and --model too"
        )
    return {}


def _evaluate(
    index: str, questions: Path, options: EvaluationOptions, factory: LLMClientFactory, progress: Progress
) -> EvaluationReport:
    where = options.times.limits.restrict(options.where)
    opened, where = apply_strict(
        open_index(index, progress, factory, options.device), where, strict=options.strict_filters
    )
    cutoffs = parse_cutoffs(options.cutoffs)
    names = list(map(str.strip, retriever_names(options.retrievers, opened, options.llm.model, several=True)))
    retrievers = {name: parse_retriever(name) for name in names}
    return evaluate_retrievers(
        opened,
        questions,
        retrievers,
        cutoffs,
        where,
        options.runs,
        progress,
        _open_answerers(opened, retrievers, options),
        paths=options.paths,
    )


def parse_cutoffs(text: str) -> list[int]:
    """Return cut-offs that are separated by commas, ascending; InputError for other numbers than counts."""
    try:
        cutoffs = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--k is {text!r}: give whole numbers separated by commas, such as 2,5,10") from error
    if min(cutoffs) < 1 or max(cutoffs) > MAX_COUNT:
        raise InputError(f"--k is {text!r}: every cut-off must be at least 1, and at most {MAX_COUNT:,}")
    return sorted(set(cutoffs))
