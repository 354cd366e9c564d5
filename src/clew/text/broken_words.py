"""Words that a hyphen at a line's end breaks: whole again, or compounds that keep their hyphen.

"recon-/struct" is one word, "third-/order" a compound; the rest of the document tells which. The hyphen goes where the
document has the whole word, or another form of it; it stays where the document has the compound, where both halves are
words of the document, each of its own, or where what stands before is a compound itself ("state-of-the-/art"). Else it
goes, as most such hyphens do.

Source: none. Differs from the source: nothing.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import final

from clew.text.gazetteer import COMMON_WORDS

BREAK = "\ufffe"
"""Stands for a hyphen and the line break after it."""
_BREAK = re.compile(rf"(?P<before>[^\W_][\w’'-]*)?{BREAK}(?P<after>[^\W_][\w’']*)?")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_WORD = re.compile(r"[^\W\d_]+")
_BROKEN = re.compile(rf"\S*{BREAK}\S*")
_MAX_ENDING, _MIN_BEYOND = 3, 2  # letters in which forms of a word differ; letters they share after the break


@final
class BrokenWords:
    """The words of a document, by which broken ones are joined; its `texts` have a `BREAK` where a word breaks."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._compounds: set[str] = set()
        words: set[str] = set()
        for text in texts:
            whole = _BROKEN.sub(" ", text).casefold()
            self._compounds.update(_COMPOUND.findall(whole))
            words.update(_WORD.findall(_COMPOUND.sub(" ", whole)))
        self._first_parts = {compound.partition("-")[0] for compound in self._compounds}
        self._words = words
        self._sorted = sorted(words)

    def join(self, text: str) -> str:
        """Return a text with each break gone, or a hyphen in its place."""
        return _BREAK.sub(self._join, text) if BREAK in text else text

    def _join(self, match: re.Match[str]) -> str:
        before, after = match["before"] or "", match["after"] or ""
        return f"{before}{'-' if self._keeps_hyphen(before, after) else ''}{after}"

    def _keeps_hyphen(self, before: str, after: str) -> bool:
        if "-" in before or not (before[-1:].isalpha() and after[:1].isalpha()):
            return True
        if after[0].isupper() and not before.isupper():
            return True  # "Anglo-Saxon"
        first, second = before.casefold(), after.casefold()
        if self._has_form(first + second, len(first)):
            return False
        if f"{first}-{second}" in self._compounds:
            return True
        is_word = [half in self._words and half not in COMMON_WORDS for half in (first, second)]
        return all(is_word) or (first in self._first_parts and is_word[1])

    def _has_form(self, word: str, broken_at: int) -> bool:
        """Return whether the document has a word, or one that differs from it in a short ending after the break."""
        if word in self._words:
            return True
        shared = word[: max(broken_at + _MIN_BEYOND, len(word) - _MAX_ENDING)]
        at = bisect_left(self._sorted, shared)
        near = self._sorted[at : at + 1]
        return bool(near) and near[0].startswith(shared) and len(near[0]) <= len(word) + _MAX_ENDING
