"""Conditions on columns, which are true, false or unknown in each row.

A condition of several operands is a function of their values in a row that returns a level, `FALSE`, `UNKNOWN` or
`TRUE`; `row_condition` applies it to all rows. Of a list the level is the highest of its elements.

Source: SQL's three-valued logic.
Differs from the source: a text that is a number is one beside a number; other values of two types (text, number,
boolean) are never converted, and their comparison is unknown; LIKE has no escape character; lists are values.

Rows as columns: the values of a field with the ones that each row has, as filters read them.

The metadata of passages as columns: for each field its distinct values, and which of them each passage has.

A field is read from all passages when a filter first names it, and stored with the version; after that a filter costs
its distinct values and one pass over the codes of the passages.
"""

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.string_array import StringArray
from clew.text.places import read_filter_fields, read_time

Row = Mapping[str, Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of a field in n rows: each distinct one, or each row's, and which of them a row has."""

    values: Sequence[Any]  # text, numbers, booleans, lists of these, mappings, or None
    codes: NDArray[np.integer]  # (n,) positions in `values`


class Columns(Protocol):
    """Rows as columns."""

    @property
    def count(self) -> int:
        """The number of rows, n."""

    def column(self, name: str) -> Column:
        """Return a field, of which the name may be dotted."""


def field_value(row: Row, name: str) -> Any:
    """Return the value of a field: of the key of that name, else of the keys that its parts name, one in the other."""
    return row[name] if name in row else _nested_value(row, name.split("."))


def _nested_value(row: Row, path: Sequence[str]) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


# Ordered so that AND is the smaller, OR the larger, and NOT the distance from TRUE.
FALSE, UNKNOWN, TRUE = 0, 1, 2
_NUMBER = re.compile(r"\s*-?[0-9]{1,99}(?:\.[0-9]{1,99})?\s*", re.ASCII)
_TYPES = {bool: "boolean", int: "number", float: "number", str: "text"}

Truth = NDArray[np.int8]
"""The levels (n,) of a condition in n rows."""

Operand = Callable[[Columns], Column]
Condition = Callable[[Columns], Truth]


def row_condition(level: Callable[..., int], *operands: Operand) -> Condition:
    """Return the condition whose truth in a row is `level` of the operands' values in that row.

    It is computed once for each combination of values that occurs.
    """

    def condition(columns: Columns) -> Truth:
        given = [operand(columns) for operand in operands]
        varying = [column for column in given if len(column.values) > 1]
        if not columns.count:
            return np.zeros(0, dtype=np.int8)
        rows: Iterable[Any] = range(len(varying[0].values)) if varying else range(1)
        codes = varying[0].codes if varying else given[0].codes
        if len(varying) > 1:
            pairs = np.unique(np.stack([column.codes for column in varying]), axis=1, return_inverse=True)
            rows, codes = zip(*pairs[0].tolist(), strict=True), pairs[1].ravel()
        else:
            rows = ((row,) for row in rows)

        def values(row: tuple[int, ...]) -> Iterator[Any]:
            places = iter(row)
            return (column.values[next(places)] if len(column.values) > 1 else column.values[0] for column in given)

        levels = np.array([level(*values(row)) for row in rows], dtype=np.int8)
        return np.asarray(levels[codes])

    return condition


def all_true(conditions: Sequence[Condition]) -> Condition:
    """Return the condition that all of some, at least one, are true."""
    return lambda columns: np.minimum.reduce([condition(columns) for condition in conditions])


def any_true(conditions: Sequence[Condition]) -> Condition:
    """Return the condition that one of some, at least one, is true."""
    return lambda columns: np.maximum.reduce([condition(columns) for condition in conditions])


def negate(condition: Condition) -> Condition:
    """Return the opposite of a condition, which is unknown where that is."""
    return lambda columns: TRUE - condition(columns)


def value_type(value: Any) -> str | None:
    """Return "boolean", "number" or "text"; None for a missing value and for one of another type."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return _TYPES.get(type(value))


def number_value(value: Any) -> float | None:
    """Return the number that a text is, as `-12.5`; None for another text and for any other value."""
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None


def compare_values(compare: Callable[[Any, Any], bool], one: Any, other: Any) -> int:
    """Return the level of a comparison of two values; of lists that of the best pair."""
    if isinstance(one, list | tuple) or isinstance(other, list | tuple):
        return _best_of_elements(lambda a: _best_of_elements(lambda b: _compare_scalars(compare, a, b), other), one)
    return _compare_scalars(compare, one, other)


def is_null(value: Any) -> int:
    """Return the level of a value's being missing, which is never unknown."""
    return TRUE if value is None else FALSE


def is_between(value: Any, low: Any, high: Any) -> int:
    """Return the level of a value's being at least `low` and at most `high`."""
    # One element must lie between both bounds: [1, 9] does not meet BETWEEN 4 AND 6.
    return _best_of_elements(
        lambda v: min(_compare_scalars(operator.ge, v, low), _compare_scalars(operator.le, v, high)), value
    )


def membership_test(values: Sequence[str | int | float | bool]) -> Callable[[Any], int]:
    """Return the function that returns the level of a value's being one of some, at least one."""
    by_type = {kind: frozenset(v for v in values if value_type(v) == kind) for kind in {value_type(v) for v in values}}
    mismatch = FALSE if len(by_type) == 1 else UNKNOWN  # 5 IN (1, 'x'): whether 5 = 'x' is unknown
    numbers = {"number": {*map(number_value, values)} - {None}, "text": by_type.get("number", frozenset())}

    def level(value: Any) -> int:
        kind = value_type(value)
        number = value if kind == "number" else number_value(value)
        others = numbers.get(kind or "", frozenset()) if number is not None else frozenset()
        if number in others or (kind in by_type and value in by_type[kind]):
            return TRUE
        return mismatch if others or kind in by_type else UNKNOWN

    return lambda value: _best_of_elements(level, value)


def like_test(pattern: str, *, ignore_case: bool) -> Callable[[Any], int]:
    """Return the function that returns the level of a text's matching a pattern (% any text, _ one character)."""
    first, *rest = ("".join("." if sign == "_" else re.escape(sign) for sign in part) for part in pattern.split("%"))
    if rest:
        # The leftmost match is right for every part but the last, so none is retried once matched (an atomic group):
        # backtracking over all of them would take years for a pattern such as %a%a%a%a%a%a%a%b.
        first += "".join(f"(?>.*?{part})" for part in rest[:-1]) + f".*{rest[-1]}"
    match = re.compile(first, (re.IGNORECASE if ignore_case else re.NOFLAG) | re.DOTALL).fullmatch

    def level(value: Any) -> int:
        return UNKNOWN if not isinstance(value, str) else TRUE if match(value) else FALSE

    return lambda value: _best_of_elements(level, value)


def _best_of_elements(level: Callable[[Any], int], value: Any) -> int:
    """Return the highest level of a list's elements, or the level of a value that is no list."""
    if isinstance(value, list | tuple):
        return max(map(level, value), default=FALSE)
    return level(value)


def _compare_scalars(compare: Callable[[Any, Any], bool], one: Any, other: Any) -> int:
    kind, other_kind = value_type(one), value_type(other)
    if {kind, other_kind} == {"number", "text"}:
        one, other = (number_value(value) if isinstance(value, str) else value for value in (one, other))
        kind, other_kind = value_type(one), value_type(other)
    if kind is None or kind != other_kind:
        return UNKNOWN
    return TRUE if compare(one, other) else FALSE


ArrayStore = Callable[[str, Callable[[], Mapping[str, NDArray[Any]]]], Mapping[str, NDArray[Any]]]
"""Returns the arrays of a name, from disk or computed."""

COLUMN_PARTS = ("codes", "data", "offsets")
"""The arrays of a field."""
_DATED = ("dated_from", "dated_to")
OWN_FIELDS = ("id", "document_id", "title", *_DATED)
"""Fields that every passage has, whatever its metadata say; the last two are the days of its time, None without."""


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
            is_stored = name in OWN_FIELDS and name not in _DATED
            self._columns[name] = self._own_column(name) if is_stored else self._read_column(name)
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


def _dated_fields(stored: str) -> dict[str, Any]:
    """Return the days of the time of a passage, an open end as the first or last one of all; nothing without a time."""
    time = read_time(stored)
    return {} if time is None else dict(zip(_DATED, time.days, strict=True))


def _code_values(snapshot: Snapshot, name: str) -> dict[str, NDArray[Any]]:
    """Return the codes (P,) of the values of a field, and the values as JSON, in the order of the passages."""
    code_of: dict[str, int] = {}
    codes = np.empty(len(snapshot.passage_ids), dtype=np.int32)
    last, code = "", -1
    for position, text in enumerate(snapshot.metadata):
        if text != last or code < 0:  # the passages of a document have the same
            last = text
            own = dict.fromkeys(OWN_FIELDS, "")  # a text has no parts, whatever the metadata say
            fields = _dated_fields(text) if name in _DATED else {**read_filter_fields(text), **own}
            value = json.dumps(field_value(fields, name))
            code = code_of.setdefault(value, len(code_of))
        codes[position] = code
    packed = StringArray.pack(code_of)
    return {"codes": codes, "data": packed.data, "offsets": packed.offsets}
