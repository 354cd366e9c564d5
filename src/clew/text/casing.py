"""Common words, and whether capitals and words tell names from other text."""

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


# Function words that are also titles of films, songs and bands; alone they are never matched in running text.
COMMON_WORDS = frozenset(
    "a about above after again all also although among an and another any are as at back because been before being "  # noqa: SIM905
    "best better between both but by can come could day did do does down during each even every few first for from "
    "get give go good great had has have he her here him his home how however i if in into is it its just know last "
    "later life like little long love made make man many may me men might more most mother much must my name never new "
    "night no not now of off old on once one only or other our out over own part people place play real right said "
    "same second see series she should since small so some still story such take than that the their them then there "
    "these they thing this those three through time to together too two under until up us use used very war was way we "
    "well were what when where which while white who whom whose why will with woman women work world would year years "
    "yes yet you young your".split()
)


def looks_like_name(surface: str) -> bool:
    """Return whether a text starts with a capital, a digit, or a letter of a script without capitals."""
    first = surface[:1]
    return first.isupper() or first.isdigit() or (first.isalpha() and first.lower() == first.upper())
