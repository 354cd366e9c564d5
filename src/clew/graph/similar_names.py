"""The names of an index that are spelt nearly as a text, or that a text is short for.

Memory is a few arrays, of about 80 bytes a name: the keys of names, and hashes of their parts in ascending order.

Source: see `clew.graph.spelling_kernels`; shortened forms have none. Differs from the source: nothing more.

The entity that a person means by a name, among those that have it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.spelling_kernels import (
    ACRONYM,
    CONNECTOR,
    FULL_NAME,
    MAX_LETTERS,
    MAX_PARTS,
    SURNAME,
    hash_part,
    list_parts,
    near_names,
)
from clew.graph.string_array import StringArray
from clew.graph.string_kernels import take_strings
from clew.text.normalization import key_hash, name_key, strip_parentheses

PARTS = ("data", "offsets", "hashes", "owners")
"""The arrays that the names are made of."""
_CONNECTORS = ("of", "the", "and", "for", "in", "on", "at", "to", "de", "la", "le", "du", "des", "der", "und", "et")
_MIN_ACRONYM, _MIN_SURNAME, _MIN_LAST_NAME = 3, 4, 3  # letters
_MAX_CANDIDATES = 4096  # full names of one initial and surname; more are too ambiguous to join
_CHUNK = 50_000
_MAX_MORE_WORDS = 2  # between the first and the last name


@dataclass(frozen=True, slots=True)
class EditFloors:
    """Letters, without spaces, from which a name may be misspelt; chosen in docs/decisions."""

    one_edit: int = 5
    two_edits: int = 13


@dataclass(frozen=True, slots=True)
class SpeltName:
    """A name by its key, and the letters by which a text differs from it."""

    key: str
    edits: int


@final
class SimilarNames:
    """The names of an index by their spelling; the arrays are those of `list_name_parts` with the same floors."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], floors: EditFloors | None = None) -> None:
        self._floors = astuple(floors or EditFloors())  # once: each call copies deeply
        self.names = StringArray(arrays["data"], arrays["offsets"])  # N keys, in no order
        self._hashes: NDArray[np.uint64] = arrays["hashes"]  # (m,) ascending
        self._owners: IntArray = arrays["owners"]  # (m,) the name of each

    def nearest_names(self, key: str) -> list[SpeltName]:
        """Return the names that differ from a name's key by no more edits than their length allows, nearest first."""
        query = _letters(key.replace(" ", ""))
        if not 1 < len(query) <= MAX_LETTERS:
            return []
        arrays = self.names.data, self.names.offsets, self._hashes, self._owners
        found = {(int(e), int(n)) for n, e in near_names(query, *arrays, *self._floors)}
        return sorted((SpeltName(self.names[n], e) for e, n in found), key=lambda name: (name.edits, name.key))

    def full_names(self, key: str) -> list[str]:
        """Return the names of other words between the same first and last, where initials may stand for words."""
        words = key.split(" ")
        if len(words) < 2 or len(words[-1]) < _MIN_LAST_NAME:
            return []
        names = self._names_with(FULL_NAME, ord(words[0][0]), words[-1])
        return sorted(name for name in names if name != key and _is_short_for(words, name.split(" ")))

    def names_with_surname(self, key: str) -> list[str]:
        """Return the names of several words of which a word is the last."""
        return sorted(self._names_with(SURNAME, 0, key)) if len(key) >= _MIN_SURNAME and " " not in key else []

    def long_forms(self, acronym: str) -> list[str]:
        """Return the names of three or more words that begin with the letters of an acronym's key."""
        names = self._names_with(ACRONYM, 0, acronym) if len(acronym) >= _MIN_ACRONYM and " " not in acronym else []
        return sorted(name for name in names if acronym in _initials(name))

    def _names_with(self, kind: int, number: int, text: str) -> list[str]:
        letters = _letters(text)
        wanted = hash_part(kind, number, letters, 0, len(letters))
        first, last = (int(self._hashes.searchsorted(np.uint64(wanted), side)) for side in ("left", "right"))
        return [self.names[int(n)] for n in self._owners[first:last]] if last - first <= _MAX_CANDIDATES else []


def list_name_parts(snapshot: Snapshot, floors: EditFloors | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays `PARTS` of the names of a snapshot's entities, with and without what stands in parentheses.

    The bytes of N keys, where each begins (N + 1,), and the hashes (m,) of their parts, ascending, with the key (m,)
    that each is a part of.
    """
    names = _known_names(snapshot)
    hashes, owners = np.empty(MAX_PARTS * len(names), np.uint64), np.empty(MAX_PARTS * len(names), np.int32)
    connectors = np.array([hash_part(CONNECTOR, 0, _letters(word), 0, len(word)) for word in _CONNECTORS], np.uint64)
    limits = astuple(floors or EditFloors())
    count = list_parts(names.data, names.offsets, connectors, *limits, hashes, owners)
    order = np.argsort(hashes[:count], kind="stable")
    return {"data": names.data, "offsets": names.offsets, "hashes": hashes[order], "owners": owners[order]}


def _known_names(snapshot: Snapshot) -> StringArray:
    """Return the distinct keys that the names of entities have, and that the snapshot finds entities by."""
    packed, hashes = [], []
    for start in range(0, len(snapshot.entities), _CHUNK):
        names = snapshot.entities[start : start + _CHUNK]
        keys = sorted({name_key(form) for name in names for form in {name, strip_parentheses(name)}} - {""})
        own = np.array([key_hash(key, snapshot.salt) for key in keys], dtype=np.uint64)
        places = np.minimum(snapshot.name_hashes.searchsorted(own), max(len(snapshot.name_hashes) - 1, 0))
        is_known = snapshot.name_hashes[places] == own if len(snapshot.name_hashes) else np.zeros(len(own), bool)
        packed.append(take_strings(StringArray.pack(keys), np.flatnonzero(is_known)))
        hashes.append(own[is_known])
    if not packed:
        return StringArray.pack(())
    _, first = np.unique(np.concatenate(hashes), return_index=True)
    return take_strings(_concatenate(packed), first)


def _concatenate(parts: Sequence[StringArray]) -> StringArray:
    sizes = np.concatenate([[0], *(np.diff(part.offsets) for part in parts)])
    return StringArray(np.concatenate([part.data for part in parts]), np.cumsum(sizes).astype(np.int64))


def _letters(text: str) -> IntArray:
    return np.array([ord(letter) for letter in text], dtype=np.int32)


def _is_short_for(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two names share their first and last words, and all words of the shorter one, or initials."""
    short, long = sorted((words, others), key=len)
    if len(long) > len(short) + _MAX_MORE_WORDS or not (_fit(short[0], long[0]) and short[-1] == long[-1]):
        return False
    between = iter(long[1:-1])
    return all(any(_fit(word, other) for other in between) for word in short[1:-1])


def _fit(word: str, other: str) -> bool:
    return word == other or (word[0] == other[0] and 1 in (len(word), len(other)))


@lru_cache(maxsize=1024)
def _initials(name: str) -> tuple[str, str]:
    words = name.split(" ")
    return "".join(w[0] for w in words), "".join(w[0] for w in words if w not in _CONNECTORS)


def choose_entities(name: str, entities: Sequence[int], label: Callable[[int], str]) -> list[int]:
    """Return those of the entities with a name that are displayed so, to the letter or else but for case and spaces.

    Where none is displayed so, all of them; more than one is ambiguous.
    """
    exact = [entity for entity in entities if label(entity) == name.strip()]
    if exact:
        return exact
    wanted = name_key(name)
    return [entity for entity in entities if name_key(label(entity)) == wanted] or list(entities)
