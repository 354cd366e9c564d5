"""A seal of the set of rows of a version: it reveals rows that came back or were lost, which no row's checksum does.

It is the number of the rows and two sums modulo 2^64 over their checksums, so that it does not depend on their order,
and a commit computes it from the seal before and the rows that it adds and removes. It stands in the properties of the
commit's transaction, which Lance keeps in the manifest. Versions made before there were seals have none.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.errors import IndexFormatError
from clew.store.error_mapping import map_errors, read_batches
from clew.store.integrity import CHECKSUM_BYTES, INTEGRITY_COLUMNS

if TYPE_CHECKING:
    from lance import LanceDataset

_PROPERTY = "clew.rows"
_SCAN_ROWS = 1 << 16
_SUM_BITS = 64
_MODULUS = 1 << _SUM_BITS


@final
@dataclass(frozen=True, slots=True)
class RowSeal:
    """The number of rows of a set, and two sums over their checksums."""

    rows: int = 0
    plain: int = 0  # sum of the checksums, modulo 2^64
    mixed: int = 0  # sum of a hash of the checksums, modulo 2^64

    @classmethod
    def of_rows(cls, checksums: pa.Array | pa.ChunkedArray) -> "RowSeal":
        """Return the seal of rows, from their checksums (n,)."""
        values = _to_integers(checksums)
        with np.errstate(over="ignore"):
            return cls(len(values), int(values.sum(dtype=np.uint64)), int(_mix(values).sum(dtype=np.uint64)))

    def __add__(self, other: "RowSeal") -> "RowSeal":
        return RowSeal(
            self.rows + other.rows, (self.plain + other.plain) % _MODULUS, (self.mixed + other.mixed) % _MODULUS
        )

    def __sub__(self, other: "RowSeal") -> "RowSeal":
        return RowSeal(
            self.rows - other.rows, (self.plain - other.plain) % _MODULUS, (self.mixed - other.mixed) % _MODULUS
        )

    def properties(self, version: int) -> dict[str, str]:
        """Return the properties of the transaction that makes a version with this seal."""
        record = {"version": version, "rows": self.rows, "digest": f"{self.plain:016x}{self.mixed:016x}"}
        return {_PROPERTY: json.dumps(record, separators=(",", ":"))}


def stored_seal(dataset: "LanceDataset", name: str) -> RowSeal | None:
    """Return the seal in a version; None: it was made before there were seals, or by two machines at once.

    One that cannot be read is an IndexFormatError.
    """
    record = read_property(dataset, _PROPERTY, name)
    if record is None:
        return None
    try:
        digest = str(record["digest"])
        return RowSeal(int(record["rows"]), *(int(digest[start : start + 16], 16) for start in (0, 16)))
    except (ValueError, KeyError, TypeError) as error:
        raise IndexFormatError(f"the seal of a version of {name} is damaged ({error!r}): run `clew repair`") from error


def read_property(dataset: "LanceDataset", key: str, name: str) -> dict[str, Any] | None:
    """Return what the commit that made a version said of it in JSON; None where it said nothing, or of another version.

    What cannot be read is an IndexFormatError.
    """
    with map_errors(name, "opening"):
        transaction = dataset.read_transaction(dataset.version)
    text = (transaction.transaction_properties or {}).get(key) if transaction is not None else None
    if text is None:
        return None
    try:
        record: dict[str, Any] = json.loads(text)
        is_of_version = int(record["version"]) == dataset.version
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"the record {key!r} of a version of {name} is damaged ({error!r}): run `clew repair`"
        raise IndexFormatError(message) from error
    return record if is_of_version else None


def compute_seal(dataset: "LanceDataset", name: str) -> RowSeal:
    """Return the seal of the rows that a version has, by reading their checksums."""
    seal = RowSeal()
    columns = [INTEGRITY_COLUMNS[1]]
    for batch in read_batches(lambda: dataset.scanner(columns=columns, batch_size=_SCAN_ROWS).to_batches(), name):
        seal += RowSeal.of_rows(batch[INTEGRITY_COLUMNS[1]])
    return seal


def check_row_count(dataset: "LanceDataset", seal: RowSeal | None, name: str) -> None:
    """Raise an IndexFormatError where a version's files, by their records, have not as many rows as its seal says."""
    if seal is None:
        return
    count = sum(fragment.metadata.num_rows for fragment in dataset.get_fragments())
    if count != seal.rows:
        raise IndexFormatError(
            f"version {dataset.version} of {name} is damaged: it has {count} passages and shards of graphs, and "
            f"{seal.rows} were written: run `clew repair`"
        )


def check_rows_sealed(seal: RowSeal | None, found: RowSeal, name: str) -> None:
    """Raise an IndexFormatError where the rows that were found are not those of a version's seal, if it has one."""
    if seal is not None and found != seal:
        raise IndexFormatError(f"{describe_mismatch(seal, found, name)}: run `clew repair`")


def describe_mismatch(seal: RowSeal, found: RowSeal, name: str) -> str:
    """Return a sentence that says that a version has other rows than were written."""
    if seal.rows != found.rows:
        return f"{name} is damaged: {found.rows} passages and shards of graphs are read, and {seal.rows} were written"
    return f"{name} is damaged: passages that were removed are read again, or others in the place of some"


def _to_integers(checksums: pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
    array = checksums.combine_chunks() if isinstance(checksums, pa.ChunkedArray) else checksums
    if not len(array):
        return np.empty(0, dtype=np.uint64)
    _, data = array.buffers()
    values: NDArray[np.uint64] = np.frombuffer(data, dtype="<u8")[array.offset : array.offset + len(array)]
    assert array.type.byte_width == CHECKSUM_BYTES, array.type
    return values


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each number by shifts and odd factors; sets of equal sums have other sums of hashes."""
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed = mixed * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
