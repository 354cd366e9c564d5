"""Integrity of stored rows: validation, and two columns that reveal damage: rows of the document, and a checksum.

Of 800 random changes to Lance's data files most gave wrong values and no error.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clew.arrays import LongArray
from clew.errors import IndexFormatError, InputError
from clew.store.schema import SENTENCE_COLUMNS, canonical_json, has_sentence_vectors, passages_schema
from clew.text.display import format_count

TABLE_FORMAT = 1
INTEGRITY_COLUMNS = ("document_rows", "checksum")
_NULLABLE_COLUMNS = ("failure", "vector", *SENTENCE_COLUMNS)
_PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}  # lets Lance see two inserts of one id as a conflict
CHECKSUM_BYTES = 8
_BATCH_ROWS = 8192
_BATCH_BYTES = 1 << 28  # the texts of a batch are joined, and one array of texts holds at most 2 GiB


def stored_schema(settings: Mapping[str, Any], dimension: int) -> pa.Schema:
    """Return the stored columns, with the format number and the settings in the schema's metadata."""
    columns = [
        column.with_metadata(_PRIMARY_KEY) if column.name == "id" else column
        for column in passages_schema(dimension, sentences=has_sentence_vectors(settings, dimension))
    ]
    text = canonical_json(settings, "the index settings")
    metadata = {"clew.format": str(TABLE_FORMAT), "clew.settings": text, "clew.seal": _settings_checksum(text)}
    columns += [pa.field(INTEGRITY_COLUMNS[0], pa.int32()), pa.field(INTEGRITY_COLUMNS[1], pa.binary(CHECKSUM_BYTES))]
    return pa.schema(columns, metadata=metadata)


def settings_from_schema(schema: pa.Schema, name: str) -> dict[str, Any]:
    """Return the settings in a stored schema; not one of Clew's, or of another format, is an IndexFormatError."""
    metadata = schema.metadata or {}
    try:
        number = int(metadata[b"clew.format"])
        settings = json.loads(metadata[b"clew.settings"])
    except (KeyError, ValueError) as error:
        message = f"the table passages.lance at {name} was not made by Clew"
        raise IndexFormatError(f"{message}: give the folder of a Clew index, or create one: `clew index`") from error
    if number != TABLE_FORMAT:
        message = f"the index at {name} has format {number}, this version of Clew reads format {TABLE_FORMAT}"
        step = "install a newer Clew" if number > TABLE_FORMAT else "create it again with `clew index`"
        raise IndexFormatError(f"{message}: {step}")
    return dict(settings)


def check_schema(schema: pa.Schema, name: str) -> None:
    """Raise an IndexFormatError where a schema of this format does not match its settings, or these were changed."""
    metadata = schema.metadata or {}
    if metadata.get(b"clew.format") != str(TABLE_FORMAT).encode() or b"clew.settings" not in metadata:
        return  # `settings_from_schema` reports it
    text = metadata[b"clew.settings"].decode(errors="replace")
    try:
        settings = dict(json.loads(text))
    except (ValueError, TypeError) as error:
        raise IndexFormatError(f"the settings of {name} are damaged ({error}): run `clew repair`") from error
    checksum = _settings_checksum(text).encode()
    is_intact = schema.equals(stored_schema(settings, vector_dimension(schema)))
    if not is_intact or metadata.get(b"clew.seal", checksum) != checksum:
        raise IndexFormatError(
            f"a version of {name} is damaged: its columns or settings are not as they were written: run `clew repair`"
        )


def vector_dimension(schema: pa.Schema) -> int:
    """Return the width of the vectors in a stored schema, 0 when there are none."""
    return int(getattr(schema.field("vector").type, "list_size", 0)) if "vector" in schema.names else 0


def _settings_checksum(text: str) -> str:
    return blake2b(text.encode(), digest_size=CHECKSUM_BYTES).hexdigest()


def add_integrity_columns(
    rows: pa.Table, dimension: int, document_ids: Sequence[str], *, sentences: bool = False
) -> pa.Table:
    """Add the integrity columns; other columns, documents not given or repeated ids are an InputError."""
    schema = passages_schema(dimension, sentences=sentences)
    if set(rows.column_names) != set(schema.names):
        names = sorted(set(rows.column_names) ^ set(schema.names))
        raise InputError(f"the rows differ from the passages table in the columns {names}: use rows_to_table")
    try:
        rows = rows.select(schema.names).cast(schema)
    except (ValueError, TypeError) as error:
        raise InputError(f"the rows do not have the table's types ({error}): build them with rows_to_table") from error
    if incomplete := [name for name in schema.names if name not in _NULLABLE_COLUMNS and rows[name].null_count]:
        raise InputError(f"column {incomplete[0]!r} lacks a value in some row: write an empty text or list instead")
    if unexpected := sorted(set(rows["document_id"].to_pylist()) - set(document_ids)):
        raise InputError(f"rows of document {unexpected[0]!r}, which is not among those to replace: add its id")
    id_counts = rows["id"].value_counts().to_pylist()
    if repeated := sorted(count["values"] for count in id_counts if count["counts"] > 1):
        raise InputError(f"passage id {repeated[0]!r} occurs more than once: give each passage a unique id")
    sizes = {count["values"]: count["counts"] for count in rows["document_id"].value_counts().to_pylist()}
    lengths = pa.array([sizes[id_] for id_ in rows["document_id"].to_pylist()], type=pa.int32())
    return with_checksums(rows.append_column(INTEGRITY_COLUMNS[0], lengths))


def with_checksums(rows: pa.Table) -> pa.Table:
    """Return rows that have all columns but the checksum with their checksums."""
    return rows.append_column(INTEGRITY_COLUMNS[1], pa.array(row_checksums(rows), type=pa.binary(CHECKSUM_BYTES)))


def find_damaged_rows(rows: pa.Table) -> list[int]:
    """Return the positions of the stored rows whose checksum does not match."""
    checksums = pa.array(row_checksums(rows.drop_columns([INTEGRITY_COLUMNS[1]])), type=pa.binary(CHECKSUM_BYTES))
    matches = pc.fill_null(pc.equal(rows[INTEGRITY_COLUMNS[1]].combine_chunks(), checksums), False)  # noqa: FBT003
    return [position for position, match in enumerate(matches.to_pylist()) if not match]


def check_rows(rows: pa.Table, name: str) -> None:
    """Raise `IndexFormatError` when a stored row is damaged, with the number of such rows and the id of the first."""
    if damaged := find_damaged_rows(rows):
        first = rows["id"][damaged[0]].as_py()
        verb = "is" if len(damaged) == 1 else "are"
        message = (
            f"{format_count(len(damaged), 'passage')} of {name} {verb} not what was written, the first is {first!r}"
        )
        raise IndexFormatError(f"{message}: run `clew repair`, then `clew index` to add them again")


def row_checksums(rows: pa.Table) -> list[bytes]:
    """Return a checksum of `CHECKSUM_BYTES` bytes for each row, in order, which depends on the row's values alone.

    Columns are taken by name; chunks, slices and the bytes under a null have no effect.
    """
    digests: list[bytes] = []
    columns = rows.select(sorted(rows.column_names))
    rows_at_once = _BATCH_BYTES * rows.num_rows // max(columns.nbytes, 1)
    for batch in columns.to_batches(max_chunksize=max(1, min(_BATCH_ROWS, rows_at_once))):
        buffers = list(_row_buffers(batch.columns, np.arange(batch.num_rows + 1)))
        for row in range(batch.num_rows):
            digest = blake2b(digest_size=CHECKSUM_BYTES)
            for data, offsets in buffers:
                digest.update(data[offsets[row] : offsets[row + 1]])
            digests.append(digest.digest())
    return digests


def _row_buffers(arrays: Sequence[pa.Array], bounds: LongArray) -> Iterator[tuple[memoryview, list[int]]]:
    """Yield byte buffers with the offsets of each row in them; few large ones, since each costs one hash call per row.

    Row r owns the elements bounds[r]:bounds[r + 1] of each column.
    """
    integers: list[NDArray[np.int64]] = []
    strings: list[pa.Array] = []
    blobs: list[pa.Array] = []
    nested: list[tuple[list[pa.Array], LongArray]] = []
    for array in _flatten_structs(arrays):
        kind = array.type
        if pa.types.is_string(kind):
            integers.append(_to_int64(pc.binary_length(array), absent=-1))
            strings.append(pc.fill_null(array, ""))
        elif pa.types.is_binary(kind):
            integers.append(_to_int64(pc.binary_length(array), absent=-1))
            blobs.append(pc.fill_null(array, b""))
        elif pa.types.is_list(kind):
            integers.append(_to_int64(pc.list_value_length(array), absent=-1))
            nested.append(([array.values], array.offsets.to_numpy()[bounds]))
        elif pa.types.is_fixed_size_list(kind):
            present = _to_int64(array.is_valid(), absent=0)
            integers.append(present)
            nested.append(([array.flatten()], np.concatenate([[0], np.cumsum(present)])[bounds] * kind.list_size))
        elif pa.types.is_floating(kind):
            values = np.ascontiguousarray(array.to_numpy(zero_copy_only=False))
            yield values.view(np.uint8).data, (bounds * values.itemsize).tolist()
        else:
            integers.append(_to_int64(array, absent=0))
    if integers:
        matrix = np.ascontiguousarray(np.column_stack(integers))
        yield matrix.view(np.uint8).reshape(-1).data, (bounds * 8 * len(integers)).tolist()
    for texts, separator in ((strings, ""), (blobs, b"")):
        if texts and len(texts[0]):
            _, offsets, data = pc.binary_join_element_wise(*texts, separator).buffers()
            yield memoryview(data or b""), np.frombuffer(offsets, dtype=np.int32)[bounds].tolist()
    for children, child_bounds in nested:
        yield from _row_buffers(children, child_bounds)


def _flatten_structs(arrays: Sequence[pa.Array]) -> Iterator[pa.Array]:
    for array in arrays:
        if pa.types.is_struct(array.type):
            yield from (array.field(position) for position in range(array.type.num_fields))
        else:
            yield array


def _to_int64(array: pa.Array, absent: int) -> NDArray[np.int64]:
    values: NDArray[np.int64] = pc.fill_null(array.cast(pa.int64()), absent).to_numpy(zero_copy_only=False)
    return values
