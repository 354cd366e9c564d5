"""Opening of what options name: indexes, retrievers and language models.

Search and index import this module when they are called, so that their help does not wait for it.
"""

from collections.abc import Sequence
from dataclasses import asdict

from clew import index as indexes
from clew.commands.options import LLMOptions, RetrieverOptions
from clew.commands.specs import add_options
from clew.errors import InputError
from clew.index import Index
from clew.models.encoders.registry import open_encoder
from clew.models.llm.access import LLMClientFactory
from clew.plugins.spec import split_list
from clew.settings import load_settings
from clew.store.dataset import open_dataset
from clew.store.location import locate
from clew.types import Progress, ignore_progress


def open_index(
    location: str, progress: Progress = ignore_progress, llm_factory: LLMClientFactory | None = None
) -> Index:
    """Open an index."""
    return indexes.open(location, progress, llm_factory)


def open_or_create(
    location: str,
    extractor: str | None,
    encoder: str | None,
    progress: Progress,
    llm_factory: LLMClientFactory,
    *,
    create: bool,
) -> Index:
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


def make_llm_factory(options: LLMOptions) -> LLMClientFactory:
    """Return a factory of clients with these options, and with the settings for those that are not given.

    Raises:
        InputError: A budget is below 0.
    """
    for name, limit in (("--max-cost", options.max_cost), ("--max-tokens", options.max_tokens)):
        if limit is not None and limit < 0:
            raise InputError(f"{name} is {limit:g}: give a budget of 0 or more")
    given = {"base_url": options.base_url, "max_cost": options.max_cost, "max_tokens": options.max_tokens}
    changes: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    if not options.cache:
        changes["call_cache"] = False
    return load_settings().model_copy(update=changes).make_llm_factory()


def retriever_name(options: RetrieverOptions, index: Index) -> str:
    """Return the one retriever in its text form, with its settings; by default that of `clew.toml`.

    Raises:
        InputError: There is none of that name, or it does not take a setting that is given.
    """
    return _add_settings(options, index, [_retriever_text(options)])[0]


def retriever_names(options: RetrieverOptions, index: Index) -> list[str]:
    """Return the retrievers of a list separated by commas in their text form, each with the settings that it takes.

    Raises:
        InputError: There is none of a name, or none of them takes a setting that is given.
    """
    return _add_settings(options, index, split_list(_retriever_text(options)))


def _retriever_text(options: RetrieverOptions) -> str:
    return load_settings().retriever if options.retriever is None else options.retriever


def _add_settings(options: RetrieverOptions, index: Index, names: Sequence[str]) -> list[str]:
    settings = {name: value for name, value in asdict(options).items() if name != "retriever"}
    return add_options([str(index.resolve_retriever(name)) for name in names], settings)
