"""Extractors of somebody else, checked at each call; an index knows those given as objects by their fingerprint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, final

from clew.errors import InputError
from clew.plugins.arguments import FROM_PYTHON, Origin, check_given, is_own
from clew.protocols import Extractor
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
