"""`clew ask --reader causal:MODEL`: the answer of a causal language model that reads a selected subgraph."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.answering.graph_readers.reader_files import CAUSAL_PREFIX
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.commands.search import SearchOptions, SubgraphReaderOptions
    from clew.types import Answer, Progress


def refuse_reader(options: "SearchOptions") -> None:
    """Raise InputError where a search is given a reader that writes answers."""
    if (name := options.retriever.reader or "").startswith(CAUSAL_PREFIX):
        raise InputError(f"--reader {name} writes answers, and a search has none: use clew ask, or leave it out")


def reads_subgraph(
    options: "SearchOptions", reader: "SubgraphReaderOptions", model: str | None, feedback: Path | None
) -> bool:
    """Return whether a causal language model reads a subgraph; raises InputError for options that do not go with it."""
    name = options.retriever.reader or ""
    if not name.startswith(CAUSAL_PREFIX):
        if reader.soft_prompt is not None:
            seen = f"--reader is {name!r}" if name else "there is no --reader"
            raise InputError(f"--soft-prompt stands before a language model's prompt, and {seen}: give causal:MODEL")
        if reader.dtype != "float32":
            raise InputError(
                f"--dtype {reader.dtype} is of a causal language model's weights, and none reads: give --reader "
                "causal:MODEL, or leave it out"
            )
        return False
    for option, value in (("--model", model), ("--feedback", feedback)):
        if value:
            raise InputError(f"--reader {name} writes the answer, so {option} {value} has no use: leave one out")
    if not name.removeprefix(CAUSAL_PREFIX).strip():
        raise InputError(f"--reader is {name!r}: wanted causal:MODEL, a folder or a name on the hub")
    return True


def ask_subgraph(
    question: str, location: str, options: "SearchOptions", reader: "SubgraphReaderOptions", progress: "Progress"
) -> "tuple[str, Answer]":
    """Return the retriever in its text form, and the answer that the language model reads in what it selects."""
    from clew.answering.graph_readers.reader_files import describe_reader, open_reader
    from clew.commands.opening import load_settings, make_llm_factory, open_index, parse_retriever, retriever_names
    from clew.commands.strict_filters import apply_strict
    from clew.models.causal_lm.model import CausalModel
    from clew.models.devices import choose_device

    selecting = replace(options.retriever, reader=None)
    trained_with = "" if reader.soft_prompt is None else describe_reader(reader.soft_prompt).selection
    opened = open_index(location, progress, make_llm_factory(options.llm), options.device)
    opened, where = apply_strict(opened, options.where, strict=options.strict_filters)
    retriever = retriever_names(selecting, opened, several=False)[0]
    opened.subgraph_source(parse_retriever(retriever))  # before the language model is opened
    name = (options.retriever.reader or "").removeprefix(CAUSAL_PREFIX)
    causal = CausalModel(name, device=choose_device(opened.device), dtype=reader.dtype)
    graph_reader = open_reader(causal, reader.soft_prompt, str(opened.table.settings["encoder_fingerprint"]))
    k = load_settings().k if options.k is None else options.k
    spec, topics = parse_retriever(retriever), options.topic or ()
    return retriever, opened.ask_subgraph(question, graph_reader, spec, k, where, topics, trained_with)
