"""Options that several commands have, and what those of language models come to."""

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.models.asking import Asking

IndexOption = Annotated[str, typer.Option("--index", help="The index: a folder, or s3://bucket/prefix.")]
RetrieverOption = Annotated[
    Optional[str],  # noqa: UP045 - typer reads Optional on every Python it supports
    typer.Option(
        "--retriever",
        help="gfm, pagerank, bm25, dense, fused, title-links, entity-graph, hipporag2, naive-ge, sync-ge, gear or "
        "ircot; settings after a colon.",
    ),
]
CountOption = Annotated[Optional[int], typer.Option("-k", help="How many passages.")]  # noqa: UP045
WhereOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--where", help="Keep passages whose metadata meet a condition: year >= 1990 AND lang = 'en'."),
]
BaseOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--base", help="Base retriever of naive-ge, sync-ge, gear and ircot; bm25."),
]
ReaderOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--reader", help="Who reads for sync-ge, gear and ircot: local, or a model."),
]
StepsOption = Annotated[Optional[int], typer.Option("--steps", help="Steps of gear and ircot, at most; 4.")]  # noqa: UP045
PathsOption = Annotated[int, typer.Option("--paths", help="Paths a passage, for gfm; each costs milliseconds.")]
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
TraceFlag = Annotated[bool, typer.Option("--trace", help="Print every step of an agent.")]
CacheFlag = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep and reuse replies of language models.")]


def asking_of(base_url: str | None, max_cost: float | None, max_tokens: int | None, cache: bool) -> "Asking":
    """Return how language models are asked: as the settings say, but for the options that were given."""
    from clew.settings import Settings, load_settings

    given = {"base_url": base_url, "max_cost": max_cost, "max_tokens": max_tokens}
    named = {name: value for name, value in given.items() if value is not None}
    if not cache:
        named["call_cache"] = False
    if any(isinstance(value, int | float) and value < 0 for value in named.values()):
        raise InputError("a budget is below 0: give 0 or more")
    settings: Settings = load_settings().model_copy(update=named)
    return settings.asking()
