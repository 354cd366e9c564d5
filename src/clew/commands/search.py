"""`clew search` and `clew ask`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

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
    open_index,
)
from clew.commands.output import print_json
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.index import Index
    from clew.types import Evidence


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

    def search(self, index: "Index", name: str, question: str) -> "Evidence":
        """Return the evidence that a retriever finds for a question."""
        from clew.retrievers.registry import parse_retriever
        from clew.settings import load_settings

        k = load_settings().k if self.k is None else self.k
        return index.search(question, k, parse_retriever(name), self.where, self.paths, self.topic or ())


def search(question: str, index: IndexOption, options: SearchOptions) -> None:
    """Find the passages that together answer a question, and the paths that join them."""
    with progress_on_stderr() as progress:
        opened = open_index(index, progress, options.llm.factory())
        name = options.retriever.name(opened)
        evidence = options.search(opened, name, question)
    if options.json_:
        print_json(evidence_json(question, name, evidence))
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
    from clew.answering.feedback_log import log_answer
    from clew.retrievers.registry import parse_retriever
    from clew.settings import load_settings

    with progress_on_stderr() as progress:
        opened = open_index(index, progress, options.llm.factory())
        name = options.retriever.name(opened)
        writer = load_settings().model if model is None else model
        if feedback is not None and not writer:
            raise InputError("--feedback notes the path that a language model names: give --model too")
        answerer = opened.answerer(writer, parse_retriever(name))
        evidence = options.search(opened, name, question)
    stream = None if options.json_ else streaming_answer()
    answer = answerer.answer([question], [evidence], stream)[0]
    if feedback is not None:
        log_answer(feedback, question, options.topic or (), answer)
    if options.json_:
        print_json(answer_json(question, name, answer))
    else:
        print_answer(answer, stream)
        if options.trace:
            print_steps(evidence.steps)
    if answer.failure and answer.failure.run_error:
        raise answer.failure.run_error
