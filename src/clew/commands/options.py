"""Options that several commands have, and what they come to."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.index import Index
    from clew.models.llm.access import LLMClientFactory

IndexOption = Annotated[str, typer.Option("--index", help="The index: a folder, or s3://bucket/prefix.")]
RetrieverOption = Annotated[
    Optional[str],  # noqa: UP045 - typer reads Optional on every Python it supports
    typer.Option(
        "--retriever",
        help="gfm, pagerank, bm25, dense, fused, title-links, entity-graph, hipporag2, naive-ge, sync-ge, gear, "
        "ircot, reranked or routed; gcn-subgraph, steiner, frag, frag-simple or frag-complex for paths; "
        "settings after a colon.",
    ),
]
CountOption = Annotated[Optional[int], typer.Option("-k", help="How many passages.")]  # noqa: UP045
WhereOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--where", help="Keep passages whose metadata meet a condition: year >= 1990 AND lang = 'en'."),
]
BaseOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--base", help="Base retriever of naive-ge, sync-ge, gear and ircot; bm25. Of reranked; pagerank."),
]
ReaderOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--reader", help="Who reads for sync-ge, gear and ircot: local, or a model."),
]
StepsOption = Annotated[Optional[int], typer.Option("--steps", help="Steps of gear and ircot, at most; 4.")]  # noqa: UP045
RerankOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--rerank", help="Reranker of the passages found: g-rag, cross-encoder:NAME, llm:MODEL or none."),
]
PoolOption = Annotated[Optional[int], typer.Option("--pool", help="Passages that are reranked; 100.")]  # noqa: UP045
PathsOption = Annotated[int, typer.Option("--paths", help="Paths a passage, for gfm; each costs milliseconds.")]
TopicOption = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--topic", help="An entity that the question is about, for frag; repeatable. [Brackets] do the same."),
]
FeedbackOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--feedback", help="Log that gets the path a model's answer names, for clew train router."),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]

ModelOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--model", help="Language model that writes the answer: openai:NAME, anthropic:, google: or ollama:."),
]
BaseUrlOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--base-url", help="Server that speaks OpenAI's protocol, for openai:NAME; its key is CLEW_API_KEY."),
]
CostOption = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--max-cost", help="Money that the command may spend on language models."),
]
TokensOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--max-tokens", help="Tokens that the command may spend on language models, in and out together."),
]
PositivesFlag = Annotated[
    bool,
    typer.Option("--positives", help="Also score where all gold ids stand among the first 100, ties at their mean."),
]
TraceFlag = Annotated[bool, typer.Option("--trace", help="Print every step of an agent.")]
CacheFlag = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep and reuse replies of language models.")]
EncoderOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--encoder", help="all-MiniLM-L6-v2, hashing, none, or a sentence-transformers name; for a new index."
    ),
]


def make_client_factory(
    base_url: str | None, max_cost: float | None, max_tokens: int | None, cache: bool
) -> "LLMClientFactory":
    """Return how language models are asked: as the settings say, but for the options that were given."""
    from clew.settings import Settings, load_settings

    given = {"base_url": base_url, "max_cost": max_cost, "max_tokens": max_tokens}
    named = {name: value for name, value in given.items() if value is not None}
    if not cache:
        named["call_cache"] = False
    if any(isinstance(value, int | float) and value < 0 for value in named.values()):
        raise InputError("a budget is below 0: give 0 or more")
    settings: Settings = load_settings().model_copy(update=named)
    return settings.make_llm_factory()


def check_folder(option: str, folder: Path) -> None:
    """Refuse a place for a folder that cannot be written, before time is spent on what goes there.

    Raises:
        InputError: It is a file, lies below one, or does not take a file.
    """
    above = next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)
    if not above.is_dir():
        told = "which is a file" if above == folder else f"which lies below the file {above}"
        raise InputError(f"{option} is {str(folder)!r}, {told}: name a folder")
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{option} is {str(folder)!r}, which cannot be written ({reason}): name another") from error


def check_json_file(path: Path | None) -> None:
    """Refuse a place for figures that cannot be a file, before time is spent on them.

    Raises:
        InputError: It is a folder or lies below a file.
    """
    if path is not None and path.is_dir():
        raise InputError(f"--json is {str(path)!r}, which is a folder: name a file in it")
    if path is not None and any(part.is_file() for part in path.parents):
        raise InputError(f"--json is {str(path)!r}, which lies below a file: choose another place")


def open_or_create(
    location: str,
    extractor: str | None,
    encoder: str | None,
    progress: Any,
    clients: "LLMClientFactory",
    *,
    create: bool,
) -> "Index":
    """Open an index, or make one where there is none.

    Args:
        location: Of the index.
        extractor: For a new index; None for that of the settings.
        encoder: For a new index, or the one that it was made with; None for that of the settings.
        progress: Of the index.
        clients: How language models are asked.
        create: Whether one may be made.

    Raises:
        InputError: The index was made with another encoder.
    """
    from clew import index as indexes
    from clew.models.encoders.registry import open_encoder
    from clew.settings import load_settings
    from clew.store.dataset import open_dataset
    from clew.store.location import locate

    if not create or open_dataset(locate(location)) is not None:
        opened = indexes.open(location, progress, clients)
        if encoder is not None and open_encoder(encoder).name != opened.table.settings["encoder"]:
            raise InputError(
                f"{location} was made with the encoder {opened.table.settings['encoder']!r}, not {encoder!r}: "
                "leave --encoder out, or choose another --index"
            )
        return opened
    given = {"extractor": extractor, "encoder": encoder}
    chosen = load_settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    return indexes.create(location, chosen, progress, clients)
