"""Vocabularies and lists of different lengths, as segments store them."""

from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, HashArray, IntArray, LongArray
from clew.graph.segments.segment import CollisionError, Ragged, Vocabulary
from clew.graph.string_array import StringArray


class Numbering(dict[str, int]):
    """Numbers texts in the order in which they are first asked for."""

    def __missing__(self, text: str) -> int:
        """Give a new text the next number."""
        number = self[text] = len(self)
        return number


def key_hashes(encoded: Iterable[bytes], salt: int) -> HashArray:
    """Return `clew.text.normalization.key_hash` (n,) of n keys, given as UTF-8; one by one takes twice as long."""
    salted = partial(blake2b, digest_size=8, salt=salt.to_bytes(8, "little"))
    return np.frombuffer(b"".join([salted(key).digest() for key in encoded]), dtype="<u8")


def hash_texts(texts: Iterable[str], salt: int) -> HashArray:
    """Return the hashes (n,) of n texts, in order."""
    return key_hashes([text.encode() for text in texts], salt)


def make_vocabulary(texts: Sequence[str], used: BoolArray, salt: int) -> tuple[Vocabulary, IntArray]:
    """Return the vocabulary of those of n distinct texts that are `used` (n,), and each one's position (n,), or -1.

    Raises CollisionError where two of them have one hash.
    """
    numbers = np.flatnonzero(used)
    encoded = [texts[number].encode() for number in numbers.tolist()]
    hashes = key_hashes(encoded, salt)
    order = np.argsort(hashes)
    hashes, numbers = hashes[order], numbers[order]
    if (hashes[1:] == hashes[:-1]).any():
        raise CollisionError(f"two of {len(hashes)} texts have one hash under the salt {salt}")
    positions = np.full(len(texts), -1, dtype=np.int32)
    positions[numbers] = np.arange(len(numbers), dtype=np.int32)
    return Vocabulary(hashes, StringArray.join([encoded[index] for index in order.tolist()])), positions


def make_ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    """Return lists of positions as arrays."""
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    return Ragged(indptr, np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(indptr[-1])))


def take(positions: IntArray, indices: NDArray[np.integer]) -> IntArray:
    """Return `positions[indices]` (n,) for positions (m,) and indices (n,), and -1 where an index is -1."""
    taken: IntArray = np.append(positions, np.int32(-1))[indices]
    return taken


def take_rows(lists: Ragged, rows: NDArray[np.integer]) -> Ragged:
    """Return the lists of some rows (n,), in the order given."""
    indptr, positions = row_positions(lists.indptr, rows)
    return Ragged(indptr, lists.values[positions])


def row_positions(indptr: LongArray, rows: NDArray[np.integer]) -> tuple[LongArray, LongArray]:
    """Return where the values of some lists begin (n + 1,) when they are put together, and the position (m,) of each.

    The lists are the `rows` (n,) among those that `indptr` (p + 1,) divides.
    """
    starts, counts = indptr[:-1][rows], np.diff(indptr)[rows]
    new = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return new, np.arange(new[-1]) + np.repeat(starts - new[:-1], counts)


def mark_used(size: int, *positions: NDArray[np.integer]) -> BoolArray:
    """Return which of `size` entries (size,) occur among positions of any shape; negative ones count for nothing."""
    used = np.zeros(size, dtype=bool)
    for values in positions:
        used[values[values >= 0]] = True
    return used
