"""Ids and states of documents as sorted arrays of hashes, so that knowing them costs no object a document.

A hash has 128 bits: two ids with one hash are not to be expected in any corpus, so that ids are not compared again.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

HashPairs = NDArray[np.uint64]  # (2, n): the halves of n hashes; a search wants each half in one piece
_HASH_BYTES = 16
ABSENT = bytes(_HASH_BYTES)
"""Stands for the state of a document that is not stored."""
_PENDING_IDS = 1 << 16
_PENDING_SHARE = 16  # of the ids, as many wait to be sorted into the array
_DIGIT_VALUES = np.full(256, 255, dtype=np.uint8)
_DIGIT_VALUES[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = np.arange(16, dtype=np.uint8)
_HEX_DIGITS = re.compile("[0-9a-f]{32}")
_NUMBERED = re.compile("(.+)#[0-9]+", re.DOTALL)


def text_hash(text: str) -> bytes:
    """Return a hash of 16 bytes."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def state_hash(document_hash: str) -> bytes:
    """Return the hash of a document's content as 16 bytes; the pipeline's own are 32 hexadecimal digits."""
    return bytes.fromhex(document_hash) if _HEX_DIGITS.fullmatch(document_hash) else text_hash(document_hash)


def numbered_parent(id_: str) -> str | None:
    """Return the document that an id of the form `id#number` would be a passage of, None for another form."""
    match = _NUMBERED.fullmatch(id_) if "#" in id_ else None
    return match[1] if match else None


def root_id(id_: str) -> str:
    """Return an id without all numbers at its end: documents of one root may conflict in the ids of their passages."""
    while (parent := numbered_parent(id_)) is not None:
        id_ = parent
    return id_


class IdSet:
    """A growing set of texts, known by their hashes: 16 to 24 bytes each, however long they are."""

    __slots__ = ("_pending", "_sorted")

    def __init__(self) -> None:
        self._sorted: HashPairs = hash_pairs([])
        self._pending: set[bytes] = set()

    def __len__(self) -> int:
        return int(self._sorted.shape[1]) + len(self._pending)

    def __contains__(self, text: str) -> bool:
        return self._has(text_hash(text))

    def add(self, text: str) -> bool:
        """Add a text; return whether it was missing."""
        hash_ = text_hash(text)
        if self._has(hash_):
            return False
        self._pending.add(hash_)
        if len(self._pending) > _PENDING_IDS + self._sorted.shape[1] // _PENDING_SHARE:
            self._sorted = sort_pairs(np.concatenate([self._sorted, hash_pairs(self._pending)], axis=1))
            self._pending.clear()
        return True

    def _has(self, hash_: bytes) -> bool:
        return hash_ in self._pending or find_pair(self._sorted, hash_) >= 0


@dataclass(frozen=True, slots=True, eq=False)
class StoredDocuments:
    """The documents of one version of a table: 32 bytes each."""

    ids: HashPairs  # (2, n) hashes of the ids of complete documents, ascending
    states: HashPairs  # (2, n) hashes of their contents
    parents: IdSet  # `numbered_parent` of the ids that have one
    shards: Mapping[str, str]  # id -> hash of the shards of graphs, sorted by id

    def __len__(self) -> int:
        return int(self.ids.shape[1])

    def __contains__(self, id_: str) -> bool:
        return find_pair(self.ids, text_hash(id_)) >= 0

    def has_state(self, id_: str, document_hash: str) -> bool:
        """Return whether a document is stored with this hash of its content."""
        position = find_pair(self.ids, text_hash(id_))
        return position >= 0 and self.states[:, position].tobytes() == state_hash(document_hash)

    def find_state(self, id_: str) -> bytes:
        """Return the hash of the content of a document, `ABSENT` where it is not stored."""
        position = find_pair(self.ids, text_hash(id_))
        return self.states[:, position].tobytes() if position >= 0 else ABSENT

    def find_states(self, ids: Iterable[str]) -> HashPairs:
        """Return `find_state` of documents, (2, m)."""
        positions = find_pairs(self.ids, hash_pairs(map(text_hash, ids)))
        states = np.zeros((2, len(positions)), dtype=np.uint64)
        states[:, positions >= 0] = self.states[:, positions[positions >= 0]]
        return states


def no_documents() -> StoredDocuments:
    """Return the documents of an empty table."""
    return StoredDocuments(hash_pairs([]), hash_pairs([]), IdSet(), {})


def find_pair(pairs: HashPairs, hash_: bytes) -> int:
    """Return the position of a hash among ascending ones, -1 where it is not among them."""
    if not pairs.shape[1]:
        return -1
    first, second = np.frombuffer(hash_, dtype=np.uint64)
    position = int(np.searchsorted(pairs[0], first))
    while position < pairs.shape[1] and pairs[0, position] == first:
        if pairs[1, position] == second:
            return position
        position += 1
    return -1


def find_pairs(pairs: HashPairs, wanted: HashPairs) -> NDArray[np.int64]:
    """Return the positions of hashes (2, m) among ascending ones, (m,); -1 for those that are not among them."""
    if not pairs.shape[1]:
        return np.full(wanted.shape[1], -1, dtype=np.int64)
    near = np.minimum(np.searchsorted(pairs[0], wanted[0]), pairs.shape[1] - 1)
    halves = pairs[:, near] == wanted
    is_there = halves.all(axis=0)
    found = np.where(is_there, near, -1)
    for position in np.flatnonzero(halves[0] & ~is_there).tolist():  # hashes of equal first halves, if there are any
        found[position] = find_pair(pairs, wanted[:, position].tobytes())
    return found


def hash_pairs(hashes: Iterable[bytes]) -> HashPairs:
    """Return hashes of 16 bytes as an array (2, n), in their order."""
    joined = np.frombuffer(b"".join(hashes), dtype=np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(joined.T)


def read_states(hashes: pa.StringArray) -> tuple[HashPairs, NDArray[np.bool_]]:
    """Return `state_hash` of hashes of documents, (2, n), and which are of 32 hexadecimal digits, (n,)."""
    if not len(hashes):
        return hash_pairs([]), np.zeros(0, dtype=np.bool_)
    _, buffer, data = hashes.buffers()
    bounds = np.frombuffer(buffer, dtype=np.int32)[hashes.offset : hashes.offset + len(hashes) + 1]
    is_own: NDArray[np.bool_] = np.diff(bounds) == 2 * _HASH_BYTES
    digits = np.frombuffer(data or b"", dtype=np.uint8)[bounds[:-1][is_own, None] + np.arange(2 * _HASH_BYTES)]
    values = _DIGIT_VALUES[digits]
    is_hex = (values < 16).all(axis=1)
    is_own[is_own] = is_hex
    states = np.empty((len(hashes), _HASH_BYTES), dtype=np.uint8)
    states[is_own] = values[is_hex, ::2] << 4 | values[is_hex, 1::2]
    for position in np.flatnonzero(~is_own).tolist():
        states[position] = np.frombuffer(text_hash(hashes[position].as_py()), dtype=np.uint8)
    return np.ascontiguousarray(states.view(np.uint64).T), is_own


def sort_pairs(pairs: HashPairs) -> HashPairs:
    """Return hashes in ascending order."""
    return pairs[:, np.lexsort((pairs[1], pairs[0]))]


def collect_documents(batches: Iterable[pa.RecordBatch], is_shard: Callable[[str], bool]) -> StoredDocuments:
    """Return the complete documents of a table from its columns `document_id`, `document_hash` and `document_rows`.

    `is_shard` is asked for hashes of any form but the pipeline's own, of 32 hexadecimal digits.
    """
    ids, states = [hash_pairs([])], [hash_pairs([])]
    counts = [np.empty((2, 0), dtype=np.int64)]
    parents, shards = IdSet(), dict[str, str]()
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        groups = rows.group_by(["document_id", "document_hash", "document_rows"]).aggregate([([], "count_all")])
        documents, hashes = groups["document_id"].combine_chunks(), groups["document_hash"].combine_chunks()
        own_states, is_own = read_states(hashes)
        is_document = np.ones(len(documents), dtype=np.bool_)
        for position in np.flatnonzero(~is_own).tolist():
            hash_ = hashes[position].as_py()
            if is_shard(hash_):
                shards[documents[position].as_py()], is_document[position] = hash_, False
        may_be_passage = np.asarray(pc.match_substring(documents, "#")) & is_document
        for position in np.flatnonzero(may_be_passage).tolist():
            if (parent := numbered_parent(documents[position].as_py())) is not None:
                parents.add(parent)
        # As `text_hash`, without a Python text for each id.
        encoded = documents.cast(pa.binary()).to_pylist()
        ids.append(hash_pairs([blake2b(id_, digest_size=_HASH_BYTES).digest() for id_ in encoded])[:, is_document])
        states.append(own_states[:, is_document])
        sizes = np.stack([groups[name].to_numpy() for name in ("count_all", "document_rows")]).astype(np.int64)
        counts.append(sizes[:, is_document])
    joined_ids, joined_states = (np.concatenate(parts, axis=1) for parts in (ids, states))
    complete = _complete(joined_ids, joined_states, np.concatenate(counts, axis=1))
    return StoredDocuments(*complete, parents, dict(sorted(shards.items())))


def _complete(ids: HashPairs, states: HashPairs, counts: NDArray[np.int64]) -> tuple[HashPairs, HashPairs]:
    """Join the groups of a document that stand in several batches; drop documents of two states, or with rows missing.

    Args:
        ids: (2, g) of each group.
        states: (2, g).
        counts: (2, g) rows of the group, and rows that its document has.
    """
    if not ids.shape[1]:
        return ids, states
    order = np.lexsort((ids[1], ids[0]))
    ids, states, counts = ids[:, order], states[:, order], counts[:, order]
    starts = np.flatnonzero(np.r_[True, (ids[:, 1:] != ids[:, :-1]).any(axis=0)])
    group = np.repeat(starts, np.diff(np.r_[starts, ids.shape[1]]))
    agrees = (states == states[:, group]).all(axis=0) & (counts[1] == counts[1, group])
    is_complete = np.logical_and.reduceat(agrees, starts) & (np.add.reduceat(counts[0], starts) == counts[1, starts])
    return ids[:, starts[is_complete]], states[:, starts[is_complete]]
