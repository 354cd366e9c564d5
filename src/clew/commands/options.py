"""Options that several commands have, singly and as records, and checks of what they name."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.index import Index
    from clew.query.time_limits import TimeLimits

LLM = "llm"
"""The word by which options name the one language model of a command, `--model`."""


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
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OutOption = Annotated[Path | None, typer.Option(help="Write the figures to a file, as JSON.")]
WhereOption = Annotated[
    str | None, typer.Option(help="Only passages whose metadata meet a condition: year >= 1990 AND lang = 'en'.")
]
AsOfOption = Annotated[
    str, typer.Option("--as-of", metavar="DATE", help="What is later than a day, a month or a year is not seen.")
]
SinceOption = Annotated[str, typer.Option("--from", metavar="DATE", help="Only passages of this time or later ones.")]
UntilOption = Annotated[str, typer.Option("--to", metavar="DATE", help="Only passages of this time or earlier ones.")]
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
_ENCODERS = "all-MiniLM-L6-v2-int8, multilingual, hashing, none, or a sentence-transformers name"
EncoderOption = Annotated[str | None, typer.Option(help=f"{_ENCODERS}; for a new index.")]
ExtractorOption = Annotated[str | None, typer.Option(help="rules, auto, learned, llm with --model, or published:FILE.")]
SentencesOption = Annotated[
    Literal["vectors", "none"] | None,
    typer.Option(help="Whether sentences get vectors, 384 bytes each: vectors or none."),
]

MemoryOption = Annotated[
    str | None,
    typer.Option(help="Memory of the command, such as 4GB; refused where the merge of the graph needs more."),
]


@dataclass(frozen=True, slots=True)
class MakingOptions:
    """Options that an index is made with, or an open one is compared with; None for what the settings say."""

    extractor: ExtractorOption = None
    encoder: EncoderOption = None
    sentences: SentencesOption = None
    device: DeviceOption = None


@dataclass(frozen=True, slots=True)
class TimeOptions:
    """Limits of time."""

    as_of: AsOfOption = ""
    since: SinceOption = ""
    until: UntilOption = ""

    @property
    def limits(self) -> "TimeLimits":
        """The limits as a search takes them."""
        from clew.query.time_limits import TimeLimits

        return TimeLimits(self.as_of, self.since, self.until)


@dataclass(frozen=True, slots=True)
class RetrieverOptions:
    """Retrievers, each with its settings after a colon, and the reranker of all."""

    retriever: Annotated[
        str | None,
        typer.Option(
            help="gfm, pagerank, chains, bm25, dense, fused, gear or reranked; frag or gcn-subgraph for paths; "
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


def apply_strict(index: "Index", where: str | None, *, strict: bool) -> "tuple[Index, str | None]":
    """Return an index and the filter of its searches: none in an index of the allowed passages alone.

    Raises InputError for strict filters where there is no filter.
    """
    if not strict:
        return index, where
    if where is None:
        raise InputError("--strict-filters is of --where, which is not given: give a condition, or leave it out")
    return index.restrict(where), None


def fill_model(option: str, text: str | None, model: str | None) -> str | None:
    """Return `llm:MODEL` for the word `llm` alone, with the model that is given, else that of the settings.

    Raises InputError, naming the option, where there is no model.
    """
    return text if text != LLM else f"{LLM}:{_require_model(option, model)}"


def refuse_model(options: RetrieverOptions, model: str | None) -> None:
    """Raise InputError where a search is given a language model that nothing in it asks."""
    if model and options.rerank != LLM:
        raise InputError(f"--model is {model!r}, and a search writes no answer: add --rerank llm, or use clew ask")


def fill_extractor(extractor: str | None, model: str | None) -> str | None:
    """Return the extractor with its language model; raises InputError where there is a model that it does not ask."""
    if model and extractor != LLM:
        seen = f"--extractor is {extractor!r}" if extractor else "there is no --extractor"
        raise InputError(f"--model is {model!r}, and {seen}: give --extractor llm, or leave --model out")
    return fill_model("--extractor", extractor, model)


def _require_model(option: str, model: str | None) -> str:
    from clew.settings import load_settings

    if name := model or load_settings().model:
        return name
    raise InputError(f"{option} is {LLM}, and there is no --model: give one, such as openai:NAME, or set CLEW_MODEL")
