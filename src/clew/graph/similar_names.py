"""The names of an index that are spelt nearly as a text, or that a text is short for.

Memory is a few arrays, of about 80 bytes a name: the keys of names, and hashes of their parts in ascending order.

A spelling is a name's key (`clew.text.normalization.name_key`) without its spaces, as code points. A name of limit k is
cut into k + 1 segments; of a text with at most k edits, at least one segment is as in the name, moved by at most k
letters, or has its last letter swapped with the next one. So the names that share a segment are all candidates.

Source: Li et al., "Pass-Join: A Partition-based Method for Similarity Joins" (2011), for segments; the recurrence of
Damerau and Levenshtein in its restricted form (optimal string alignment), where no letter is edited twice.
Differs from the source: two neighbouring letters that are swapped count as one edit, for which the swapped ends of
segments are looked up too; segments are found by hashes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.string_array import StringArray, take_strings
from clew.text.normalization import key_hash, name_key, strip_parentheses

MAX_LETTERS = 100  # longer names are not looked for
MAX_EDITS = 2
SURNAME, FULL_NAME, ACRONYM, CONNECTOR = -1, -2, -3, -4
"""Kinds of parts that are hashed beside segments, whose kind is the length of the name."""
MAX_PARTS = MAX_EDITS + 5  # of a name
_SEED, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_SHIFT, _FACTOR = np.uint64(29), np.uint64(0xBF58476D1CE4E5B9)
_SPACE = 32


@njit
def hash_part(kind: int, number: int, letters: IntArray, begin: int, end: int) -> np.uint64:
    """Return the hash of a part of a name: its kind, its number among those, and of `letters` (n,) a range."""
    value = (_SEED ^ np.uint64(kind & 0xFFFFFFFF)) * _PRIME
    value = (value ^ np.uint64(number)) * _PRIME
    for i in range(begin, end):
        value = (value ^ np.uint64(letters[i])) * _PRIME
    return (value ^ (value >> _SHIFT)) * _FACTOR


@njit
def edit_limit(length: int, one_from: int, two_from: int) -> int:
    """Return how many edits a name of some length may differ by."""
    return 0 if length < one_from else 1 if length < two_from else 2


@njit
def edit_distance(a: IntArray, a_length: int, b: IntArray, b_length: int, rows: IntArray) -> int:
    """Return the edits (letters changed, left out, added, or swapped with the next) between two spellings.

    `rows` (3, n) is working space of n > `b_length`.
    """
    for j in range(b_length + 1):
        rows[0, j] = j
    for i in range(1, a_length + 1):
        now, last, older = i % 3, (i - 1) % 3, (i - 2) % 3
        rows[now, 0] = i
        for j in range(1, b_length + 1):
            best = rows[last, j - 1] + (0 if a[i - 1] == b[j - 1] else 1)
            best = min(best, min(rows[last, j], rows[now, j - 1]) + 1)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, rows[older, j - 2] + 1)
            rows[now, j] = best
    edits: int = rows[a_length % 3, b_length]
    return edits


@njit
def near_names(
    query: IntArray,
    data: NDArray[np.uint8],
    offsets: LongArray,
    hashes: NDArray[np.uint64],
    owners: IntArray,
    one_from: int,
    two_from: int,
) -> IntArray:
    """Return the names (m,) within their limits of a spelling, as (m, 2) positions and edits, with repetitions."""
    found = np.empty((16, 2), dtype=np.int32)
    count, length = 0, len(query)
    name, rows = np.empty(MAX_LETTERS, dtype=np.int32), np.empty((3, MAX_LETTERS + 1), dtype=np.int32)
    part = np.empty(length + 1, dtype=np.int32)
    for name_length in range(max(length - MAX_EDITS, 1), min(length + MAX_EDITS, MAX_LETTERS) + 1):
        limit = edit_limit(name_length, one_from, two_from)
        if limit == 0 or abs(length - name_length) > limit:
            continue
        for segment in range(limit + 1):
            start = segment * name_length // (limit + 1)
            size = (segment + 1) * name_length // (limit + 1) - start
            for first in range(max(start - limit, 0), min(start + limit, length - size) + 1):
                for swapped in range(2):
                    if swapped and first + size >= length:
                        continue
                    for i in range(size):
                        part[i] = query[first + i]
                    if swapped:
                        part[size - 1] = query[first + size]
                    wanted = hash_part(name_length, segment, part, 0, size)
                    place = np.searchsorted(hashes, wanted)
                    while place < len(hashes) and hashes[place] == wanted:
                        owner = owners[place]
                        place += 1
                        letters = _read_letters(data, offsets[owner], offsets[owner + 1], name, _SPACE)
                        if letters != name_length:  # another part with the same hash
                            continue
                        edits = edit_distance(query, length, name, letters, rows)
                        if edits <= limit:
                            found = _append(found, count, owner, edits)
                            count += 1
    return found[:count]


@njit
def list_parts(
    data: NDArray[np.uint8],
    offsets: LongArray,
    connectors: NDArray[np.uint64],
    one_from: int,
    two_from: int,
    hashes: NDArray[np.uint64],
    owners: IntArray,
) -> int:
    """Fill the hashes of the parts of n names and their owners (`MAX_PARTS` n,); return their number.

    The names are UTF-8 `data` (bytes,), each from its offset to the next (n + 1,); `connectors` (c,) are the hashes of
    words that an acronym may leave out. Names of `one_from` letters or more may differ by an edit, from `two_from` by
    two.
    """
    count = 0
    letters, words = np.empty(2 * MAX_LETTERS, dtype=np.int32), np.empty(MAX_LETTERS + 2, dtype=np.int64)
    spelling, initials = np.empty(MAX_LETTERS, dtype=np.int32), np.empty(MAX_LETTERS, dtype=np.int32)
    for name in range(len(offsets) - 1):
        size = _read_letters(data, offsets[name], offsets[name + 1], letters, -1)
        length = _read_letters(data, offsets[name], offsets[name + 1], spelling, _SPACE)
        if size < 0 or length < 0:
            continue
        limit = edit_limit(length, one_from, two_from)
        for segment in range(limit + 1 if limit else 0):
            begin, end = segment * length // (limit + 1), (segment + 1) * length // (limit + 1)
            hashes[count], owners[count] = hash_part(length, segment, spelling, begin, end), name
            count += 1
        word_count = 1
        words[0] = 0
        for i in range(size):
            if letters[i] == _SPACE:
                words[word_count] = i + 1
                word_count += 1
        if word_count < 2 or word_count > 8:
            continue
        last = words[word_count - 1]
        hashes[count], owners[count] = hash_part(SURNAME, 0, letters, last, size), name
        hashes[count + 1], owners[count + 1] = hash_part(FULL_NAME, letters[0], letters, last, size), name
        count += 2
        if word_count < 3:
            continue
        words[word_count] = size + 1
        shorter = 0
        for word in range(word_count):
            initials[word] = letters[words[word]]
        hashes[count], owners[count] = hash_part(ACRONYM, 0, initials, 0, word_count), name
        count += 1
        for word in range(word_count):
            own = hash_part(CONNECTOR, 0, letters, words[word], words[word + 1] - 1)
            if not _contains(connectors, own):
                initials[shorter] = letters[words[word]]
                shorter += 1
        if 3 <= shorter < word_count:
            hashes[count], owners[count] = hash_part(ACRONYM, 0, initials, 0, shorter), name
            count += 1
    return count


@njit
def _append(pairs, count, one, other):  # type: ignore[no-untyped-def]
    """Append a pair (2,) to the first `count` of pairs (n, 2); the array doubles when it is full."""
    if count == len(pairs):
        larger = np.empty((2 * count, 2), dtype=np.int32)
        for i in range(count):
            larger[i, 0], larger[i, 1] = pairs[i, 0], pairs[i, 1]
        pairs = larger
    pairs[count, 0], pairs[count, 1] = one, other
    return pairs


@njit
def _contains(values, wanted):  # type: ignore[no-untyped-def]
    found = False
    for i in range(len(values)):
        found |= values[i] == wanted
    return found


@njit
def _read_letters(data, begin, end, out, without):  # type: ignore[no-untyped-def]
    """Decode UTF-8 into code points without one of them; return their number, -1 where there is no room."""
    count, place = 0, begin
    while place < end:
        byte = np.int32(data[place])
        size = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        code = byte if size == 1 else byte & (0xFF >> (size + 1))
        for i in range(1, size):
            code = (code << 6) | (np.int32(data[place + i]) & 0x3F)
        place += size
        if code == without:
            continue
        if count == len(out):
            return -1
        out[count] = code
        count += 1
    return count


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
