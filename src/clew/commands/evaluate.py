"""`clew eval`, and `clew corpus`, which gives it something to measure."""

import json
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.opening import make_llm_factory, retriever_names
from clew.commands.options import (
    DeviceOption,
    FeedbackOption,
    IndexOption,
    LLMOptions,
    ModelOption,
    PathsOption,
    RetrieverOptions,
    WhereOption,
    check_file,
)
from clew.commands.output import write_json
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import print_scores
from clew.datasets.loaders import load_corpus, load_questions
from clew.errors import BudgetError, InputError
from clew.evaluation.cluster import open_cluster_search
from clew.evaluation.evaluate_kgqa import are_graph_questions, evaluate_path_retrievers
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.index import open as open_index
from clew.retrievers.registry import parse_retriever
from clew.settings import load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options of `clew eval`."""

    questions: Annotated[Path, typer.Option(help="Questions with gold: JSONL, HotpotQA, MuSiQue, 2Wiki, BEIR.")]
    retrievers: RetrieverOptions = field(default_factory=RetrieverOptions)
    cutoffs: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, separated by commas.")] = "2,5,10"
    where: WhereOption = None
    paths: PathsOption = 0
    json_: Annotated[Path | None, typer.Option("--json", help="Write the figures to a file.")] = None
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
    model: ModelOption = None
    feedback: FeedbackOption = None
    device: DeviceOption = None
    ray: Annotated[
        str | None,
        typer.Option(help="Rank on a Ray cluster: HOST:PORT, auto for that of this machine, or local for its own."),
    ] = None
    llm: LLMOptions = field(default_factory=LLMOptions)


def evaluate(index: IndexOption, options: EvaluationOptions) -> None:
    """Evaluate retrievers side by side on questions whose evidence is known."""
    if options.json_ is not None:
        check_file("--json", options.json_)
    feedback = options.feedback
    with progress_on_stderr() as progress:
        opened = open_index(index, progress, make_llm_factory(options.llm), options.device)
        cutoffs = _parse_cutoffs(options.cutoffs)
        names = retriever_names(options.retrievers, opened, several=True)
        model = load_settings().model if options.model is None else options.model
        answerer = opened.answerer(model, parse_retriever(names[0])) if options.answer else None
        if feedback is not None and answerer is None:
            raise InputError("--feedback notes the paths that a language model names: give --answer and --model too")
        questions = load_questions(options.questions)
        retrievers = {name: parse_retriever(name) for name in map(str.strip, names)}
        if are_graph_questions(questions):
            if options.ray is not None:
                raise InputError("--ray ranks passages, and these are questions on graphs: leave it out")
            if options.positives:
                raise InputError("--positives ranks gold ids, and questions on graphs have none: leave it out")
            report = evaluate_path_retrievers(opened, questions, retrievers, progress, answerer, feedback)
        else:
            on_cluster = (
                nullcontext() if options.ray is None else open_cluster_search(options.ray, opened, options.paths)
            )
            with on_cluster as cluster:
                report = evaluate_retrievers(
                    opened,
                    options.questions,
                    retrievers,
                    cutoffs,
                    options.where,
                    options.runs,
                    progress,
                    answerer,
                    paths=options.paths,
                    positives=options.positives,
                    cluster=cluster,
                )
    figures = report.to_json()
    if options.json_ is not None:
        write_json(options.json_, figures)
    print_scores(figures)
    if message := opened.llm_factory.budget.exceeded_message:  # last: the figures so far are of use all the same
        raise BudgetError(message)


def corpus(
    path: Annotated[
        Path, typer.Argument(help="HotpotQA, MuSiQue, 2Wiki, HippoRAG or BEIR, or documents.json of gfmrag.")
    ],
) -> None:
    """Print the passages of a benchmark as JSON lines for `clew index -`; their ids fit its questions."""
    for document in load_corpus(path):
        record = {"id": document.id, "title": document.title, "text": document.text}
        print(json.dumps(record, ensure_ascii=False))


def _parse_cutoffs(text: str) -> list[int]:
    try:
        cutoffs = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--k is {text!r}: give whole numbers separated by commas, such as 2,5,10") from error
    if min(cutoffs) < 1:
        raise InputError(f"--k is {text!r}: every cut-off must be at least 1")
    return sorted(set(cutoffs))
