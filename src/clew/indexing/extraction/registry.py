"""Registry of extractors by name, extended by entry points of the group `clew.extractors`.

Extractors of somebody else, checked at each call; an index knows those given as objects by their fingerprint.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast, final

from clew.errors import InputError
from clew.indexing.extraction.llm import LanguageModelExtractor
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.plugins.arguments import FROM_PYTHON, Origin, check_given, is_own
from clew.plugins.registry import Registry
from clew.plugins.spec import nearest
from clew.protocols import Extractor, LanguageModel
from clew.store.weights_io import CONFIG_FILE
from clew.types import Extraction, Failure, Mention, Passage

_METHOD = "extract"
_UNKNOWN_SPAN = (-1, -1)


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenExtractor:
    """An extractor of somebody else, whose results are checked."""

    extractor: Extractor  # the object
    origin: Origin  # where it comes from, for messages

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the object."""
        return self.extractor.fingerprint

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return what the object does; InputError: that is not one result a passage."""
        with self.origin.map_errors():
            returned = self.extractor.extract(passages)
        kinds = (Extraction, Failure)
        results: list[Extraction | Failure] = self.origin.check_results(returned, len(passages), kinds, _METHOD)
        for passage, result in zip(passages, results, strict=True):
            if isinstance(result, Extraction):
                self._check(passage, result)
        return results

    def _check(self, passage: Passage, result: Extraction) -> None:
        for mention in result.mentions:
            self.origin.check_part(mention, (Mention,), _METHOD, f"a mention of {passage.id!r}")
            self._check_strings((mention.name, mention.kind), 2, f"the name and kind of a mention of {passage.id!r}")
            span = (mention.start, mention.end)
            if span != _UNKNOWN_SPAN and not 0 <= span[0] < span[1] <= len(passage.text):
                part, wanted = f"the span of a mention of {passage.id!r}", f"{_UNKNOWN_SPAN}, or one in its text"
                raise self.origin.wrong_part(_METHOD, part, f"{span}", f"{wanted} of {len(passage.text)} characters")
        for triple in result.triples:
            self._check_strings(triple, 3, f"a triple of {passage.id!r}")
        for alias in result.aliases:
            self._check_strings(alias, 2, f"an alias of {passage.id!r}")

    def _check_strings(self, values: object, count: int, part: str) -> None:
        fits = isinstance(values, tuple | list) and len(values) == count
        if not fits or not all(isinstance(value, str) and value.strip() for value in cast("Sequence[object]", values)):
            raise self.origin.wrong_part(_METHOD, part, f"{values!r:.80}", f"{count} strings, none of them empty")


def accept_extractor(given: object, origin: Origin | None = None) -> Extractor:
    """Return an extractor, with its results checked unless it is one of this package.

    Raises InputError where it lacks a member of `clew.Extractor`.
    """
    found_at = check_given(given, "extractor", {"fingerprint": str, "extract": None}, origin)
    extractor = cast("Extractor", given)
    if not extractor.fingerprint.strip():
        raise InputError(f"the {found_at.label} has an empty fingerprint; give one with its version")
    return extractor if is_own(given) else GivenExtractor(extractor, found_at)


def given_extractor_name(extractor: Extractor) -> str:
    """Return the name that an index keeps of an extractor given as an object."""
    return f"{FROM_PYTHON}{extractor.fingerprint}"


def check_index_extractor(extractor: Extractor, index_extractor: str) -> None:
    """Raise InputError unless an index was made with the extractor, given the name that it keeps."""
    if given_extractor_name(extractor) != index_extractor:
        raise InputError(
            f"the index was made with the extractor {index_extractor!r}, not with the one given, of fingerprint "
            f"{extractor.fingerprint!r}; leave it out, or make a new index"
        )


LLM = "llm"
RULES, AUTO = "rules", "auto"


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


def _build_plain(kind: str, argument: str, _: ExtractionTools) -> Extractor:
    if argument:
        raise _unknown(f"{kind}:{argument}")
    if kind == RULES:
        return RuleExtractor()
    from clew.indexing.extraction.span_extractor import LearnedExtractor

    return LearnedExtractor(rules=RuleExtractor())


EXTRACTORS = Registry(
    "extractor",
    "clew.extractors",
    {
        RULES: ExtractorEntry("names, dates and relations by rules; no language model", partial(_build_plain, RULES)),
        "learned": ExtractorEntry("names by a trained network, in any case", _build_learned),
        AUTO: ExtractorEntry("rules, and learned where capitals tell nothing", partial(_build_plain, AUTO)),
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
