"""Columns of the passages table, and conversion of rows to an Arrow table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.arrays import FloatArray, IntArray
from clew.errors import InputError
from clew.types import Extraction, Mention

MENTIONS_TYPE = pa.list_(
    pa.struct([("name", pa.string()), ("kind", pa.string()), ("start", pa.int32()), ("end", pa.int32())])
)
TRIPLES_TYPE = pa.list_(pa.struct([("head", pa.string()), ("relation", pa.string()), ("tail", pa.string())]))


SENTENCE_COLUMNS = ("sentence_spans", "sentence_vectors")
SENTENCES, WITH_VECTORS, WITHOUT_VECTORS = "sentences", "vectors", "none"
"""The setting of an index that says whether its table has `SENTENCE_COLUMNS`, and its values."""


ALIAS_RELATION = "\u225d"
"""The relation of a stored triple (name, relation, full name) that is no fact, but an alias of its passage (`≝`)."""


@dataclass(frozen=True, slots=True, eq=False)
class RowSentences:
    """The n sentences of a passage."""

    spans: IntArray  # (n, 2) start and end in the text, in characters
    vectors: NDArray[np.int8]  # (n, d) (see `clew.graph.segments.sentence_columns`)


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A passage with the attributes of its document and the result of its extraction."""

    id: str
    document_id: str
    ordinal: int  # position of the passage in its document, from 0 without gaps
    title: str
    text: str
    start: int
    end: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    document_hash: str = ""  # of the document and of the settings it was cut with
    mentions: tuple[Mention, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    failure: str | None = None  # reason why the extraction failed, None when it succeeded
    extractor: str = ""  # fingerprint of the extractor
    vector: FloatArray | None = field(default=None, compare=False)  # unit (dimension,) or None
    sentences: RowSentences | None = field(default=None, compare=False)


def passages_schema(dimension: int, *, sentences: bool = False) -> pa.Schema:
    """Return the columns of the passages table; dimension 0 has no vector column.

    With `sentences` there are the spans of sentences, start and end in turn, and the bytes of their vectors.
    """
    strings = pa.list_(pa.string())
    columns = [
        pa.field("id", pa.string(), nullable=False),
        ("document_id", pa.string()),
        ("ordinal", pa.int32()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("metadata", pa.string()),
        ("aliases", strings),
        ("links", strings),
        ("document_hash", pa.string()),
        ("mentions", MENTIONS_TYPE),
        ("triples", TRIPLES_TYPE),
        ("failure", pa.string()),
        ("extractor", pa.string()),
    ]
    columns += [("vector", pa.list_(pa.float32(), dimension))] if dimension else []
    columns += zip(SENTENCE_COLUMNS, (pa.list_(pa.int32()), pa.binary()), strict=True) if sentences else ()
    return pa.schema(columns)


def has_sentence_vectors(settings: Mapping[str, Any], dimension: int) -> bool:
    """Return whether the table of an index of these settings, with vectors of a width, has `SENTENCE_COLUMNS`."""
    return dimension > 0 and settings.get(SENTENCES) == WITH_VECTORS


def has_aliases(settings: Mapping[str, Any]) -> bool:
    """Return whether an index was made by an earlier version that resolved the aliases in its documents."""
    return settings.get("aliases") == "document"


def rows_to_table(rows: Sequence[PassageRow], dimension: int, *, sentences: bool = False) -> pa.Table:
    """Return rows as columns of `passages_schema`; unusable vectors, metadata or texts: InputError."""
    schema = passages_schema(dimension, sentences=sentences)
    computed = ("vector", *SENTENCE_COLUMNS)
    columns: dict[str, Any] = {n: [getattr(row, n) for row in rows] for n in schema.names if n not in computed}
    if sentences:
        columns |= zip(SENTENCE_COLUMNS, sentence_cells([row.sentences for row in rows]), strict=True)
    columns["metadata"] = [canonical_json(row.metadata, f"the metadata of {row.document_id!r}") for row in rows]
    columns["mentions"] = [mention_cells(row.mentions) for row in rows]
    columns["triples"] = [triple_cells(row.triples) for row in rows]
    arrays = [
        _vector_array(rows, dimension) if column.name == "vector" else _to_array(columns[column.name], column)
        for column in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def mention_cells(mentions: Sequence[Mention]) -> list[dict[str, Any]]:
    """Return the mentions of one passage in stored form."""
    return [{"name": m.name, "kind": m.kind, "start": m.start, "end": m.end} for m in mentions]


def triple_cells(triples: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    """Return the triples of one passage in stored form."""
    return [{"head": head, "relation": relation, "tail": tail} for head, relation, tail in triples]


def alias_triples(extraction: Extraction) -> tuple[tuple[str, str, str], ...]:
    """Return the facts of a passage and, behind them, its aliases as the table stores them."""
    return (*extraction.triples, *((name, ALIAS_RELATION, full) for name, full in extraction.aliases))


def sentence_cells(rows: Sequence[RowSentences | None]) -> tuple[list[Any], list[bytes | None]]:
    """Return the columns `SENTENCE_COLUMNS` of passages in stored form, None for one without sentences."""
    spans = [None if row is None else row.spans.ravel().tolist() for row in rows]
    return spans, [None if row is None else row.vectors.tobytes() for row in rows]


def canonical_json(value: Mapping[str, Any], description: str) -> str:
    """Return JSON that is equal for equal mappings (sorted keys, no spaces or escapes); no NaN, else an InputError."""
    try:
        return json.dumps(dict(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"{description} cannot be written as JSON ({error})"
        raise InputError(f"{message}: use strings, finite numbers, booleans and lists of them") from error


def _to_array(values: list[Any], column: pa.Field) -> pa.Array:
    try:
        return pa.array(values, type=column.type)
    except UnicodeEncodeError as error:
        message = f"{column.name} holds a character that UTF-8 cannot encode ({error})"
        raise InputError(f"{message}: decode the source with the right encoding") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise InputError(f"{column.name} holds a value that is not {column.type} ({error}): correct the row") from error


def _vector_array(rows: Sequence[PassageRow], dimension: int) -> pa.Array:
    values = np.zeros((len(rows), dimension), dtype=np.float32)
    for position, row in enumerate(rows):
        if row.vector is None:
            continue
        if row.vector.shape != (dimension,):
            message = f"the vector of passage {row.id!r} has shape {row.vector.shape}, the index wants ({dimension},)"
            raise InputError(f"{message}: use the encoder the index was made with")
        values[position] = row.vector
    absent = pa.array([row.vector is None for row in rows], type=pa.bool_())
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), dimension, mask=absent)
