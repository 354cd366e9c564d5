"""Opening of what options name: indexes, retrievers and language models.

Search and index import this module when they are called, so that their help does not wait for it.
"""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from clew.arrays.kernels import hide_modules, hide_optional_modules
from clew.commands.options import LLMOptions, MakingOptions, RetrieverOptions, check_folder, fill_model
from clew.errors import InputError
from clew.index import Index
from clew.index import create as create_index
from clew.index import open as open_index
from clew.models.encoders.registry import open_encoder
from clew.models.llm.access import LLMClientFactory
from clew.plugins.spec import split_list, split_settings
from clew.retrievers.registry import parse_retriever
from clew.settings import Settings, load_settings
from clew.store.dataset import open_dataset
from clew.store.location import locate
from clew.store.schema import SENTENCES, WITHOUT_VECTORS
from clew.types import Progress, ignore_progress

hide_optional_modules()
with hide_modules(["pandas"]):  # where there is one, pyarrow loads it here, for a quarter of a second and 30 MiB
    import pyarrow.dataset  # noqa: F401

# Some stand here for commands that import this module when they are called.
__all__ = [
    "apply_options", "check_creation", "index_exists", "load_settings", "make_llm_factory",
    "open_index", "open_or_create", "parse_retriever", "retriever_names",
]  # fmt: skip


def apply_options(made: MakingOptions) -> Settings:
    """Return the settings with the options that are given in place of theirs."""
    return load_settings().model_copy(update={name: word for name, word in asdict(made).items() if word is not None})


def open_or_create(
    location: str, made: MakingOptions, progress: Progress, llm_factory: LLMClientFactory, *, create: bool
) -> Index:
    """Open an index, or, with `create`, create it with these options if there is none.

    An existing index of another encoder, or made with another word for `sentences`, is an InputError.
    """
    if create and open_dataset(locate(location)) is None:
        if "://" not in location:
            check_folder("--index", Path(location))
        return create_index(location, apply_options(made), progress, llm_factory)
    opened = open_index(location, progress, llm_factory, made.device)
    settings = opened.table.settings
    if made.encoder is not None and open_encoder(made.encoder).name != settings["encoder"]:
        raise InputError(
            f"{location} was made with the encoder {settings['encoder']!r}, not {made.encoder!r}: "
            "leave --encoder out, or choose another --index"
        )
    stored = settings.get(SENTENCES, WITHOUT_VECTORS)
    if made.sentences is not None and made.sentences != stored:
        raise InputError(
            f"{location} was made with --sentences {stored}, not {made.sentences}: leave --sentences out, or run "
            f"clew reencode --index {location} --sentences {made.sentences}"
        )
    return opened


def check_creation(location: str, made: MakingOptions, llm_factory: LLMClientFactory) -> None:
    """Raise what the creation of an index by `open_or_create` would raise; nothing is written in its place."""
    if "://" not in location:
        check_folder("--index", Path(location))
    with TemporaryDirectory() as folder:
        open_or_create(str(Path(folder) / "index"), made, ignore_progress, llm_factory, create=True)


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
    """Return the retriever, or the `several` separated by commas, in text form, each with the reranker that is given.

    `model` is the language model that the reranker `llm` asks.

    Raises:
        InputError: There is none of a name, or one has a reranker of its own and another is given.
    """
    text = load_settings().retriever if options.retriever is None else options.retriever
    names = split_list(text) if several else [text]
    texts = [str(index.resolve_retriever(name)) for name in names]
    rerank = fill_model("--rerank", options.rerank, model)
    return texts if rerank is None else [_add_reranker(one, rerank) for one in texts]


def _add_reranker(text: str, rerank: str) -> str:
    """Return a retriever, `NAME` or `NAME:setting=value,...`, with a reranker."""
    if "," in rerank:
        raise InputError(f"--rerank is {rerank!r}, and a comma ends a setting: give one without a comma")
    name, _, settings = text.partition(":")
    if "rerank" in split_settings(settings, name):
        raise InputError(f"{text} has a setting 'rerank' of its own, and --rerank is given too: leave one out")
    return f"{name}:{settings},rerank={rerank}" if settings else f"{name}:rerank={rerank}"
