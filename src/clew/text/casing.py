"""Whether the capitals of a text tell names from other words."""

import re

_CASED = re.compile(r"[^\W\d_]")
MIN_LETTERS = 20
"""In fewer cased letters no capital may well be chance."""
MIN_CAPITALS, MAX_CAPITALS = 0.004, 0.5
"""Shares of the cased letters: English prose has 0.02 to 0.06 of capitals, and 0.01 where only sentences begin so."""
_MIN_LATIN = 0.8


def is_uninformative(text: str) -> bool:
    """Return whether a text in Latin letters has hardly any capitals, or hardly anything else.

    Capitals do not tell names in lower-cased corpora, transcripts and headings in capitals. Other scripts, with
    capitals or without, are left to the rules, which know them.
    """
    cased = capitals = latin = letters = 0
    for letter in _CASED.findall(text):
        letters += 1
        latin += letter < "\u0250"
        if letter.isupper():
            capitals += 1
            cased += 1
        elif letter.islower():
            cased += 1
    if cased < MIN_LETTERS or latin < _MIN_LATIN * letters:
        return False
    return not MIN_CAPITALS <= capitals / cased <= MAX_CAPITALS
