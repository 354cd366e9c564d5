"""The registry of rerankers: names to settings records and builders, extended by entry points of `clew.rerankers`.

What rerankers of somebody else return is checked at each call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast, final

from clew.errors import InputError
from clew.models.text_scorers import CrossEncoderScorer
from clew.plugins.arguments import Origin, check_members, is_own
from clew.plugins.records import SettingsRecord, setting
from clew.plugins.registry import Registry, load_object
from clew.plugins.spec import split_settings, suggest
from clew.protocols import Reranker
from clew.query.context import IndexContext
from clew.rerankers.text_scorer import TextReranker
from clew.types import Evidence

_METHOD = "rerank"


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenReranker:
    """A reranker of somebody else, whose evidence is checked."""

    reranker: Reranker  # the object
    origin: Origin  # where it comes from, for messages

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the object, "" if it has none."""
        return str(getattr(self.reranker, "fingerprint", ""))

    def rerank(self, questions: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Return what the object does; InputError: that is not the passages of each question in another order."""
        with self.origin.map_errors():
            returned = self.reranker.rerank(questions, evidence)
        ranked: list[Evidence] = self.origin.check_results(returned, len(evidence), (Evidence,), _METHOD)
        for before, after in zip(evidence, ranked, strict=True):
            self._check(before, after)
        return ranked

    def _check(self, before: Evidence, after: Evidence) -> None:
        for found in after.passages:
            self.origin.check_scored(found, _METHOD)
        wanted, seen = ([found.item.id for found in one.passages] for one in (before, after))
        if sorted(wanted) != sorted(seen):
            raise self.origin.wrong_part(_METHOD, "the passages", f"{seen[:5]}", f"those given, {wanted[:5]}")


def accept_reranker(given: object, origin: Origin) -> Reranker:
    """Return a reranker, with its evidence checked unless it is one of this package.

    Raises InputError where it has no method `rerank`.
    """
    check_members(given, origin.label, {"rerank": None})
    reranker = cast("Reranker", given)
    return reranker if is_own(given) else GivenReranker(reranker, origin)


NO_RERANKER = "none"
G_RAG = "g-rag"


@dataclass(frozen=True, slots=True)
class RerankerEntry:
    """A reranker by name; an installed package adds one by an entry point of the group `clew.rerankers`."""

    summary: str  # how it orders passages, in one line
    # its settings record, or the place of it (`module:Class`). The record's `label` is the name in the registry; the
    # text after a colon of the name is its first setting.
    record: type[SettingsRecord] | str
    build: Callable[..., Reranker] | str  # A function (context, settings) -> `Reranker`, or the place of it
    spelling: str = ""  # how a user writes it, where that is not its name alone
    # whether it reads the index that passages are from; or the place of a function of its settings that returns it
    reads_index: bool | str = True


class CrossEncoder(SettingsRecord):
    """Settings of the reranker `cross-encoder`."""

    label: ClassVar[str] = "cross-encoder"

    model: str = setting("", "a folder, or a name on the hub", unset="none: give one")


class LLMRerank(SettingsRecord):
    """Settings of the reranker `llm`."""

    label: ClassVar[str] = "llm"

    model: str = setting("", "a language model: PROVIDER:NAME", unset="none: give one")


def build_cross_encoder(context: IndexContext, settings: CrossEncoder) -> Reranker:
    """Return a cross-encoder as a reranker; raises InputError where there is no such folder."""
    name = settings.model
    if not name:
        raise InputError("the reranker cross-encoder wants a folder or a name on the hub: cross-encoder:NAME")
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise InputError(f"cross-encoder: there is no folder {name!r}: give one of a model, or a name on the hub")
    return TextReranker(CrossEncoderScorer(name, context.device))


def build_llm_reranker(context: IndexContext, settings: LLMRerank) -> Reranker:
    """Return a language model as a reranker; raises InputError where the name is not PROVIDER:NAME, or of no use."""
    if ":" not in settings.model:
        raise InputError(
            f"the reranker is 'llm:{settings.model}'; wanted llm:PROVIDER:NAME, such as llm:openai:gpt-4o-mini"
        )
    reranker: Reranker = load_object("clew.rerankers.text_scorer:LLMReranker")(context.open_model(settings.model))
    return reranker


RERANKERS = Registry(
    "reranker",
    "clew.rerankers",
    {
        "cross-encoder": RerankerEntry(
            "a cross-encoder's score of question and passage",
            CrossEncoder,
            build_cross_encoder,
            "cross-encoder:NAME",
            reads_index=False,
        ),
        G_RAG: RerankerEntry(
            "a graph neural network over the graph that connects the passages, after G-RAG",
            "clew.rerankers.g_rag.reranker:GRag",
            "clew.rerankers.g_rag.reranker:build_g_rag",
            "g-rag or g-rag:FOLDER",
        ),
        "llm": RerankerEntry(
            "a language model's score of each passage", LLMRerank, build_llm_reranker, "llm:MODEL", reads_index=False
        ),
    },
    RerankerEntry,
)
"""All rerankers by name."""


def open_reranker(spec: SettingsRecord | str, context: IndexContext) -> Reranker:
    """Return a reranker over one index, of a settings record, or of a name, which stands for its default settings.

    Raises InputError where no reranker has that name, or the index lacks what it needs.
    """
    name = reranker_name(spec)
    settings = RERANKERS.record(name)() if isinstance(spec, str) else spec
    return accept_reranker(RERANKERS.build(name, context, settings), RERANKERS.origin(name))


def reads_index(spec: SettingsRecord) -> bool:
    """Return whether a reranker with some settings reads the index that passages are from; else it reads their texts.

    Raises InputError where no reranker has that name, or the settings name no weights.
    """
    stated = RERANKERS.entry(reranker_name(spec)).reads_index
    return stated if isinstance(stated, bool) else bool(load_object(stated)(spec))


def parse_reranker(text: str) -> SettingsRecord:
    """Return the settings record of a reranker as it is written on the command line.

    That is `g-rag`, `g-rag:FOLDER` of own weights, `cross-encoder:NAME`, `llm:MODEL`; or settings by name,
    `NAME:setting=value`. Raises InputError for an unknown name or unusable value.
    """
    name, _, argument = text.partition(":")
    if name not in RERANKERS:
        choice = f"choose one of {', '.join((NO_RERANKER, *RERANKERS))}"
        raise InputError(f"no reranker is called {name!r}; {suggest(name, RERANKERS)}{choice}")
    record = RERANKERS.record(name)
    return record(**_split_argument(record, argument, name))


def reranker_name(spec: SettingsRecord | str) -> str:
    """Return the registered name of a reranker; raises InputError where the record belongs to no reranker."""
    if isinstance(spec, str):
        return spec
    label: str = getattr(type(spec), "label", "")
    if not label:
        raise InputError(f"{type(spec).__name__} has no label: a settings record names the reranker it belongs to")
    return label


def reranker_text(spec: SettingsRecord | str) -> str:
    """Return a reranker as a user writes it, with its first setting: `g-rag`, `cross-encoder:NAME`."""
    name = reranker_name(spec)
    values = [] if isinstance(spec, str) else list(spec.model_dump().values())
    return f"{name}:{values[0]}" if values and values[0] else name


def _split_argument(record: type[SettingsRecord], argument: str, name: str) -> dict[str, str]:
    """Return the settings of the text after the colon: settings by name, or the record's first setting."""
    if not argument:
        return {}
    if argument.partition("=")[0] in record.model_fields and "=" in argument:
        return split_settings(argument, name)
    return {next(iter(record.model_fields)): argument}
