"""The nearest of some names to a misspelt one."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most similar to a given one, "" where none is similar."""
    by_folded = {other.casefold().replace("_", "-"): other for other in known}
    matches = get_close_matches(name.casefold().replace("_", "-"), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else ""


def suggest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean NAME? ", for the middle of a message, with the most similar known name; "" without one."""
    close = nearest(name, known)
    return f"did you mean {close}? " if close else ""
