"""The metadata of passages as columns: for each field its distinct values, and which of them each passage has.

A field is read from all passages when a filter first names it, and stored with the version; after that a filter costs
its distinct values and one pass over the codes of the passages.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.string_array import StringArray
from clew.query.conditions import Column, field_value
from clew.text.places import read_filter_fields

ArrayStore = Callable[[str, Callable[[], Mapping[str, NDArray[Any]]]], Mapping[str, NDArray[Any]]]
"""Returns the arrays of a name, from disk or computed."""

COLUMN_PARTS = ("codes", "data", "offsets")
"""The arrays of a field."""
OWN_FIELDS = ("id", "document_id", "title")


@final
class MetadataColumns:
    """The fields of a snapshot's passages, of which each has its id, its document's id and its title beside metadata.

    `store` keeps the arrays of a field on disk; None keeps them in memory alone.
    """

    def __init__(self, snapshot: Snapshot, store: ArrayStore | None = None) -> None:
        self._snapshot = snapshot
        self._store = store
        self._columns: dict[str, Column] = {}

    @property
    def count(self) -> int:
        """The number of passages, P."""
        return len(self._snapshot.passage_ids)

    def column(self, name: str) -> Column:
        """Return a field (see `clew.query.conditions.Columns`)."""
        if name not in self._columns:
            self._columns[name] = self._own_column(name) if name in OWN_FIELDS else self._read_column(name)
        return self._columns[name]

    def _own_column(self, name: str) -> Column:
        s = self._snapshot
        values = {"id": s.passage_ids, "document_id": s.document_ids, "title": s.titles}[name]
        return Column(values, np.arange(len(values), dtype=np.int32))

    def _read_column(self, name: str) -> Column:
        key = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        compute = partial(_code_values, self._snapshot, name)
        arrays = compute() if self._store is None else self._store(f"field-{key}", compute)
        values = StringArray(arrays["data"], arrays["offsets"])
        return Column([json.loads(value) for value in values], arrays["codes"])


def _code_values(snapshot: Snapshot, name: str) -> dict[str, NDArray[Any]]:
    """Return the codes (P,) of the values of a field, and the values as JSON, in the order of the passages."""
    code_of: dict[str, int] = {}
    codes = np.empty(len(snapshot.passage_ids), dtype=np.int32)
    last, code = "", -1
    for position, text in enumerate(snapshot.metadata):
        if text != last or code < 0:  # the passages of a document have the same
            last = text
            own = dict.fromkeys(OWN_FIELDS, "")  # a text has no parts, whatever the metadata say
            value = json.dumps(field_value({**read_filter_fields(text), **own}, name))
            code = code_of.setdefault(value, len(code_of))
        codes[position] = code
    packed = StringArray.pack(code_of)
    return {"codes": codes, "data": packed.data, "offsets": packed.offsets}
