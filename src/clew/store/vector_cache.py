"""Disk cache of vectors of short texts by text and encoder's fingerprint; a damaged one is discarded with a warning."""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.arrays import FloatArray, LongArray
from clew.errors import ClewError, IndexFormatError, IndexLockedError, ProviderError
from clew.protocols import Encoder
from clew.store.atomic import atomic_folder
from clew.store.error_mapping import is_unwritable, map_errors, read_batches

if TYPE_CHECKING:
    from lance import LanceDataset

_KEY_BYTES = 16
_CHECKSUM_BLOCK_ROWS = 256  # rows: what fits the processor's cache
_BLOCK_ROWS = 4096  # rows that are read at once
_COMMIT_TEXTS = 4096  # texts encoded between two commits, the most that a crash can lose
_MAX_FILES = 8  # that are not worth being joined
_SCAN_SHARE = 4  # from a quarter of the rows on, reading a whole column is faster than picking
_log = logging.getLogger(__name__)


class VectorCache:
    """A growing table of vectors in a folder; several processes may append at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get_or_encode(
        self, texts: Sequence[str], encoder: Encoder, on_progress: Callable[[int], None] | None = None
    ) -> FloatArray:
        """Return unit vectors, (len(texts), dimension); distinct texts not in the cache are encoded and counted.

        Where the place is full or may not be written they are not stored, with a warning.
        """
        distinct = list(dict.fromkeys(texts))
        vectors = np.zeros((len(distinct), encoder.dimension), dtype=np.float32)
        keys = text_keys(distinct, encoder.fingerprint)
        missing = np.flatnonzero(~self._load(keys, vectors))
        for start in range(0, len(missing), _COMMIT_TEXTS):
            block = missing[start : start + _COMMIT_TEXTS]
            vectors[block] = encoded = _encode(encoder, [distinct[position] for position in block.tolist()])
            try:
                self._store(keys[block], encoded)
            except ProviderError as error:
                if not is_unwritable(error):
                    raise
                _log.warning("vectors of texts are not stored: %s", error)
            if on_progress is not None:
                on_progress(len(block))
        if len(distinct) == len(texts):
            return vectors
        positions = {text: position for position, text in enumerate(distinct)}
        return vectors[np.array([positions[text] for text in texts], dtype=np.int64)]

    def problem(self) -> str | None:
        """Return what is wrong with the cache, None for nothing; it reads all vectors."""
        try:
            dataset = _open_dataset(self._path)
            for batch in read_batches(lambda: dataset.to_batches(columns=["vector", "check"]), dataset.uri):
                _checked_vectors(pa.Table.from_batches([batch]), dataset.uri)
        except IndexFormatError as error:
            return str(error)
        return None

    def retain(self, keys: Iterable[NDArray[np.bytes_]]) -> int:
        """Rewrite the cache as one file that holds the vectors of some keys alone; return the number dropped.

        Keys (n,), as of `text_keys`, come in blocks, no more than are needed to know that all vectors stay. Nothing is
        written where no vector is dropped and there are few files. Vectors that another process adds meanwhile are
        lost, and encoded again when they are needed.
        """
        import lance

        if not self._path.is_dir():
            return 0
        try:
            with map_errors(str(self._path), "reading"):
                dataset = lance.dataset(str(self._path))
                column = dataset.to_table(columns=["key"])["key"].to_numpy()
            used = _find_used(np.array(column, dtype=f"S{_KEY_BYTES}"), keys)
            if used.all() and len(dataset.get_fragments()) <= _MAX_FILES:
                return 0
            with atomic_folder(self._path) as folder, map_errors(str(self._path), "writing"):
                reader = pa.RecordBatchReader.from_batches(dataset.schema, _used_batches(dataset, used))
                lance.write_dataset(reader, str(folder), mode="create")
        except IndexFormatError as error:
            self._discard(error)
            return 0
        return int((~used).sum())

    def _load(self, keys: NDArray[np.bytes_], vectors: FloatArray) -> NDArray[np.bool_]:
        """Write what is stored of the vectors of keys, and return for which keys it is (len(keys),)."""
        is_cached = np.zeros(len(keys), dtype=np.bool_)
        dimension = vectors.shape[1]
        if dimension == 0 or not len(keys) or not self._path.exists():
            is_cached[:] = dimension == 0
            return is_cached
        try:
            hits = self._read(keys, vectors)
        except IndexFormatError as error:
            self._discard(error)
            return is_cached
        is_cached[hits] = True
        return is_cached

    def _read(self, keys: NDArray[np.bytes_], vectors: FloatArray) -> LongArray:
        """Set the rows (n, d) of the keys that are stored; return their positions."""
        before = _folder_number(self._path)
        try:
            dataset = _open_dataset(self._path, vectors.shape[1])
            rows, hits = _find_rows(dataset, keys)
            for block, values in _read_vectors(dataset, rows):
                vectors[hits[block]] = values
        except IndexFormatError:
            if _folder_number(self._path) == before:
                raise
            return self._read(keys, vectors)  # another process rewrote it meanwhile
        return hits

    def _store(self, keys: NDArray[np.bytes_], vectors: FloatArray) -> None:
        try:
            self._append(keys, vectors)
        except (IndexFormatError, IndexLockedError) as error:  # its newest version is damaged, or an older one
            self._discard(error)
            self._append(keys, vectors)

    def _append(self, keys: NDArray[np.bytes_], vectors: FloatArray) -> None:
        import lance

        columns = {
            "key": pa.array([key.ljust(_KEY_BYTES, b"\0") for key in keys.tolist()], type=pa.binary(_KEY_BYTES)),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
            "check": pa.array(_row_checksums(vectors)),
        }
        rows = pa.table(columns, schema=_schema(vectors.shape[1]))
        if not self._path.exists():
            # Creation by Lance is not exclusive: of two at once, the later one replaces the rows of the earlier.
            with atomic_folder(self._path, replace=False) as folder, map_errors(str(self._path), "writing"):
                lance.write_dataset(rows.slice(0, 0), str(folder), mode="create")
        with map_errors(str(self._path), "writing"):
            lance.write_dataset(rows, lance.dataset(str(self._path)), mode="append")

    def _discard(self, cause: ClewError) -> None:
        _log.warning("the stored vectors at %s are discarded and computed again: %s", self._path, cause)
        try:
            shutil.rmtree(self._path) if self._path.is_dir() else self._path.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            message = f"the damaged vectors at {self._path} cannot be removed ({error})"
            raise ProviderError(f"{message}: remove them by hand and run the same command again") from error


def text_keys(texts: Sequence[str], fingerprint: str) -> NDArray[np.bytes_]:
    """Return a hash of 16 bytes of the encoder's fingerprint and each text, (len(texts),)."""
    digests = bytearray()
    for text in texts:
        digests += blake2b(f"{fingerprint}\0{text}".encode(), digest_size=_KEY_BYTES).digest()
    return np.frombuffer(digests, dtype=f"S{_KEY_BYTES}")


def _schema(dimension: int) -> pa.Schema:
    return pa.schema(
        [("key", pa.binary(_KEY_BYTES)), ("vector", pa.list_(pa.float32(), dimension)), ("check", pa.uint64())]
    )


def _open_dataset(path: Path, dimension: int | None = None) -> "LanceDataset":
    """Return the stored vectors of a width, None for any; IndexFormatError: they are damaged, or of another one."""
    import lance

    if not path.is_dir():
        raise IndexFormatError(f"{path} is a file, not a table")
    with map_errors(str(path), "opening"):
        dataset = lance.dataset(str(path))
        schema = dataset.schema  # a damaged manifest opens, and panics when its columns are read
    if dimension is None:
        dimension = getattr(schema.field("vector").type, "list_size", 0) if "vector" in schema.names else 0
    if not schema.equals(_schema(dimension)):
        raise IndexFormatError(f"{path} holds the columns {schema.names}, not vectors of width {dimension}")
    return dataset


def _folder_number(path: Path) -> int:
    """Return what tells a folder from another one that was put in its place, -1 where there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def _find_used(stored: NDArray[np.bytes_], keys: Iterable[NDArray[np.bytes_]]) -> NDArray[np.bool_]:
    """Return which of the stored keys (n,) are in some blocks of keys."""
    distinct, rows = np.unique(stored, return_inverse=True)
    found = np.zeros(len(distinct), dtype=np.bool_)
    for block in keys if len(distinct) else ():
        nearest = np.minimum(np.searchsorted(distinct, block), len(distinct) - 1)
        found[nearest[distinct[nearest] == block]] = True
        if found.all():
            break
    return found[rows]


def _used_batches(dataset: "LanceDataset", used: NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a cache that are used, (n,) of all its rows in order."""
    start = 0
    for batch in dataset.scanner(batch_size=_COMMIT_TEXTS, scan_in_order=True).to_batches():
        yield batch.filter(pa.array(used[start : start + len(batch)]))
        start += len(batch)


def _find_rows(dataset: "LanceDataset", keys: NDArray[np.bytes_]) -> tuple[LongArray, LongArray]:
    """Return the rows that hold any of the keys, ascending, and the positions of their keys."""
    with map_errors(dataset.uri, "reading"):
        column = dataset.to_table(columns=["key"])["key"].to_numpy()
    stored = np.array(column, dtype=f"S{_KEY_BYTES}")
    if not len(stored):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.argsort(stored, kind="stable")
    nearest = np.minimum(np.searchsorted(stored, keys, sorter=order), len(order) - 1)
    hits = np.flatnonzero(stored[order[nearest]] == keys)
    rows = order[nearest[hits]]
    ascending = np.argsort(rows)
    return rows[ascending], hits[ascending]


def _read_vectors(dataset: "LanceDataset", rows: LongArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the vectors of stored rows (n,), ascending, block by block: their positions in `rows`, and the vectors."""
    columns = ["vector", "check"]
    with map_errors(dataset.uri, "reading"):
        if len(rows) * _SCAN_SHARE <= dataset.count_rows():
            for begin in range(0, len(rows), _BLOCK_ROWS):
                block = slice(begin, begin + _BLOCK_ROWS)
                yield block, _checked_vectors(dataset.take(rows[block].tolist(), columns=columns), dataset.uri)
            return
        start = 0
        for batch in dataset.to_batches(columns=columns, batch_size=_BLOCK_ROWS, batch_readahead=2):
            end = start + batch.num_rows
            block = slice(*np.searchsorted(rows, (start, end)).tolist())
            if block.start < block.stop:
                chosen = pa.Table.from_batches([batch]).take(pa.array(rows[block] - start))
                yield block, _checked_vectors(chosen, dataset.uri)
            start = end


def _checked_vectors(table: pa.Table, name: str) -> FloatArray:
    """Return the vectors of stored rows; IndexFormatError: one is not what was written."""
    column = table["vector"].combine_chunks()
    with map_errors(name, "reading"):
        vectors: FloatArray = column.flatten().to_numpy().reshape(len(column), column.type.list_size)
    if not np.array_equal(_row_checksums(vectors), table["check"].to_numpy()):
        raise IndexFormatError(f"some vectors at {name} are not what was written")
    return vectors


def _encode(encoder: Encoder, texts: list[str]) -> FloatArray:
    vectors = np.ascontiguousarray(encoder.encode(texts), dtype=np.float32)
    if vectors.shape != (len(texts), encoder.dimension):
        message = f"encoder {encoder.name} gave vectors of shape {vectors.shape} for {len(texts)} texts"
        raise ProviderError(f"{message}, wanted width {encoder.dimension}: check its files or choose another")
    return vectors


def _row_checksums(vectors: FloatArray) -> NDArray[np.uint64]:
    """Return a checksum of the bits of each row, (n,), that changes with any single value."""
    odd = np.arange(vectors.shape[1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
    bits = np.ascontiguousarray(vectors).view(np.uint32)
    total = np.empty(len(bits), dtype=np.uint64)
    for start in range(0, len(bits), _CHECKSUM_BLOCK_ROWS):
        block = slice(start, start + _CHECKSUM_BLOCK_ROWS)
        total[block] = (bits[block].astype(np.uint64) * odd).sum(axis=1)
    return total
