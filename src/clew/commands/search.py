"""`clew search` and `clew ask`."""

from dataclasses import dataclass, field
from typing import Annotated

import typer

from clew.commands.answers import (
    answer_json,
    evidence_json,
    print_answer,
    print_evidence,
    print_steps,
    streaming_answer,
)
from clew.commands.options import (
    FeedbackOption,
    IndexOption,
    JsonFlag,
    LLMOptions,
    ModelOption,
    PathsOption,
    RetrieverOptions,
    WhereOption,
)
from clew.commands.output import print_json
from clew.commands.progress import progress_on_stderr


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of `clew search` and `clew ask`."""

    retriever: RetrieverOptions = field(default_factory=RetrieverOptions)
    k: Annotated[int | None, typer.Option("-k", help="How many passages.")] = None
    where: WhereOption = None
    paths: PathsOption = 1
    topic: Annotated[
        list[str] | None,
        typer.Option(help="An entity that the question is about, for frag; repeatable. [Brackets] do the same."),
    ] = None
    trace: Annotated[bool, typer.Option("--trace", help="Print every step of an agent.")] = False
    llm: LLMOptions = field(default_factory=LLMOptions)
    json_: JsonFlag = False


def search(question: str, index: IndexOption, options: SearchOptions) -> None:
    """Find the passages that together answer a question, and the paths that join them."""
    from clew.commands.searching import OpenSearch

    with progress_on_stderr() as progress:
        opened = OpenSearch.open(index, options, progress)
        evidence = opened.search(question)
    if options.json_:
        print_json(evidence_json(question, opened.name, evidence))
        return
    print_evidence(evidence)
    if options.trace:
        print_steps(evidence.steps)


def ask(
    question: str,
    index: IndexOption,
    options: SearchOptions,
    model: ModelOption = None,
    feedback: FeedbackOption = None,
) -> None:
    """Answer a question with quoted, cited sentences; without a language model none is made up."""
    from clew.commands.searching import OpenSearch

    with progress_on_stderr() as progress:
        opened = OpenSearch.open(index, options, progress)
        answerer = opened.answerer(model, feedback)
        evidence = opened.search(question)
    stream = None if options.json_ else streaming_answer()
    answer = answerer.answer([question], [evidence], stream)[0]
    if feedback is not None:
        opened.log_answer(feedback, question, answer)
    if options.json_:
        print_json(answer_json(question, opened.name, answer))
    else:
        print_answer(answer, stream)
        if options.trace:
            print_steps(evidence.steps)
    if answer.failure and answer.failure.run_error:
        raise answer.failure.run_error
