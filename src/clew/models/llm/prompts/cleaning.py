"""Cleaning of the names and triples in a model's reply: empty and overlong ones are dropped."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from clew.text.sanitize import has_surrogate, to_single_line

MAX_NAME_CHARACTERS = 200  # longer names are taken for sentences
MAX_ITEMS = 300  # names, or triples, of one passage: a model that fails to stop repeats itself
# A triple in the schema of a reply: subject, relation, object.
TripleStrings = Annotated[list[str], Field(min_length=3, max_length=3)]


def clean_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct names in order, white space normalised; empty, overlong and non-Unicode ones are dropped."""
    return tuple(dict.fromkeys(name for name in map(_clean_line, names) if name))[:MAX_ITEMS]


def clean_triples(triples: Sequence[Sequence[str]], limit: int | None = None) -> tuple[tuple[str, str, str], ...]:
    """Return the distinct triples in order, cleaned like names; those with a dropped part are dropped.

    At most `limit` are returned, and never more than `MAX_ITEMS`.
    """
    cleaned = ((_clean_line(head), _clean_line(relation), _clean_line(tail)) for head, relation, tail in triples)
    return tuple(dict.fromkeys(triple for triple in cleaned if all(triple)))[
        : MAX_ITEMS if limit is None else min(limit, MAX_ITEMS)
    ]


def _clean_line(text: str) -> str:
    line = to_single_line(text)
    return "" if len(line) > MAX_NAME_CHARACTERS or has_surrogate(line) else line
