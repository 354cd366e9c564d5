"""Character spans and kinds of the names that a model found in a passage."""

import re
from collections.abc import Sequence

from clew.text.normalization import tokens
from clew.types import Mention

_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    r"[12]\d{3}(?:['’]?s)?|[12]\d{3}\s?[-–]\s?(?:[12]\d)?\d\d|\d{1,4}\s?(?:ad|ce|bce?)|\d{1,2}(?:st|nd|rd|th) century"
    rf"|(?:\d{{1,2}}(?:st|nd|rd|th)? )?{_MONTH},? [12]\d{{3}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? [12]\d{{3}})?"
    rf"|\d{{1,2}} {_MONTH}|\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}"
    r"|\d{3,4}年(?:\d{1,2}月(?:\d{1,2}日)?)?",
    re.IGNORECASE,
)
_UNIT = r"%|percent|km²?|cm|mm|m²?|kg|g|miles?|feet|ft|°[cf]|thousand|million|billion|trillion"
_NUMBER = re.compile(rf"[-+−]?[$€£¥]?\s?\d+(?:[.,]\d+)*(?:\s?(?:{_UNIT}))*", re.IGNORECASE)


def locate_mentions(text: str, names: Sequence[str]) -> tuple[Mention, ...]:
    """Return a mention (`text[start:end]`, in its case) of each distinct name by position; names not in it are last."""
    find = _MentionFinder(text).find
    mentions = dict.fromkeys(find(name) for name in dict.fromkeys(names))
    return tuple(sorted(mentions, key=lambda mention: (mention.start < 0, mention.start)))


class _MentionFinder:
    def __init__(self, text: str) -> None:
        self._text = text
        self._words = tokens(text)
        self._starts: dict[str, list[int]] = {}
        for number, word in enumerate(self._words):
            self._starts.setdefault(word.key, []).append(number)

    def find(self, name: str) -> Mention:
        """Return the first occurrence of a name as whole words, else ignoring case, else inside a word."""
        start, end = self._find_whole_words(name) or self._find_folded(name) or self._find_substring(name) or (-1, -1)
        return Mention(name if start < 0 else self._text[start:end], mention_kind(name), start, end)

    def _find_whole_words(self, name: str) -> tuple[int, int] | None:
        start = self._text.find(name)
        while start >= 0:
            end = start + len(name)
            if not (_is_inside_word(self._text, start) or _is_inside_word(self._text, end)):
                return start, end
            start = self._text.find(name, start + 1)
        return None

    def _find_folded(self, name: str) -> tuple[int, int] | None:
        keys = [word.key for word in tokens(name)]
        for first in self._starts.get(keys[0], ()) if keys else ():
            words = self._words[first : first + len(keys)]
            if [word.key for word in words] == keys:
                return words[0].start, words[-1].end
        return None

    def _find_substring(self, name: str) -> tuple[int, int] | None:
        start = self._text.find(name)
        return None if start < 0 else (start, start + len(name))


def _is_inside_word(text: str, offset: int) -> bool:
    return 0 < offset < len(text) and text[offset - 1].isalnum() and text[offset].isalnum()


def mention_kind(name: str) -> str:
    """Return "date", "number" or "name"."""
    if _DATE.fullmatch(name):
        return "date"
    return "number" if _NUMBER.fullmatch(name) else "name"
