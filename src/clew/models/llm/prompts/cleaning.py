"""Names and triples as a model writes them, made clean: what holds nothing, or far too much, is left out."""

import re
from collections.abc import Sequence

from clew.text.sanitize import to_single_line

MAX_NAME_CHARACTERS = 200
"""Characters: what is longer is a sentence and no name."""

MAX_ITEMS = 300
"""Names, or triples, of one passage: a model that cannot stop repeats itself."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in order, white space made single, each once; those blank, endless or no Unicode left out."""
    return tuple(dict.fromkeys(name for name in map(_clean_line, names) if name))[:MAX_ITEMS]


def clean_triples(triples: Sequence[Sequence[str]], limit: int = MAX_ITEMS) -> tuple[tuple[str, str, str], ...]:
    """Return the triples in order, each once; those with a part that is left out are left out."""
    found: dict[tuple[str, str, str], None] = {}
    for head, relation, tail in triples:
        triple = (_clean_line(head), _clean_line(relation), _clean_line(tail))
        if all(triple):
            found[triple] = None
    return tuple(found)[:limit]


def _clean_line(text: str) -> str:
    """Return one line, or "" for what cannot be used."""
    line = to_single_line(text)
    return "" if len(line) > MAX_NAME_CHARACTERS or _SURROGATE.search(line) else line
