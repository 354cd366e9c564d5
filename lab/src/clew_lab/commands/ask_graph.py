"""`clew ask-graph`: the answer of a causal language model that reads a selected subgraph."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.answers import answer_json, print_answer
from clew.commands.opening import make_llm_factory, open_index, parse_retriever
from clew.commands.options import (
    DeviceOption,
    IndexOption,
    JsonFlag,
    LLMOptions,
    StrictOption,
    WhereOption,
    apply_strict,
)
from clew.commands.output import print_json
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.models.threads import choose_device
from clew_lab.commands.options import DtypeOption
from clew_lab.graph_readers.reader_files import describe_reader, open_reader
from clew_lab.graph_readers.selected_subgraph import ask_subgraph, subgraph_source
from clew_lab.models.causal_lm import CausalModel


def ask_graph(
    question: str,
    index: IndexOption,
    reader: Annotated[str, typer.Option(help="Causal language model: a folder, or a name on the hub.")],
    retriever: Annotated[str, typer.Option(help="gcn-subgraph or steiner, settings after a colon.")] = "gcn-subgraph",
    soft_prompt: Annotated[
        Path | None, typer.Option(help="Folder OUT/reader of clew train subgraph: its soft prompt.")
    ] = None,
    dtype: DtypeOption = "float32",
    k: Annotated[int, typer.Option("-k", min=1, help="How many passages.")] = 5,
    topic: Annotated[
        list[str] | None, typer.Option(help="An entity that the question is about; repeatable. [Brackets] do the same.")
    ] = None,
    where: WhereOption = None,
    strict_filters: StrictOption = False,
    device: DeviceOption = None,
    json_: JsonFlag = False,
) -> None:
    """Answer a question by a causal language model that reads a selected subgraph."""
    if not question.strip():
        raise InputError(f"the question is {question!r}, which is empty: write one")
    if not reader.strip():
        raise InputError(f"--reader is {reader!r}: wanted a folder or a name on the hub")
    trained_with = "" if soft_prompt is None else describe_reader(soft_prompt).selection
    with progress_on_stderr() as progress:
        opened = open_index(index, progress, make_llm_factory(LLMOptions()), device)
        opened, where = apply_strict(opened, where, strict=strict_filters)
        spec = parse_retriever(retriever)
        subgraph_source(opened, spec)  # before the language model is opened
        causal = CausalModel(reader, device=choose_device(opened.device), dtype=dtype)
        graph_reader = open_reader(causal, soft_prompt, str(opened.table.settings["encoder_fingerprint"]))
        answer = ask_subgraph(opened, question, graph_reader, spec, k, where, topic or (), trained_with)
    if json_:
        print_json(answer_json(question, retriever, answer))
    else:
        print_answer(answer)
