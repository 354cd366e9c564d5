"""Registry of extractors by name, extended by entry points of the group `clew.extractors`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clew.errors import InputError
from clew.indexing.extraction.llm import LanguageModelExtractor
from clew.indexing.extraction.object_extractor import accept_extractor
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.plugins.arguments import FROM_PYTHON
from clew.plugins.names import nearest
from clew.plugins.registry import Registry
from clew.protocols import Extractor, LanguageModel
from clew.store.weights_io import CONFIG_FILE

LLM = "llm"
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class ExtractionTools:
    """Resources that an extractor may use."""

    open_model: Callable[[str], LanguageModel] | None = None  # the model of a name; None where none may be used
    calls: int = 2  # calls of a language model for each passage, 1 or 2
    on_done: Callable[[int], None] | None = None  # called with the number of passages just done, if extraction is slow


@dataclass(frozen=True, slots=True)
class ExtractorEntry:
    """A registered extractor; an installed package adds one by an entry point of the group `clew.extractors`.

    Attributes:
        summary: One line for listings.
        build: Builds the extractor from the text after the colon of its name, "" for none, and the tools.
        spelling: Form of the name in messages, where that is not the name alone: "published:FILE".
    """

    summary: str
    build: Callable[[str, ExtractionTools], Extractor]
    spelling: str = ""


def _build_rules(argument: str, _: ExtractionTools) -> Extractor:
    if argument:
        raise _unknown(f"rules:{argument}")
    return RuleExtractor()


def _build_llm(argument: str, tools: ExtractionTools) -> Extractor:
    if not argument or tools.open_model is None:
        raise _unknown(f"{LLM}:{argument}" if argument else LLM)
    return LanguageModelExtractor(tools.open_model(argument), tools.calls, tools.on_done)


def _build_learned(argument: str, _: ExtractionTools) -> Extractor:
    from clew.indexing.extraction.span_extractor import LearnedExtractor

    if argument and not (Path(argument) / CONFIG_FILE).is_file():
        wanted = f"{argument} has no {CONFIG_FILE}; give a folder that clew train extractor wrote"
        raise InputError(f"extractor 'learned:{argument}': {wanted}")
    return LearnedExtractor(Path(argument) if argument else None)


def _build_auto(argument: str, _: ExtractionTools) -> Extractor:
    if argument:
        raise _unknown(f"{AUTO}:{argument}")
    from clew.indexing.extraction.span_extractor import CasingExtractor

    return CasingExtractor()


EXTRACTORS = Registry(
    "extractor",
    "clew.extractors",
    {
        "rules": ExtractorEntry("names, dates and relations by rules; no language model", _build_rules),
        "learned": ExtractorEntry("names by a trained network, in any case", _build_learned),
        AUTO: ExtractorEntry("rules, and learned where capitals tell nothing", _build_auto),
        LLM: ExtractorEntry("triples by a language model", _build_llm, "llm:PROVIDER:NAME"),
    },
    ExtractorEntry,
)


def open_extractor(
    name: str,
    open_model: Callable[[str], LanguageModel] | None = None,
    calls: int = 2,
    on_done: Callable[[int], None] | None = None,
) -> Extractor:
    """Return the extractor `rules`, `llm:PROVIDER:NAME` or an installed package's, or InputError."""
    if name.startswith(FROM_PYTHON):
        raise InputError(
            f"the index was made with an extractor of Python, of fingerprint {name.removeprefix(FROM_PYTHON)!r}: "
            "add to it from Python, clew.open(..., extractor=...), or make a new index"
        )
    kind, _, argument = name.partition(":")
    if kind not in EXTRACTORS or name.endswith(":"):
        raise _unknown(name)
    built = EXTRACTORS.build(kind, argument, ExtractionTools(open_model, calls, on_done))
    return accept_extractor(built, EXTRACTORS.origin(kind))


def asks_model(name: str) -> bool:
    """Return whether the extractor of a name asks a language model."""
    return name.partition(":")[0] == LLM


def _unknown(name: str) -> InputError:
    spellings = [_spell(kind) for kind in EXTRACTORS]
    close = nearest(name.partition(":")[0], EXTRACTORS)
    hint = f"did you mean {_spell(close)}? " if close else ""
    return InputError(f"no extractor is called {name!r}; {hint}choose {', '.join(spellings[:-1])} or {spellings[-1]}")


def _spell(kind: str) -> str:
    # Installed packages are not loaded for a message, where one that is broken would hide it.
    own = EXTRACTORS.entries.get(kind)
    return kind if own is None or not own.spelling else own.spelling
