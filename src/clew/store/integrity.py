"""Rows as they are stored: checked, and with two columns of the store's own that let damage be seen.

`document_rows` is how many rows a document has, so that a lost one is noticed; `checksum` covers all other columns.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import IndexFormatError, InputError
from clew.store.row_checksums import CHECKSUM_BYTES, row_checksums
from clew.store.schema import canonical_json, passages_schema

TABLE_FORMAT = 1
INTEGRITY_COLUMNS = ("document_rows", "checksum")
_NULLABLE_COLUMNS = ("failure", "vector")
_PRIMARY_KEY = {"lance-schema:unenforced-primary-key": "true"}  # lets Lance see two inserts of one id as a conflict


def stored_schema(settings: Mapping[str, Any], dimension: int) -> pa.Schema:
    """Return the stored columns, with the format's number and the settings in the schema's metadata."""
    columns = [
        column.with_metadata(_PRIMARY_KEY) if column.name == "id" else column for column in passages_schema(dimension)
    ]
    text = canonical_json(settings, "the index settings")
    about = {"clew.format": str(TABLE_FORMAT), "clew.settings": text, "clew.seal": _settings_checksum(text)}
    return pa.schema(
        [*columns, (INTEGRITY_COLUMNS[0], pa.int32()), (INTEGRITY_COLUMNS[1], pa.binary(CHECKSUM_BYTES))],
        metadata=about,
    )


def settings_from_schema(schema: pa.Schema, name: str) -> dict[str, Any]:
    """Return the settings in a stored schema.

    Raises:
        IndexFormatError: The table at `name` is not Clew's, or has another format than `FORMAT`.
    """
    about = schema.metadata or {}
    try:
        number = int(about[b"clew.format"])
        settings = json.loads(about[b"clew.settings"])
    except (KeyError, ValueError) as error:
        message = f"the table passages.lance at {name} was not made by Clew"
        raise IndexFormatError(f"{message}: give the folder of a Clew index, or make one with `clew index`") from error
    if number != TABLE_FORMAT:
        message = f"the index at {name} has format {number}, this version of Clew reads format {TABLE_FORMAT}"
        step = "install a newer Clew" if number > TABLE_FORMAT else "make it again with `clew index`"
        raise IndexFormatError(f"{message}: {step}")
    return dict(settings)


def check_schema(schema: pa.Schema, name: str) -> None:
    """Check a stored schema against what its settings say; one that is not of this `FORMAT` passes.

    Raises:
        IndexFormatError: A name, a type or a setting is not as it was written.
    """
    about = schema.metadata or {}
    if about.get(b"clew.format") != str(TABLE_FORMAT).encode() or b"clew.settings" not in about:
        return  # `opened_settings` says what it is
    text = about[b"clew.settings"].decode(errors="replace")
    try:
        settings = dict(json.loads(text))
    except (ValueError, TypeError) as error:
        raise IndexFormatError(f"the settings of {name} are damaged ({error}): run `clew repair`") from error
    width = getattr(schema.field("vector").type, "list_size", 0) if "vector" in schema.names else 0
    sound = schema.equals(stored_schema(settings, width))
    if not sound or about.get(b"clew.seal", _settings_checksum(text).encode()) != _settings_checksum(text).encode():
        raise IndexFormatError(
            f"a version of {name} is damaged: its columns or settings are not as they were written: run `clew repair`"
        )


def _settings_checksum(text: str) -> str:
    return blake2b(text.encode(), digest_size=CHECKSUM_BYTES).hexdigest()


def add_integrity_columns(rows: pa.Table, dimension: int, document_ids: Sequence[str]) -> pa.Table:
    """Return the rows with the store's own columns.

    Args:
        rows: Columns of `passages_schema(dimension)` in any order.
        dimension: Width of the vectors, 0 for none.
        document_ids: The only documents the rows may belong to.

    Raises:
        InputError: Other columns, a row of another document, or an id that occurs twice.
    """
    schema = passages_schema(dimension)
    if set(rows.column_names) != set(schema.names):
        odd = sorted(set(rows.column_names) ^ set(schema.names))
        raise InputError(f"the rows differ from the passages table in the columns {odd}: build them with rows_to_table")
    try:
        rows = rows.select(schema.names).cast(schema)
    except (ValueError, TypeError) as error:
        raise InputError(f"the rows do not have the table's types ({error}): build them with rows_to_table") from error
    if gaps := [name for name in schema.names if name not in _NULLABLE_COLUMNS and rows[name].null_count]:
        raise InputError(f"column {gaps[0]!r} lacks a value in some row: write an empty text or list instead")
    if strangers := sorted(set(rows["document_id"].to_pylist()) - set(document_ids)):
        raise InputError(f"rows of document {strangers[0]!r}, which is not among those to replace: name it too")
    counts = rows["id"].value_counts()
    if doubled := sorted(count["values"] for count in counts.to_pylist() if count["counts"] > 1):
        raise InputError(f"passage id {doubled[0]!r} occurs more than once: give every passage an id of its own")
    counted = rows["document_id"].value_counts()
    sizes = {count["values"]: count["counts"] for count in counted.to_pylist()}
    lengths = pa.array([sizes[id_] for id_ in rows["document_id"].to_pylist()], type=pa.int32())
    rows = rows.append_column(INTEGRITY_COLUMNS[0], lengths)
    return rows.append_column(INTEGRITY_COLUMNS[1], pa.array(row_checksums(rows), type=pa.binary(CHECKSUM_BYTES)))


def find_damaged_rows(rows: pa.Table) -> list[int]:
    """Return the positions of the stored rows whose checksum does not fit."""
    found = pa.array(row_checksums(rows.drop_columns([INTEGRITY_COLUMNS[1]])), type=pa.binary(CHECKSUM_BYTES))
    fits = pc.fill_null(pc.equal(rows[INTEGRITY_COLUMNS[1]].combine_chunks(), found), False)  # noqa: FBT003
    return [position for position, fit in enumerate(fits.to_pylist()) if not fit]


def check_rows(rows: pa.Table, name: str) -> None:
    """Raise when a stored row is damaged.

    Raises:
        IndexFormatError: With the number of such rows and the first one's id.
    """
    if damaged := find_damaged_rows(rows):
        first = rows["id"][damaged[0]].as_py()
        message = f"{len(damaged)} passages of {name} are not what was written, the first is {first!r}"
        raise IndexFormatError(f"{message}: run `clew repair`, then `clew index` to add them again")
