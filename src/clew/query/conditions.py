"""Conditions on columns, which are true, false or unknown in each row.

A condition of several operands is a function of their values in a row that returns a level, `FALSE`, `UNKNOWN` or
`TRUE`; `row_condition` applies it to all rows. Of a list the level is the highest of its elements.

Source: SQL's three-valued logic.
Differs from the source: values of two types (text, number, boolean) are never converted, and their comparison is
unknown; LIKE has no escape character; lists are values.

Rows as columns: the values of a field with the ones that each row has, as filters read them.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

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

    def level(value: Any) -> int:
        kind = value_type(value)
        if kind not in by_type:
            return UNKNOWN
        return TRUE if value in by_type[kind] else mismatch

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
    kind = value_type(one)
    if kind is None or kind != value_type(other):
        return UNKNOWN
    return TRUE if compare(one, other) else FALSE
