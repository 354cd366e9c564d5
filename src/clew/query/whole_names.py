"""Names with their first words: "The Tide" and "Old Bertha", whose openings look like common words beside a name.

Source: none. Differs from the source: nothing.
"""

import re
from collections.abc import Iterable

from clew.text.gazetteer import COMMON_WORDS
from clew.text.normalization import name_key

_WORD_BEFORE = re.compile(r"(?<=\s)(?P<word>[^\W\d_a-z][\w’'-]*)\s\Z")
_QUESTION_WORDS = frozenset("who whom whose what when where which why how did does do is was are were has had".split())  # noqa: SIM905 - a list


def complete_name(text: str, name: str, titles: Iterable[str] = ()) -> str:
    """Return a name in a text with the capitalised words right before it, the text's first word aside.

    That one counts too where a passage has the whole as its title.
    """
    start = text.find(name)
    if start < 0:
        return name
    end = start + len(name)
    while match := _WORD_BEFORE.search(text, 0, start):
        if match["word"].lower() in _QUESTION_WORDS or match["word"].lower() not in COMMON_WORDS:
            break
        start = match.start("word")
    first = re.match(r"[^\W_]+\s", text[:start])
    if first is not None and first.end() == start and name_key(text[:end]) in set(map(name_key, titles)):
        start = 0
    return text[start:end]


def complete_answer(answer: str, titles: Iterable[str]) -> str:
    """Return the one title that is an answer with a common word before it, such as "The Tide" for "Tide"; else it."""
    found: set[str] = set()
    for title in titles:
        plain = title.partition(" (")[0]
        first, _, rest = plain.partition(" ")
        if plain.casefold() == answer.casefold():
            return answer
        if first.lower() in COMMON_WORDS and rest.casefold() == answer.casefold():
            found.add(plain)
    return found.pop() if len(found) == 1 else answer
