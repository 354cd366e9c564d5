"""Extractors that are given as objects, which an index knows by their fingerprint."""

from typing import cast

from clew.errors import InputError
from clew.plugins.arguments import FROM_PYTHON, check_members
from clew.protocols import Extractor


def accept_extractor(given: object) -> Extractor:
    """Return an extractor that was given as an object; one that lacks a member of `clew.Extractor` is an InputError."""
    check_members(given, "extractor", {"fingerprint": str, "extract": None})
    extractor = cast("Extractor", given)
    if not extractor.fingerprint.strip():
        raise InputError(f"the extractor {type(given).__name__} has an empty fingerprint; give one with its version")
    return extractor


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
