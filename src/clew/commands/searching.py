"""Work of `clew search` and `clew ask`, which import this module when they are called."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from clew.answering.feedback_log import log_answer
from clew.commands.opening import make_llm_factory, open_index, retriever_name
from clew.errors import InputError
from clew.index import Index
from clew.protocols import Answerer
from clew.retrievers.registry import parse_retriever
from clew.settings import load_settings
from clew.types import Answer, Evidence, Progress

if TYPE_CHECKING:
    from clew.commands.search import SearchOptions


@dataclass(frozen=True, slots=True)
class OpenSearch:
    """An open index, and what the options say of the search in it."""

    index: Index  # the index
    name: str  # the retriever in its text form, with its settings
    options: "SearchOptions"  # as they were given

    @classmethod
    def open(cls, location: str, options: "SearchOptions", progress: Progress) -> Self:
        """Open an index and find the retriever that the options name.

        Raises:
            InputError: There is no index or no such retriever, or it does not take a setting that is given.
        """
        index = open_index(location, progress, make_llm_factory(options.llm))
        return cls(index, retriever_name(options.retriever, index), options)

    def search(self, question: str) -> Evidence:
        """Return the evidence that the retriever finds for a question."""
        options = self.options
        k = load_settings().k if options.k is None else options.k
        retriever = parse_retriever(self.name)
        return self.index.search(question, k, retriever, options.where, options.paths, options.topic or ())

    def answerer(self, model: str | None, feedback: Path | None) -> Answerer:
        """Return the answerer for the retriever's evidence; without a model, that of the settings.

        Raises:
            InputError: Feedback is wanted, and no language model writes the answer.
        """
        writer = load_settings().model if model is None else model
        if feedback is not None and not writer:
            raise InputError("--feedback notes the path that a language model names: give --model too")
        return self.index.answerer(writer, parse_retriever(self.name))

    def log_answer(self, log: Path, question: str, answer: Answer) -> None:
        """Append the path that an answer names to a log."""
        log_answer(log, question, self.options.topic or (), answer)
