"""SQL-like predicates over the metadata of passages: `year >= 1990 AND lang IN ('en', 'de')`.

    conditions   = == != <> < <= > >=   IN (...)   LIKE and ILIKE (% any text, _ one character)   BETWEEN x AND y
                 IS NULL; NOT IN, NOT LIKE, NOT BETWEEN, IS NOT NULL; joined by AND, OR, NOT and parentheses
    values       'text' (a quote inside is doubled), 12, -3.5, 1e6, TRUE, FALSE
    fields       year   "field with spaces"   author.name (the key `author.name`, else `name` inside `author`)

A condition on a missing value, or on values of two types (text, number, boolean), is unknown; so is its NOT; a row is
kept only where the whole is true. Case counts, except for ILIKE. A value that is a list meets a condition when any of
its elements does; `!=`, NOT IN and NOT LIKE are the opposites of `=`, IN and LIKE: they ask that no element does.

Source: SQL's three-valued logic, parsed by `sqlglot`.
Differs from the source: types are never converted, NULL stands only after IS, LIKE has no escape character.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlglot import exp

    from clew.types import BoolArray

    Truth = NDArray[np.int8]

EXAMPLE = "year >= 1990 AND lang IN ('en', 'de')"
MAX_CHARACTERS = 50_000
MAX_CONDITIONS = 256
# Ordered so that AND is the smaller, OR the larger, and NOT the distance from TRUE.
_FALSE, _UNKNOWN, _TRUE = 0, 1, 2
_TYPES = {bool: "boolean", int: "number", float: "number", str: "text"}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "neq": operator.eq,  # negated afterwards, which is what makes it ask every element of a list
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
_LEAVES = frozenset({*_COMPARISONS, "like", "ilike", "in", "between", "is"})
# Kinds of node that may stand in an expression, and the parts that they may have.
_PARTS = {
    **{kind: {"this", "expression", "negate"} for kind in (*_COMPARISONS, "like", "ilike", "is")},
    **{kind: {"this"} for kind in ("not", "paren", "neg", "boolean")},
    "in": {"this", "expressions", "negate"},
    "between": {"this", "low", "high", "negate"},
    "and": {"this", "expression"},
    "or": {"this", "expression"},
    "dot": {"this", "expression"},
    "column": {"this", "table", "db", "catalog"},
    "identifier": {"this", "quoted"},
    "literal": {"this", "is_string"},
}

Row = Mapping[str, Any]
Operand = Callable[["_Columns"], list[Any]]
Condition = Callable[["_Columns"], "Truth"]


@final
@dataclass(frozen=True, slots=True)
class Predicate:
    """A parsed filter.

    Attributes:
        expression: As it was written.
        fields: The names of the fields it asks for, dotted names whole.
    """

    expression: str
    fields: frozenset[str]
    _truth: Condition = field(repr=False, compare=False)

    def mask(self, rows: Sequence[Row]) -> "BoolArray":
        """Return for each row (n,) whether the predicate is true of it.

        Args:
            rows: n mappings from field to value: text, number, boolean, a list of these, a mapping, or nothing.
        """
        return np.equal(self._truth(_Columns(rows)), _TRUE)

    def absent(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """Return the fields, sorted, that no row has a value for: misspelt, or text in double quotes."""
        columns = _Columns(rows)
        return tuple(name for name in sorted(self.fields) if all(value is None for value in columns.values(name)))


def parse_filter(expression: str) -> Predicate:
    """Read a filter.

    Args:
        expression: See the top of this module; at most 50,000 characters and 256 conditions.

    Raises:
        InputError: It holds anything but the parts named there; the message names what.
    """
    try:
        reading = _Reading(expression)
        truth = reading.condition(_tree(expression))
    except RecursionError as error:
        raise _refusal(expression, "it is nested too deeply") from error
    return Predicate(expression, frozenset(reading.fields), truth)


class _Columns:
    """Rows seen field by field."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.count = len(rows)
        self._rows = rows
        self._known: dict[str, list[Any]] = {}

    def values(self, name: str) -> list[Any]:
        if name not in self._known:
            path = name.split(".")
            self._known[name] = [row[name] if name in row else _inside(row, path) for row in self._rows]
        return self._known[name]


class _Reading:
    """One pass over a syntax tree, which turns it into functions and collects the fields it names."""

    def __init__(self, expression: str) -> None:
        self.fields: set[str] = set()
        self._expression = expression
        self._conditions = 0

    def condition(self, node: "exp.Expr") -> Condition:
        if node.key in ("and", "or"):
            parts = [self.condition(part) for part in _chain(node)]
            join = np.minimum if node.key == "and" else np.maximum
            return lambda columns: join.reduce([part(columns) for part in parts])
        self._check(node)
        if node.key == "paren":
            return self.condition(node.this)
        if node.key == "not":
            return _negated(self.condition(node.this))
        if node.key not in _LEAVES:
            raise self._refusal(f"{_shown(node)} is no condition; compare it with a value, as in draft = TRUE")
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise self._refusal(
                f"it has more than {MAX_CONDITIONS} conditions; put the values of one field in IN (...)"
            )
        truth = self._leaf(node)
        return _negated(truth) if node.args.get("negate") or node.key == "neq" else truth

    def _leaf(self, node: "exp.Expr") -> Condition:
        left = self._operand(node.this)
        if node.key in _COMPARISONS:
            right, compare = self._operand(node.expression), _COMPARISONS[node.key]
            return _per_row(lambda one, other: _compared(compare, one, other), left, right)
        if node.key == "between":
            return _per_row(_between, left, self._operand(node.args["low"]), self._operand(node.args["high"]))
        if node.key == "is":
            if node.expression.key != "null":
                raise self._refusal(f"IS {_shown(node.expression)} is not understood; only IS NULL and IS NOT NULL are")
            return _per_row(lambda value: _TRUE if value is None else _FALSE, left)
        if node.key == "in":
            if not node.expressions:
                raise self._refusal("IN () holds no value")
            return _per_row(_membership([self._literal(value) for value in node.expressions]), left)
        pattern = self._literal(node.expression)
        if not isinstance(pattern, str):
            raise self._refusal(f"LIKE {_shown(node.expression)} is no pattern in single quotes")
        return _per_row(_likeness(pattern, re.IGNORECASE if node.key == "ilike" else re.NOFLAG), left)

    def _operand(self, node: "exp.Expr") -> Operand:
        node = self._bare(node)
        if node.key in ("column", "dot"):
            name = ".".join(self._names(node))
            self.fields.add(name)
            return lambda columns: columns.values(name)
        value = self._literal(node)
        return lambda columns: [value] * columns.count

    def _names(self, node: "exp.Expr") -> list[str]:
        self._check(node)
        if node.key == "identifier":
            return [str(node.this)]
        keys = ("this", "expression") if node.key == "dot" else ("catalog", "db", "table", "this")
        parts = [node.args[key] for key in keys if node.args.get(key)]
        if node.key not in ("column", "dot"):
            raise self._refusal(f"{_shown(node)} is not the name of a field")
        return [name for part in parts for name in self._names(part)]

    def _literal(self, node: "exp.Expr") -> str | int | float | bool:
        node = self._bare(node)
        if node.key == "boolean":
            return bool(node.this)
        sign, number = (-1, self._bare(node.this)) if node.key == "neg" else (1, node)
        if number.key != "literal" or (number.args["is_string"] and sign < 0):
            raise self._refusal(
                f"{_shown(node)} is not understood; wanted text in single quotes, a number, TRUE or FALSE"
            )
        if number.args["is_string"]:
            return str(number.this)
        return sign * self._number(str(number.this))

    def _number(self, digits: str) -> int | float:
        try:
            value = int(digits) if digits.isdecimal() else float(digits)
        except ValueError as error:  # int() refuses thousands of digits
            raise self._refusal(f"{digits[:40]} is not understood; wanted a number") from error
        if not math.isfinite(value):
            raise self._refusal(f"{digits[:40]} is too large for a number")
        return value

    def _bare(self, node: "exp.Expr") -> "exp.Expr":
        self._check(node)
        while node.key == "paren":
            node = node.this
            self._check(node)
        return node

    def _check(self, node: "exp.Expr") -> None:
        """Refuse a kind of node, or a part of one, that is not among those meant: a list of what is allowed is safe."""
        if node.key not in _PARTS or any(value and key not in _PARTS[node.key] for key, value in node.args.items()):
            raise self._refusal(f"{_shown(node)} is not understood")

    def _refusal(self, why: str) -> InputError:
        return _refusal(self._expression, why)


def _tree(expression: str) -> "exp.Expr":
    """Parse with sqlglot, as a condition only: as a statement `comment = 'x'` would be a COMMENT."""
    if len(expression) > MAX_CHARACTERS:
        raise _refusal(expression, f"it has {len(expression)} characters; at most {MAX_CHARACTERS} are read")
    from sqlglot import Dialect, TokenType, exp
    from sqlglot.errors import ParseError, SqlglotError

    dialect = Dialect.get_or_raise(None)
    try:
        words = dialect.tokenize(expression)
        if any(word.token_type == TokenType.SEMICOLON for word in words):
            raise _refusal(expression, "a semicolon is not understood")
        if any(word.comments for word in words):
            raise _refusal(expression, "a comment is not understood")
        (tree,) = dialect.parser().parse_into(exp.Condition, words, expression) or [None]
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        place = f" at {found['highlight'][:40]!r}" if found.get("highlight") else ""
        why = f"it cannot be read{place}; a field named like a word of SQL takes double quotes, text takes single ones"
        raise _refusal(expression, why) from error
    except SqlglotError as error:
        raise _refusal(expression, "it cannot be read; look for a quote that is not closed") from error
    if tree is None:
        raise _refusal(expression, "it is empty; leave the filter out to have every passage")
    return tree


def _refusal(expression: str, why: str) -> InputError:
    shown = expression if len(expression) <= 200 else f"{expression[:200]}…"
    return InputError(f"filter {shown!r}: {why}; write for example {EXAMPLE}")


def _shown(node: "exp.Expr") -> str:
    text = str(node.sql())
    return text if len(text) <= 80 else f"{text[:80]}…"


def _chain(node: "exp.Expr") -> list["exp.Expr"]:
    """Return the parts of `a AND b AND c`, which is nested to the left once a part, without recursion."""
    parts, kind = [], node.key
    while node.key == kind:
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def _inside(row: Row, path: Sequence[str]) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _per_row(level: Callable[..., int], *operands: Operand) -> Condition:
    """Return the condition whose truth in a row is `level` of the operands' values there."""
    return lambda columns: np.fromiter(
        map(level, *(operand(columns) for operand in operands)), dtype=np.int8, count=columns.count
    )


def _negated(condition: Condition) -> Condition:
    return lambda columns: _TRUE - condition(columns)


def _type(value: Any) -> str | None:
    """Return the type of a value that can be compared, else None."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return _TYPES.get(type(value))


def _any(level: Callable[[Any], int], value: Any) -> int:
    """Return the highest level of a list's elements, or the level of a value that is no list."""
    if isinstance(value, list | tuple):
        return max(map(level, value), default=_FALSE)
    return level(value)


def _compared(compare: Callable[[Any, Any], bool], one: Any, other: Any) -> int:
    if isinstance(one, list | tuple) or isinstance(other, list | tuple):
        return _any(lambda a: _any(lambda b: _single(compare, a, b), other), one)
    return _single(compare, one, other)


def _single(compare: Callable[[Any, Any], bool], one: Any, other: Any) -> int:
    kind = _type(one)
    if kind is None or kind != _type(other):
        return _UNKNOWN
    return _TRUE if compare(one, other) else _FALSE


def _between(value: Any, low: Any, high: Any) -> int:
    # One element must lie between both bounds: [1, 9] does not meet BETWEEN 4 AND 6.
    return _any(lambda v: min(_single(operator.ge, v, low), _single(operator.le, v, high)), value)


def _membership(values: Sequence[str | int | float | bool]) -> Callable[[Any], int]:
    by_type = {kind: frozenset(v for v in values if _type(v) == kind) for kind in {_type(v) for v in values}}
    otherwise = _FALSE if len(by_type) == 1 else _UNKNOWN  # 5 IN (1, 'x'): whether 5 = 'x' is unknown

    def level(value: Any) -> int:
        kind = _type(value)
        if kind not in by_type:
            return _UNKNOWN
        return _TRUE if value in by_type[kind] else otherwise

    return lambda value: _any(level, value)


def _likeness(pattern: str, flags: re.RegexFlag) -> Callable[[Any], int]:
    first, *rest = ("".join("." if sign == "_" else re.escape(sign) for sign in part) for part in pattern.split("%"))
    if rest:
        # The leftmost place is right for every part but the last, so each is kept once found (an atomic group):
        # going back over all of them would take years for a pattern such as %a%a%a%a%a%a%a%b.
        first += "".join(f"(?>.*?{part})" for part in rest[:-1]) + f".*{rest[-1]}"
    match = re.compile(first, flags | re.DOTALL).fullmatch

    def level(value: Any) -> int:
        return _UNKNOWN if not isinstance(value, str) else _TRUE if match(value) else _FALSE

    return lambda value: _any(level, value)
