"""Search for known names in text: longest match first, on folded words, with a guard against common words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clew.text.normalization import name_key, token_keys, token_spans

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


class Match(NamedTuple):
    """A known name at `text[start:end]` and the numbers of its possible targets, ascending."""

    start: int
    end: int
    targets: tuple[int, ...]


class Gazetteer:
    """A dictionary of the names of targets, numbered by position; a name of more than `max_targets` never matches."""

    def __init__(self, names: Iterable[Sequence[str]], max_targets: int = 4) -> None:
        targets: dict[str, list[int]] = {}
        for number, variants in enumerate(names):
            for key in dict.fromkeys(name_key(variant) for variant in variants):
                if key:
                    targets.setdefault(key, []).append(number)
        self._targets = {k: tuple(t) for k, t in targets.items() if len(t) <= max_targets and k not in COMMON_WORDS}
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


def looks_like_name(surface: str) -> bool:
    """Return whether a text starts with a capital, a digit, or a letter of a script without capitals."""
    first = surface[:1]
    return first.isupper() or first.isdigit() or (first.isalpha() and first.lower() == first.upper())
