"""Search for known names in text: longest match first, on folded words, with a guard against common words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clew.text.casing import COMMON_WORDS, looks_like_name
from clew.text.normalization import name_key, token_keys, token_spans

MAX_TARGETS = 4


class Match(NamedTuple):
    """A known name at `text[start:end]` and the numbers of its possible targets, ascending."""

    start: int
    end: int
    targets: tuple[int, ...]


class Gazetteer:
    """A dictionary of the names of targets, numbered by position; a name of more than `MAX_TARGETS` never matches."""

    def __init__(self, names: Iterable[Sequence[str]]) -> None:
        targets: dict[str, list[int]] = {}
        for number, variants in enumerate(names):
            for key in dict.fromkeys(name_key(variant) for variant in variants):
                if key:
                    targets.setdefault(key, []).append(number)
        self._targets = {k: tuple(t) for k, t in targets.items() if len(t) <= MAX_TARGETS and k not in COMMON_WORDS}
        self._lengths: dict[str, list[int]] = {}
        for key in self._targets:
            words = key.split(" ")
            lengths = self._lengths.setdefault(words[0], [])
            if len(words) not in lengths:
                lengths.append(len(words))
        for lengths in self._lengths.values():
            lengths.sort(reverse=True)

    def __len__(self) -> int:
        return len(self._targets)

    def find(self, text: str) -> list[Match]:
        """Return the known names in `text` from left to right, without overlaps.

        A name of one or two words matches only where it starts with a capital, a digit or a letter of a script without
        capitals, so that common words in running text are not taken for titles.
        """
        keys = token_keys(text)
        starts = [i for i, key in enumerate(keys) if key in self._lengths]
        if not starts:
            return []
        spans = token_spans(text)
        matches: list[Match] = []
        free = 0
        for position in starts:
            if position < free:
                continue
            if length := self._longest_match(text, spans, keys, position):
                free = position + length
                start, end = spans[position][0], spans[free - 1][1]
                matches.append(Match(start, end, self._targets[" ".join(keys[position:free])]))
        return matches

    def _longest_match(self, text: str, spans: Sequence[tuple[int, int]], keys: list[str], position: int) -> int:
        for length in self._lengths[keys[position]]:
            key = " ".join(keys[position : position + length])
            if position + length <= len(keys) and key in self._targets:
                surface = text[spans[position][0] : spans[position + length - 1][1]]
                if length > 2 or looks_like_name(surface):
                    return length
        return 0
