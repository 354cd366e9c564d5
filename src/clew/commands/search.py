"""`clew search` and `clew ask`; what opens an index is imported when they are called."""

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands import pause_collection
from clew.commands.answers import (
    StreamingAnswer,
    answer_json,
    evidence_json,
    print_answer,
    print_evidence,
    print_steps,
)
from clew.commands.options import (
    DeviceOption,
    FeedbackOption,
    IndexOption,
    JsonFlag,
    LLMOptions,
    PathsOption,
    PromptsOption,
    RetrieverOptions,
    StrictOption,
    TimeOptions,
    WhereOption,
    apply_strict,
    check_file,
    refuse_model,
)
from clew.commands.output import print_json, print_line
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.types import AUTO_RETRIEVER

if TYPE_CHECKING:
    from clew.index import Index
    from clew.types import Answer, Evidence, Progress


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of `clew search` and `clew ask`."""

    retriever: RetrieverOptions = field(default_factory=RetrieverOptions)
    k: Annotated[int | None, typer.Option("-k", min=1, help="How many passages.")] = None
    where: WhereOption = None
    times: TimeOptions = field(default_factory=TimeOptions)
    strict_filters: StrictOption = False
    paths: PathsOption = 1
    topic: Annotated[
        list[str] | None,
        typer.Option(help="An entity that the question is about, for frag; repeatable. [Brackets] do the same."),
    ] = None
    trace: Annotated[bool, typer.Option("--trace", help="Print every step of an agent.")] = False
    device: DeviceOption = None
    llm: LLMOptions = field(default_factory=LLMOptions)
    json_: JsonFlag = False
    svg: Annotated[Path | None, typer.Option(help="Draw how the evidence connects, hop by hop, into a file.")] = None
    html: Annotated[
        Path | None, typer.Option(help="Write the result as a page of one file: the drawing, and passages with quotes.")
    ] = None


def search(question: str, index: IndexOption, options: SearchOptions) -> None:
    """Find the passages that together answer a question, and the paths that join them."""
    _check(question, options)
    refuse_model(options.retriever, options.llm.model)
    with pause_collection(), progress_on_stderr() as progress:
        opened, where, retriever = _open_index(index, options, progress)
        evidence = _find_evidence(opened, where, retriever, question, options)
    _write_pictures(question, evidence, options)
    if options.json_:
        print_json(evidence_json(question, retriever, evidence))
        return
    print_evidence(evidence, question)
    if options.trace:
        print_steps(evidence.steps)


def ask(
    question: str,
    index: IndexOption,
    options: SearchOptions,
    feedback: FeedbackOption = None,
    prompts: PromptsOption = "json",
) -> None:
    """Answer a question with quoted, cited sentences; without a language model none is made up."""
    _check(question, options)
    model = options.llm.model
    from clew.answering.feedback_log import log_answer
    from clew.commands.opening import load_settings, parse_retriever

    with pause_collection(), progress_on_stderr() as progress:
        opened, where, retriever = _open_index(index, options, progress)
        writer = load_settings().model if model is None else model
        if feedback is not None and not writer:
            raise InputError("--feedback notes the path that a language model names: give --model too")
        answerer = opened.answerer(writer, parse_retriever(retriever), prompts, where)
        evidence = _find_evidence(opened, where, retriever, question, options)
    stream = StreamingAnswer() if sys.stdout.isatty() and not options.json_ else None
    answer = answerer.answer([question], [evidence], stream)[0]
    if feedback is not None:
        log_answer(feedback, question, options.topic or (), answer)
    _print_answer(question, retriever, answer, options, stream)
    if answer.failure and answer.failure.run_error:
        raise answer.failure.run_error


def _check(question: str, options: SearchOptions) -> None:
    """Refuse an empty question, and files that cannot be written, before time is spent on their content."""
    if not question.strip():  # of a variable that is not set
        raise InputError(f"the question is {question!r}, which is empty: write one")
    for option, path in (("--svg", options.svg), ("--html", options.html)):
        if path is not None:
            check_file(option, path)
            if not path.absolute().parent.is_dir():
                missing = f"there is no folder {path.parent}: create it or name another"
                raise InputError(f"{option} is {str(path)!r}, and {missing}")
    if options.svg is not None and options.svg == options.html:
        raise InputError(f"--svg and --html are both {str(options.svg)!r}: name two files")


def _write_pictures(question: str, found: "Evidence | Answer", options: SearchOptions) -> None:
    """Write the files that were asked for of the evidence for a question, or of its answer."""
    if options.svg is None and options.html is None:
        return
    from clew.rendering.drawing import draw_evidence
    from clew.rendering.pages import render_answer, render_evidence, render_page
    from clew.store.atomic import write_text
    from clew.types import Evidence

    if options.html is not None:
        shown = render_evidence(found, question) if isinstance(found, Evidence) else render_answer(found, question)
        write_text(options.html, render_page(shown, question) + "\n")
    if options.svg is not None:
        evidence = found if isinstance(found, Evidence) else found.evidence
        write_text(options.svg, draw_evidence(evidence, question) + "\n")


def _print_answer(
    question: str, retriever: str, answer: "Answer", options: SearchOptions, stream: StreamingAnswer | None = None
) -> None:
    _write_pictures(question, answer, options)
    if options.json_:
        print_json(answer_json(question, retriever, answer))
        return
    failure = answer.failure
    if failure and failure.run_error:  # it ends the command, whose last line tells of it
        answer = replace(answer, notes=tuple(note for note in answer.notes if note != failure.reason))
    print_answer(answer, stream)
    if not answer.evidence:  # why there is none, which the notes of an answer do not say
        for note in answer.evidence.notes:
            print_line(f"note: {note}")
    if options.trace:
        print_steps(answer.evidence.steps)


def _open_index(location: str, options: SearchOptions, progress: "Progress") -> "tuple[Index, str | None, str]":
    """Open an index; return it, the filter of its searches, and the retriever that is named, with its settings."""
    from clew.commands.opening import make_llm_factory, open_index, retriever_names

    opened = open_index(location, progress, make_llm_factory(options.llm), options.device)
    opened, where = apply_strict(opened, options.times.limits.restrict(options.where), strict=options.strict_filters)
    return opened, where, retriever_names(options.retriever, opened, options.llm.model, several=False)[0]


def _find_evidence(
    opened: "Index", where: str | None, retriever: str, question: str, options: SearchOptions
) -> "Evidence":
    from clew.commands.opening import load_settings, parse_retriever

    settings, named = load_settings(), options.retriever.retriever
    k = settings.k if options.k is None else options.k
    spec = parse_retriever(retriever)
    evidence = opened.search(question, k, spec, where, options.paths, options.topic or (), options.times.limits)
    is_chosen = (settings.retriever if named is None else named) == AUTO_RETRIEVER
    return replace(evidence, notes=(*evidence.notes, *opened.describe_default(retriever))) if is_chosen else evidence
