"""Options that several commands have, singly and as records, and checks of what they name."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from clew.errors import InputError


def find_default_index() -> str | None:
    """Return the index of the settings (`CLEW_INDEX`, or `index` in clew.toml), None where they name none."""
    from clew.settings import load_settings

    return load_settings().index or None


def choose_index(context: typer.Context, parameter: typer.CallbackParam, given: str | None) -> str | None:
    """Return the index that is given, else that of the settings; raise InputError where there is neither."""
    index = given if given is not None or context.resilient_parsing else find_default_index()
    if index is None and not context.resilient_parsing:
        wanted = "--index" if "--index" in parameter.opts else "INDEX"
        raise InputError(
            f"there is no {wanted}: name a folder or an s3://bucket/prefix, or set CLEW_INDEX, or index in clew.toml"
        )
    return index


IndexOption = Annotated[
    str,
    typer.Option(
        "--index",
        default_factory=lambda: None,
        callback=choose_index,
        show_default=False,
        help="The index: a folder, or s3://bucket/prefix; else CLEW_INDEX, or index in clew.toml.",
    ),
]
IndexArgument = Annotated[
    str,
    typer.Argument(
        default_factory=lambda: None,
        callback=choose_index,
        show_default=False,
        help="The index: a folder, or s3://bucket/prefix; else CLEW_INDEX, or index in clew.toml.",
    ),
]
OptionalIndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        help="The index: a folder, or s3://bucket/prefix; else CLEW_INDEX, or index in clew.toml; or give "
        "--candidates.",
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WhereOption = Annotated[
    str | None, typer.Option(help="Only passages whose metadata meet a condition: year >= 1990 AND lang = 'en'.")
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict-filters",
        help="Search as if there were no passages but those that --where allows, in order and scores too; they are "
        "put together at first use.",
    ),
]
PathsOption = Annotated[
    int, typer.Option(min=0, max=100, help="Paths per passage, for gfm; each costs milliseconds and memory.")
]
FeedbackOption = Annotated[
    Path | None, typer.Option(help="Log for the path that a model's answer names, for clew train router.")
]
PromptsOption = Annotated[
    Literal["json", "text"],
    typer.Option(help="Replies of the model about paths: json, or plain text after FRAG, with a call for the path."),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(help="Where models run: auto, cpu, cuda or mps; auto is a GPU where torch finds one, else cpu."),
]
_ENCODERS = "all-MiniLM-L6-v2-int8, hashing, none, or a sentence-transformers name"
EncoderOption = Annotated[str | None, typer.Option(help=f"{_ENCODERS}; for a new index.")]
SentencesOption = Annotated[
    Literal["vectors", "none"] | None,
    typer.Option(help="Whether sentences get vectors, 384 bytes each: vectors or none."),
]
AliasesOption = Annotated[
    Literal["document", "none"] | None,
    typer.Option(help="Whether WHO or the company stands for its full name in a document: document or none."),
]

MemoryOption = Annotated[
    str | None,
    typer.Option(help="Memory of the command, such as 4GB; refused where the merge of the graph needs more."),
]


@dataclass(frozen=True, slots=True)
class RetrieverOptions:
    """Retrievers, each with its settings after a colon, and the reranker of all."""

    retriever: Annotated[
        str | None,
        typer.Option(
            help="gfm, pagerank, chains, bm25, dense, fused, gear, reranked or routed; frag or gcn-subgraph for paths; "
            "settings after a colon: clew retrievers NAME."
        ),
    ] = None
    rerank: Annotated[
        str | None,
        typer.Option(
            help="Reranker of the passages found: g-rag, cross-encoder:NAME, llm for that of --model, or none."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class LLMOptions:
    """The language model of a command, its server, budget and reply cache."""

    model: Annotated[
        str | None,
        typer.Option(
            help="Language model: openai:NAME, anthropic:, google: or ollama:. It writes answers, and is the llm of "
            "--extractor llm, --rerank llm and --reader llm; else CLEW_MODEL."
        ),
    ] = None
    base_url: Annotated[
        str | None, typer.Option(help="Server that speaks OpenAI's protocol, for openai:NAME; its key is CLEW_API_KEY.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(min=0.0, max=1e9, help="Money that the command may spend on language models.")
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000_000_000_000,
            help="Tokens that the command may spend on language models, in and out together.",
        ),
    ] = None
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Store and reuse replies of language models.")] = (
        True
    )


def parse_merge_memory(memory: str | None) -> int:
    """Return the bytes of a budget, 0 for none; InputError: it has another form, or no merge keeps it."""
    if memory is None:
        return 0
    from clew.indexing.writer_settings import check_run_memory, parse_memory

    size = parse_memory(memory)
    check_run_memory(size, 1, merges=True)
    return size


def check_folder(option: str, folder: Path) -> None:
    """Refuse a folder that is a file, lies below one, or does not take a file, before time is spent on its content."""
    existing = next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)
    if not existing.is_dir():
        fault = "which is a file" if existing == folder else f"which lies below the file {existing}"
        raise InputError(f"{option} is {str(folder)!r}, {fault}: name a folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{option} is {str(folder)!r}, which cannot be written ({reason}): name another") from error


def check_file(name: str, path: Path) -> None:
    """Refuse a path that is a folder or lies below a file, before time is spent on it; the message calls it `name`."""
    if path.is_dir():
        raise InputError(f"{name} is {str(path)!r}, which is a folder: name a file in it")
    if any(parent.is_file() for parent in path.parents):
        raise InputError(f"{name} is {str(path)!r}, which lies below a file: choose another place")
