"""Indexes and their passages, as the adapters take and give them."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import clew
from clew.errors import InputError
from clew.index import Index
from clew.plugins.arguments import describe_value
from clew.types import Passage, Place, Scored

OWN_FIELDS = ("passage_id", "document_id", "title", "start", "end")
"""Fields of every passage beside its document's metadata, in the order of `passage_fields`."""
PLACE_FIELDS = tuple(one.name for one in fields(Place))
"""Fields of where a passage begins in its source: those that the source has."""


class ArgumentError(InputError, ValueError):
    """An argument that cannot be used, of the kind that the neighbours raise, too."""


def open_given(index: object) -> Index:
    """Return an index that is given opened, or by its folder or URI.

    Raises:
        InputError: It is neither.
        IndexFormatError: There is no index.
    """
    if isinstance(index, Index):
        return index
    if isinstance(index, str | Path):
        return clew.open(index)
    raise InputError(f"the index is {describe_value(index)}; give what clew.open returns, a folder or a URI")


def check_passage_count(k: object, name: str = "k") -> int:
    """Return the number of passages that are wanted; below 1, or no whole number, it is an ArgumentError.

    `name` is that of the argument, for the message.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ArgumentError(f"{name} is {k!r:.80}; give a whole number of at least 1")
    return k


def passage_fields(passage: Passage) -> dict[str, Any]:
    """Return the metadata of a passage's document, `PLACE_FIELDS` of its first character, and `OWN_FIELDS`.

    Fields of the passage go before metadata of their names; a place that the source does not have is left out.
    """
    own = (passage.id, passage.document_id, passage.title, passage.start, passage.end)
    place = passage.place_at(0) or Place()
    stated = {name: value for name in PLACE_FIELDS if (value := getattr(place, name))}
    return {**passage.metadata, **stated, **dict(zip(OWN_FIELDS, own, strict=True))}


def scored_fields(found: Scored[Passage]) -> dict[str, Any]:
    """Return `passage_fields` of a passage that was found, with its `score`: higher is better."""
    return {**passage_fields(found.item), "score": found.score}
