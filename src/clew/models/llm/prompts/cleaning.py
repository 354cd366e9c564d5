"""Names and triples as a model writes them, made clean: what holds nothing, or far too much, is left out."""

import re
from collections.abc import Sequence

from clew.text.sanitize import one_line

LONGEST_NAME = 200
"""Characters: what is longer is a sentence and no name."""

MOST = 300
"""Names, or triples, of one passage: a model that cannot stop repeats itself."""

_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")


def clean_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in order, white space made single, each once; those blank, endless or no Unicode left out."""
    return tuple(dict.fromkeys(name for name in map(_clean, names) if name))[:MOST]


def clean_triples(triples: Sequence[Sequence[str]], most: int = MOST) -> tuple[tuple[str, str, str], ...]:
    """Return the triples in order, each once; those with a part that is left out are left out."""
    found: dict[tuple[str, str, str], None] = {}
    for head, relation, tail in triples:
        triple = (_clean(head), _clean(relation), _clean(tail))
        if all(triple):
            found[triple] = None
    return tuple(found)[:most]


def _clean(text: str) -> str:
    """Return one line, or "" for what cannot be used."""
    line = one_line(text)
    return "" if len(line) > LONGEST_NAME or _HALF_A_CHARACTER.search(line) else line
