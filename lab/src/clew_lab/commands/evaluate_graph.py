"""`clew eval-graph`: retrievers of paths on questions on a graph."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from clew.commands.opening import load_settings, make_llm_factory, open_index, retriever_names
from clew.commands.options import (
    DeviceOption,
    FeedbackOption,
    IndexOption,
    JsonFlag,
    LLMOptions,
    OutOption,
    PromptsOption,
    RetrieverOptions,
    StrictOption,
    WhereOption,
    apply_strict,
    check_file,
)
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import finish_evaluation
from clew.errors import InputError
from clew.retrievers.registry import finds_nothing, parse_retriever
from clew.text.display import format_count
from clew_lab.datasets.loaders import load_questions
from clew_lab.datasets.published_kgqa import has_own_graphs, is_webqsp
from clew_lab.evaluation.adaptation import FROM_MODEL
from clew_lab.evaluation.evaluate_kgqa import are_graph_questions, evaluate_path_retrievers


def evaluate_graph(
    index: IndexOption,
    questions: Annotated[
        Path, typer.Option(help="Questions with topics and answers: JSON lines, WebQSP, CWQ, RoG or FRAG.")
    ],
    retrievers: RetrieverOptions,
    where: WhereOption = None,
    strict_filters: StrictOption = False,
    answer: Annotated[bool, typer.Option("--answer", help="Also score the answers of `ask`.")] = False,
    prompts: PromptsOption = "json",
    feedback: FeedbackOption = None,
    adapt: Annotated[
        Literal["answers", "model"] | None,
        typer.Option(
            help="Adapt frag to the first quarter of the questions and evaluate the rest, both ways (FRAG-F): to the "
            "shortest paths to the gold answers, or to the paths that --model names."
        ),
    ] = None,
    device: DeviceOption = None,
    json_: JsonFlag = False,
    out: OutOption = None,
    *,
    llm: LLMOptions,
) -> None:
    """Evaluate retrievers of paths on questions on a graph, with topics and answers."""
    if out is not None:
        check_file("--out", out)
    if where is not None and not strict_filters:
        raise InputError(
            "--where filters the passages that are ranked, and these are questions on graphs: add --strict-filters"
        )
    factory = make_llm_factory(llm)
    with progress_on_stderr() as progress:
        opened, _ = apply_strict(open_index(index, progress, factory, device), where, strict=strict_filters)
        names = list(map(str.strip, retriever_names(retrievers, opened, llm.model, several=True)))
        loaded = load_questions(questions)
        if not are_graph_questions(loaded):
            raise InputError(f"{questions} has no questions with topics and answers: give it to clew eval")
        specs = {name: parse_retriever(name) for name in names}
        model = load_settings().model if llm.model is None else llm.model
        if not answer and (feedback is not None or adapt == FROM_MODEL):
            option = "--feedback notes" if feedback is not None else "--adapt model learns from"
            raise InputError(f"{option} the paths that a language model names: give --answer and --model too")
        if not answer and (useless := next((name for name, spec in specs.items() if finds_nothing(spec)), "")):
            raise InputError(
                f"the retriever {useless} finds nothing to evaluate but answers: give --answer and --model too"
            )
        answerers = {name: opened.answerer(model, spec, prompts) for name, spec in specs.items()} if answer else {}
        report = evaluate_path_retrievers(opened, loaded, specs, progress, answerers, feedback, adapt or "")
    if not questions.is_dir() and not is_webqsp(questions) and has_own_graphs(questions):
        bring = format_count(len(loaded), "question brings a graph of its own", "questions bring graphs of their own")
        way_out = f"clew compare --data {questions} leaves each its graph"
        note = f"{bring}, not read here: paths are those of the index; {way_out}"
        report = replace(report, warnings=(*report.warnings, note))
    finish_evaluation(report, factory.budget, out, json_=json_)
