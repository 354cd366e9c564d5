"""Counts in messages: `1 passage`, `2 passages`, `1,000 entities`; and the unit of sizes of files."""

import re

MEBIBYTE = 1 << 20  # bytes


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Return a count and what is counted, the noun in the singular for one.

    Args:
        count: how many; thousands are separated by commas.
        noun: what is counted, in the singular; words after the noun need `plural`: `piece of evidence`, `key is`.
        plural: the plural, for nouns that do not end in -s or -ies.
    """
    return f"{count:,} {noun if count == 1 else plural or _pluralise(noun)}"


def _pluralise(noun: str) -> str:
    return f"{noun[:-1]}ies" if re.search(r"[^aeiou]y\Z", noun) else f"{noun}s"
