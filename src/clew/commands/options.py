"""Options that several commands have, singly and as records, and checks of what they name."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.index import Index
    from clew.models.llm.access import LLMClientFactory
    from clew.types import Progress

IndexOption = Annotated[str, typer.Option("--index", help="The index: a folder, or s3://bucket/prefix.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WhereOption = Annotated[
    str | None,
    typer.Option(help="Only passages whose metadata meet a condition: year >= 1990 AND lang = 'en'."),
]
PathsOption = Annotated[int, typer.Option(help="Paths per passage, for gfm; each costs milliseconds.")]
ModelOption = Annotated[
    str | None,
    typer.Option(help="Language model that writes the answer: openai:NAME, anthropic:, google: or ollama:."),
]
FeedbackOption = Annotated[
    Path | None,
    typer.Option(help="Log for the path that a model's answer names, for clew train router."),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(help="all-MiniLM-L6-v2, hashing, none, or a sentence-transformers name; for a new index."),
]


@dataclass(frozen=True, slots=True)
class RetrieverOptions:
    """Retrievers by name, and their settings that have options of their own."""

    retriever: Annotated[
        str | None,
        typer.Option(
            help="gfm, pagerank, bm25, dense, fused, title-links, entity-graph, hipporag2, naive-ge, sync-ge, gear, "
            "ircot, reranked or routed; gcn-subgraph, steiner, frag, frag-simple or frag-complex for paths; "
            "settings after a colon.",
        ),
    ] = None
    base: Annotated[
        str | None,
        typer.Option(help="Base retriever of naive-ge, sync-ge, gear and ircot; bm25. Of reranked; pagerank."),
    ] = None
    reader: Annotated[
        str | None, typer.Option(help="Reader of sync-ge, gear and ircot: local, or a language model.")
    ] = None
    steps: Annotated[int | None, typer.Option(help="Steps of gear and ircot, at most; 4.")] = None
    rerank: Annotated[
        str | None, typer.Option(help="Reranker of the passages found: g-rag, cross-encoder:NAME, llm:MODEL or none.")
    ] = None
    rerank_depth: Annotated[int | None, typer.Option(min=1, help="Passages that are reranked; 100.")] = None

    def name(self, index: "Index") -> str:
        """Return the one retriever in its text form, with its settings; by default that of `clew.toml`.

        Raises:
            InputError: There is none of that name, or it does not take a setting that is given.
        """
        return self._add_settings(index, [self._text()])[0]

    def names(self, index: "Index") -> list[str]:
        """Return the retrievers of a list separated by commas in their text form, each with the settings that it takes.

        Raises:
            InputError: There is none of a name, or none of them takes a setting that is given.
        """
        from clew.plugins.spec import split_list

        return self._add_settings(index, split_list(self._text()))

    def _text(self) -> str:
        from clew.settings import load_settings

        return load_settings().retriever if self.retriever is None else self.retriever

    def _add_settings(self, index: "Index", names: Sequence[str]) -> list[str]:
        from clew.commands.specs import add_options

        settings = {name: value for name, value in asdict(self).items() if name != "retriever"}
        return add_options([str(index.resolve_retriever(name)) for name in names], settings)


@dataclass(frozen=True, slots=True)
class LLMOptions:
    """Server, budget and reply cache of language models."""

    base_url: Annotated[
        str | None, typer.Option(help="Server that speaks OpenAI's protocol, for openai:NAME; its key is CLEW_API_KEY.")
    ] = None
    max_cost: Annotated[float | None, typer.Option(help="Money that the command may spend on language models.")] = None
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens that the command may spend on language models, in and out together.")
    ] = None
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Store and reuse replies of language models.")] = (
        True
    )

    def factory(self) -> "LLMClientFactory":
        """Return a factory of clients with these options, and with the settings for those that are not given.

        Raises:
            InputError: A budget is below 0.
        """
        from clew.settings import load_settings

        for name, limit in (("--max-cost", self.max_cost), ("--max-tokens", self.max_tokens)):
            if limit is not None and limit < 0:
                raise InputError(f"{name} is {limit:g}: give a budget of 0 or more")
        given = {"base_url": self.base_url, "max_cost": self.max_cost, "max_tokens": self.max_tokens}
        changes: dict[str, object] = {name: value for name, value in given.items() if value is not None}
        if not self.cache:
            changes["call_cache"] = False
        return load_settings().model_copy(update=changes).make_llm_factory()


def open_index(
    location: str, progress: "Progress | None" = None, llm_factory: "LLMClientFactory | None" = None
) -> "Index":
    """Open an index; its module takes longer to import than a command's help to print."""
    from clew import index as indexes
    from clew.types import ignore_progress

    return indexes.open(location, progress or ignore_progress, llm_factory)


def check_folder(option: str, folder: Path) -> None:
    """Refuse a folder that cannot be written, before time is spent on its content.

    Raises:
        InputError: It is a file, lies below one, or does not take a file.
    """
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
    """Refuse a path that cannot be a file, before time is spent on its content.

    Args:
        name: What the message calls the path: an option.
        path: Of the file, which may exist.

    Raises:
        InputError: It is a folder or lies below a file.
    """
    if path.is_dir():
        raise InputError(f"{name} is {str(path)!r}, which is a folder: name a file in it")
    if any(parent.is_file() for parent in path.parents):
        raise InputError(f"{name} is {str(path)!r}, which lies below a file: choose another place")


def open_or_create(
    location: str,
    extractor: str | None,
    encoder: str | None,
    progress: "Progress",
    llm_factory: "LLMClientFactory",
    *,
    create: bool,
) -> "Index":
    """Open an index, or create it if there is none.

    Args:
        location: Of the index.
        extractor: For a new index; None for that of the settings.
        encoder: For a new index, or the one that it was made with; None for that of the settings.
        progress: Callback of the index.
        llm_factory: Opens its language models.
        create: Whether it may be created.

    Raises:
        InputError: The index was made with another encoder.
    """
    from clew import index as indexes
    from clew.models.encoders.registry import open_encoder
    from clew.settings import load_settings
    from clew.store.dataset import open_dataset
    from clew.store.location import locate

    if not create or open_dataset(locate(location)) is not None:
        opened = indexes.open(location, progress, llm_factory)
        if encoder is not None and open_encoder(encoder).name != opened.table.settings["encoder"]:
            raise InputError(
                f"{location} was made with the encoder {opened.table.settings['encoder']!r}, not {encoder!r}: "
                "leave --encoder out, or choose another --index"
            )
        return opened
    given = {"extractor": extractor, "encoder": encoder}
    settings = load_settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    return indexes.create(location, settings, progress, llm_factory)
