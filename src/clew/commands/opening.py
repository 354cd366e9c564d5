"""Opening of what options name: indexes, retrievers and language models.

Search and index import this module when they are called, so that their help does not wait for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from clew.arrays.hidden_modules import hide_modules
from clew.arrays.kernels import hide_optional_modules
from clew.commands.language_model import fill_models
from clew.commands.options import LLMOptions, RetrieverOptions, check_folder
from clew.errors import InputError
from clew.index import Index
from clew.index import create as create_index
from clew.index import open as open_index
from clew.models.encoders.registry import open_encoder
from clew.models.llm.access import LLMClientFactory
from clew.plugins.spec import split_list, split_settings
from clew.retrievers.registry import RERANKED, describe_default, parse_retriever
from clew.settings import load_settings
from clew.store.dataset import open_dataset
from clew.store.location import locate
from clew.store.schema import ALIASES, SENTENCES, WITHOUT_ALIASES, WITHOUT_VECTORS
from clew.types import Progress, ignore_progress

hide_optional_modules()
with hide_modules(["pandas"]):  # where there is one, pyarrow loads it here, for a quarter of a second and 30 MiB
    import pyarrow.dataset  # noqa: F401

# Some stand here for commands that import this module when they are called.
__all__ = [
    "add_options", "check_creation", "describe_default", "index_exists", "load_settings", "make_llm_factory",
    "open_index", "open_or_create", "parse_retriever", "retriever_names",
]  # fmt: skip

BASE_OPTIONS = {
    "gear": ("base", "reader", "steps"),
    "ircot": ("base", "reader", "steps"),
    "maxsim": ("base",),
    "naive-ge": ("base",),
    RERANKED: ("base",),
    "sync-ge": ("base", "reader"),
}
"""Settings with an option of their own, by retriever."""

RERANKING_OPTIONS = ("rerank", "rerank_depth")
"""The same, of every retriever of passages."""


def open_or_create(
    location: str,
    extractor: str | None,
    encoder: str | None,
    progress: Progress,
    llm_factory: LLMClientFactory,
    device: str | None = None,
    sentences: str | None = None,
    aliases: str | None = None,
    *,
    create: bool,
) -> Index:
    """Open an index, or, with `create`, create it with an extractor and encoder if there is none.

    An existing index of another encoder, or made with another word for `sentences` or `aliases`, is an InputError. None
    stands for what the settings say.
    """
    if not create or open_dataset(locate(location)) is not None:
        opened = open_index(location, progress, llm_factory, device)
        if encoder is not None and open_encoder(encoder).name != opened.table.settings["encoder"]:
            raise InputError(
                f"{location} was made with the encoder {opened.table.settings['encoder']!r}, not {encoder!r}: "
                "leave --encoder out, or choose another --index"
            )
        stored = opened.table.settings.get(SENTENCES, WITHOUT_VECTORS)
        if sentences is not None and sentences != stored:
            raise InputError(
                f"{location} was made with --sentences {stored}, not {sentences}: leave --sentences out, or run "
                f"clew reencode --index {location} --sentences {sentences}"
            )
        stored = opened.table.settings.get(ALIASES, WITHOUT_ALIASES)
        if aliases is not None and aliases != stored:
            raise InputError(
                f"{location} was made with --aliases {stored}, not {aliases}: leave --aliases out, or make a new index"
            )
        return opened
    given = {
        "extractor": extractor, "encoder": encoder, "device": device, "sentences": sentences, "aliases": aliases
    }  # fmt: skip
    if "://" not in location:
        check_folder("--index", Path(location))
    settings = load_settings().model_copy(update={name: value for name, value in given.items() if value is not None})
    return create_index(location, settings, progress, llm_factory)


def check_creation(
    location: str,
    extractor: str | None,
    encoder: str | None,
    llm_factory: LLMClientFactory,
    device: str | None,
    sentences: str | None,
    aliases: str | None,
) -> None:
    """Raise what the creation of an index by `open_or_create` would raise; nothing is written in its place."""
    if "://" not in location:
        check_folder("--index", Path(location))
    with TemporaryDirectory() as folder:
        place = str(Path(folder) / "index")
        open_or_create(place, extractor, encoder, ignore_progress, llm_factory, device, sentences, aliases, create=True)


def index_exists(location: str) -> bool:
    """Return whether there is an index, or a process is making one."""
    place = locate(location)
    return place.lock.exists() or open_dataset(place) is not None


def make_llm_factory(options: LLMOptions) -> LLMClientFactory:
    """Return a factory of clients with these options, else those of the settings."""
    given = {"base_url": options.base_url, "max_cost": options.max_cost, "max_tokens": options.max_tokens}
    changes: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    if not options.cache:
        changes["call_cache"] = False
    return load_settings().model_copy(update=changes).make_llm_factory()


def retriever_names(options: RetrieverOptions, index: Index, model: str | None = None, *, several: bool) -> list[str]:
    """Return the retriever, or the `several` separated by commas, in text form, each with the settings that it takes.

    `model` is the language model that options name by the word `llm`.

    Raises:
        InputError: There is none of a name, or none of them takes a setting that is given.
    """
    text = load_settings().retriever if options.retriever is None else options.retriever
    filled = fill_models(options, model)
    settings = {name: value for name, value in asdict(filled).items() if name != "retriever"}
    names = split_list(text) if several else [text]
    return add_options([str(index.resolve_retriever(name)) for name in names], settings)


def add_options(texts: Sequence[str], given: Mapping[str, str | int | None]) -> list[str]:
    """Return retrievers, `NAME` or `NAME:setting=value,...`, with those of the given options that each of them takes.

    Raises:
        InputError: No retriever takes an option that is given (is not None), or a value has a comma.
    """
    stated = {setting: value for setting, value in given.items() if value is not None}
    for setting, value in stated.items():
        if "," in str(value):
            raise InputError(
                f"{_option_name(setting)} is {value!r}, and a comma ends a setting: give one without a comma"
            )
    accepted = [(*RERANKING_OPTIONS, *BASE_OPTIONS.get(text.partition(":")[0], ())) for text in texts]
    taken = [{name: value for name, value in stated.items() if name in names} for names in accepted]
    for setting in stated:
        if not any(setting in settings for settings in taken):
            able = ", ".join(name for name, settings in BASE_OPTIONS.items() if setting in settings)
            raise InputError(
                f"{_option_name(setting)} is for the retrievers {able}, not {', '.join(texts)}; leave it out"
            )
    return [_append_settings(text, settings) for text, settings in zip(texts, taken, strict=True)]


def _append_settings(text: str, given: Mapping[str, str | int | None]) -> str:
    name, _, settings = text.partition(":")
    stated = split_settings(settings, name)
    if twice := next((setting for setting in given if setting in stated), ""):
        raise InputError(
            f"{text} has a setting {twice!r} of its own, and {_option_name(twice)} is given too: leave one out"
        )
    joined = ",".join(part for part in (settings, *(f"{key}={value}" for key, value in given.items())) if part)
    return f"{name}:{joined}" if joined else name


def _option_name(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"
