"""Words of an English question that refer to something said before: pronouns, `the same ship`, `there`.

Source: none. Differs from the source: nothing.
"""

import re
from collections.abc import Iterator

from clew.query.referents import PLACE, THING, noun_kind

POSSESSIVE = frozenset(["his", "her", "hers", "its", "their", "theirs"])
"""Pronouns that stand for a name with an 's."""

_NOT_NOUNS = "is|was|are|were|did|does|do|has|had|can|will|of|in|on|at|by|from|to|for|with|and|or|the|a|an"
_REFERENCE = re.compile(
    r"(?P<the>\b(?:the\s+same|this|that|these|those|the)\s+(?P<noun>[a-z][\w-]*))"
    r"|\b(?P<pronoun>he|him|his|she|hers?|it|its|they|them|theirs?|there|then|that)\b(?!['’-])",
    re.I,
)
_DEMONSTRATIVE_BEFORE = re.compile(
    r"(?:\A|\b(?:of|in|on|at|by|from|to|for|with|did|was|is|were|are|does|do|has|had|and|about|on|under|near|after)\s+)\Z",
    re.I,
)
_EXPLETIVE = re.compile(
    r"\b(?:is|was|are|were)\s+(?:there|it)\s+(?:an?|any|true|in|that|the\s+case|possible|cold|warm|hot|dark|light|far|late|"
    r"early|known|likely|common|safe|dangerous|difficult|easy|windy|wet|dry|snowing|raining)\b",
    re.I,
)
_EXISTS = re.compile(r"\bthere\s+(?:is|was|are|were|be|been|exists?)\b|\b(?:is|are|was|were)\s+there\b", re.I)
_TAKES = re.compile(r"\b(?:does|did|do)\s+it\s+(?:take|mean|matter|cost)\b", re.I)
_OWN_SUBJECT = re.compile(
    r"\A(?:who|(?:which|what)\s+[a-z]+s?)\b.*\b(?:said|claimed|thought|believed|that|when|after|before|because|while|if|"
    r"until)\s+\Z",
    re.I,
)
_NOT_POSSESSED = re.compile(r"\s*(?:\Z|[?.,;!]|(?:to|in|on|at|by|from|for|with|and|or|as|after|before)\b)", re.I)


def find_reference_words(text: str) -> Iterator[re.Match[str]]:
    """Yield the references of a question in order: a `pronoun`, or `the` with its `noun`."""
    return (match for match in _REFERENCE.finditer(text) if not _is_no_reference(text, match))


def is_plain(match: re.Match[str]) -> bool:
    """Return whether a reference is a noun with its article, which may mean any: `the museum`."""
    return re.match(r"the\s+(?!same\b)", match.group(), re.I) is not None


def must_refer(match: re.Match[str]) -> bool:
    """Return whether a word means nothing without what it refers to."""
    return not is_plain(match) and (match["pronoun"] or "").lower() != "that"


def _is_no_reference(text: str, match: re.Match[str]) -> bool:
    """Return whether a word that looks like a reference is none: `is there a`, `the ship that sank`, `does it take`."""
    around = text[max(0, match.start() - 12) : match.end() + 20]
    if match["noun"]:
        written = match.group().lower()
        bare = re.fullmatch(_NOT_NOUNS, match["noun"], re.I) is not None
        if is_plain(match):
            is_other = re.match(r"\s+(?:of|that|which|who|where|with|from|for|named|called|[A-Z])", text[match.end() :])
            return noun_kind(match["noun"]) not in (THING, PLACE) or is_other is not None
        is_relative = not written.startswith("the same")
        return bare or (is_relative and _DEMONSTRATIVE_BEFORE.search(text[: match.start()]) is None)
    word = match["pronoun"].lower()
    if word == "that":
        return re.search(r"\b(?:about|of|after|before)\s+\Z", text[: match.start()], re.I) is None
    if word == "it" and (_EXPLETIVE.search(around) or _TAKES.search(around)):
        return True
    if word == "there" and _EXISTS.search(around):
        return True
    return _OWN_SUBJECT.match(text[: match.start()]) is not None


def write_name(name: str, match: re.Match[str], text: str) -> str:
    """Return a name in place of a reference: `Fram's` for `its`, `in Oslo` for `there`."""
    word = (match["pronoun"] or "").lower()
    if word in POSSESSIVE and not (word == "her" and _NOT_POSSESSED.match(text, match.end())):
        return f"{name}’" if name.endswith("s") else f"{name}'s"
    return f"in {name}" if word in ("there", "then") else name
