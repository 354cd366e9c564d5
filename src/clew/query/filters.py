"""SQL-like predicates over the metadata of passages: `year >= 1990 AND lang IN ('en', 'de')`.

    conditions   = == != <> < <= > >=   IN (...)   LIKE and ILIKE (% any text, _ one character)   BETWEEN x AND y
                 IS NULL; NOT IN, NOT LIKE, NOT BETWEEN, IS NOT NULL; joined by AND, OR, NOT and parentheses
                 'text' IN field, for a field of lists
    values       'text' (a quote inside is doubled), DATE '2024-05-02', 12, -3.5, 1e6, TRUE, FALSE
    fields       year   "field with spaces"   author.name (the key `author.name`, else `name` inside `author`)

A condition on a missing value, or on values of two types (text, number, boolean), is unknown; so is its NOT; a row
matches only where the whole is true. A text that is a number is one beside a number. Case matters, except for ILIKE. A
list matches a condition when any of its elements does; `!=`, NOT IN and NOT LIKE are the opposites of `=`, IN and LIKE:
they require that no element does.

Source: SQL's three-valued logic (`clew.query.conditions`), parsed by `sqlglot`.
Differs from the source: other types are never converted, NULL stands only after IS, LIKE has no escape character.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.arrays import BoolArray
from clew.errors import InputError
from clew.query.conditions import (
    OWN_FIELDS,
    TRUE,
    Column,
    Columns,
    Condition,
    Operand,
    all_true,
    any_true,
    compare_values,
    is_between,
    is_null,
    like_test,
    membership_test,
    negate,
    number_value,
    row_condition,
    value_type,
)
from clew.text.display import to_single_line

if TYPE_CHECKING:
    from sqlglot import exp

EXAMPLE = "year >= 1990 AND lang IN ('en', 'de')"
MAX_CHARACTERS = 50_000
MAX_CONDITIONS = 256
_PLURALS = {"boolean": "booleans", "number": "numbers", "text": "texts"}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "neq": operator.eq,  # negated afterwards, so that it applies to every element of a list
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
_HINTS = {  # on kinds of node that are not allowed
    "null": "; a missing value is found by IS NULL, any other by IS NOT NULL",
    "lower": "; ILIKE ignores case, as in lang ILIKE 'en'",
    "any": "; a list with an element is found by 'sea' IN tags",
    "arraycontains": "; a list with an element is found by 'sea' IN tags",
    "sub": '; a name with hyphens takes double quotes: "{}"',
    "currentdate": "; write the day as text, such as '2026-11-23'",
    "struct": "; a filter is no JSON",
}
_LEAF_KINDS = frozenset({*_COMPARISONS, "like", "ilike", "in", "between", "is"})
# Allowed kinds of node in an expression, with their allowed parts.
_ALLOWED_ARGS = {
    **{kind: {"this", "expression", "negate"} for kind in (*_COMPARISONS, "like", "ilike", "is")},
    **{kind: {"this"} for kind in ("not", "paren", "neg", "boolean")},
    "in": {"this", "expressions", "field", "negate"},
    "cast": {"this", "to"},
    "between": {"this", "low", "high", "negate"},
    "and": {"this", "expression"},
    "or": {"this", "expression"},
    "dot": {"this", "expression"},
    "column": {"this", "table", "db", "catalog"},
    "identifier": {"this", "quoted"},
    "literal": {"this", "is_string"},
}


@final
@dataclass(frozen=True, slots=True)
class Predicate:
    """A parsed filter."""

    expression: str  # the text it was parsed from
    fields: frozenset[str]  # names of the fields it refers to, dotted names whole
    _truth: Condition = field(repr=False, compare=False)
    _comparisons: tuple[tuple[str, tuple[Any, ...]], ...] = field(default=(), repr=False, compare=False)

    def mask(self, columns: Columns) -> BoolArray:
        """Return for each row (n,) whether the predicate is true of it; each condition is tried on distinct values."""
        return np.equal(self._truth(columns), TRUE)

    def unknown_fields(self, columns: Columns) -> tuple[str, ...]:
        """Return the fields, sorted, that no row has a value for: misspelt, or a text in double quotes."""
        return tuple(
            name
            for name in sorted(self.fields.difference(OWN_FIELDS))
            if all(value is None for value in columns.column(name).values)
        )

    def describe_clashes(self, columns: Columns, rows: BoolArray, hidden: frozenset[str]) -> list[str]:
        """Return a phrase for each field, but for `hidden` ones, that is compared with no value of a type that it has.

        The types are those of some rows (n,). A comparison of two types is never true.
        """
        phrases = {}
        for name, values in self._comparisons:
            if name in hidden:
                continue
            column = columns.column(name)
            used = [column.values[code] for code in np.unique(column.codes[rows]).tolist()]
            kinds = {kind for value in used for kind in map(value_type, value if isinstance(value, list) else [value])}
            kinds.discard(None)
            if kinds and not kinds & {value_type(value) for value in values}:
                held = " and ".join(_PLURALS[str(kind)] for kind in sorted(kinds, key=str))
                given = value_type(values[0])
                phrases[name] = f"{name!r} has {held}, and {values[0]!r} is a {given}"
            numbers = [value for value in values if number_value(value) is not None]
            if numbers and any(number_value(value) is not None for value in used):
                phrases[name] = f"{name!r} has numbers as texts, in the order of letters: write {numbers[0]} unquoted"
            elif str(values[0]).startswith("[") and any(isinstance(value, list) for value in used):
                phrases[name] = f"{name!r} has lists, which are compared by element: write 'one' IN {name}"
        return list(phrases.values())


def parse_filter(expression: str) -> Predicate:
    """Parse a filter in the grammar of this module; raises InputError that names the part outside of it."""
    try:
        compiler = _FilterCompiler(expression)
        condition = compiler.compile(_parse_tree(expression))
    except RecursionError as error:
        raise _filter_error(expression, "it is nested too deeply") from error
    return Predicate(expression, frozenset(compiler.fields), condition, tuple(compiler.comparisons))


class _FilterCompiler:
    """Compiles a syntax tree to a function in one pass, and collects its fields."""

    def __init__(self, expression: str) -> None:
        self.fields: set[str] = set()
        self.comparisons: list[tuple[str, tuple[Any, ...]]] = []  # fields, and the values that each is compared with
        self._leaf_fields: list[str] = []
        self._leaf_values: list[Any] = []
        self._expression = expression
        self._conditions = 0

    def compile(self, node: "exp.Expr") -> Condition:
        if node.key in ("and", "or"):
            parts = [self.compile(part) for part in _flatten_chain(node)]
            return all_true(parts) if node.key == "and" else any_true(parts)
        self._check_node(node)
        if node.key == "paren":
            return self.compile(node.this)
        if node.key == "not":
            return negate(self.compile(node.this))
        if node.key not in _LEAF_KINDS:
            raise self._error(f"{_node_text(node)} is no condition; compare it with a value, as in draft = TRUE")
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise self._error(f"it has more than {MAX_CONDITIONS} conditions; put the values of one field in IN (...)")
        self._leaf_fields, self._leaf_values = [], []
        truth = self._compile_leaf(node)
        if self._leaf_values:
            self.comparisons += [(name, tuple(self._leaf_values)) for name in self._leaf_fields]
        return negate(truth) if node.args.get("negate") or node.key == "neq" else truth

    def _compile_leaf(self, node: "exp.Expr") -> Condition:
        left = self._compile_operand(node.this)
        if node.key in _COMPARISONS:
            right = self._compile_operand(node.expression)
            return row_condition(partial(compare_values, _COMPARISONS[node.key]), left, right)
        if node.key == "between":
            return row_condition(
                is_between, left, self._compile_operand(node.args["low"]), self._compile_operand(node.args["high"])
            )
        if node.key == "is":
            if node.expression.key != "null":
                raise self._error(
                    f"IS {_node_text(node.expression)} is not understood; only IS NULL and IS NOT NULL are"
                )
            return row_condition(is_null, left)
        if node.key == "in":
            if node.args.get("field") and node.this.key == "literal":
                elements = self._compile_operand(node.args["field"])
                return row_condition(partial(compare_values, operator.eq), left, elements)
            if not node.expressions:
                raise self._error("IN () holds no value")
            return row_condition(membership_test([self._literal_value(value) for value in node.expressions]), left)
        pattern = self._literal_value(node.expression)
        if not isinstance(pattern, str):
            raise self._error(f"LIKE {_node_text(node.expression)} is no pattern in single quotes")
        return row_condition(like_test(pattern, ignore_case=node.key == "ilike"), left)

    def _compile_operand(self, node: "exp.Expr") -> Operand:
        node = self._strip_parentheses(node)
        if node.key in ("column", "dot"):
            name = ".".join(self._field_path(node))
            self.fields.add(name)
            self._leaf_fields.append(name)
            return lambda columns: columns.column(name)
        value = self._literal_value(node)
        return lambda columns: Column([value], np.zeros(columns.count, dtype=np.int8))

    def _field_path(self, node: "exp.Expr") -> list[str]:
        self._check_node(node)
        if node.key == "identifier":
            return [str(node.this)]
        keys = ("this", "expression") if node.key == "dot" else ("catalog", "db", "table", "this")
        parts = [node.args[key] for key in keys if node.args.get(key)]
        if node.key not in ("column", "dot"):
            raise self._error(f"{_node_text(node)} is not the name of a field")
        return [name for part in parts for name in self._field_path(part)]

    def _literal_value(self, node: "exp.Expr") -> str | int | float | bool:
        value = self._read_literal(node)
        self._leaf_values.append(value)
        return value

    def _read_literal(self, node: "exp.Expr") -> str | int | float | bool:
        node = self._strip_parentheses(node)
        if node.key == "cast" and node.this.key == "literal" and str(node.args["to"]) == "DATE":  # DATE '2024-05-02'
            node = node.this
        if node.key == "boolean":
            return bool(node.this)
        sign, number = (-1, self._strip_parentheses(node.this)) if node.key == "neg" else (1, node)
        if number.key != "literal" or (number.args["is_string"] and sign < 0):
            raise self._error(
                f"{_node_text(node)} is not understood; wanted text in single quotes, a number, TRUE or FALSE"
            )
        if number.args["is_string"]:
            return str(number.this)
        return sign * self._parse_number(str(number.this))

    def _parse_number(self, digits: str) -> int | float:
        try:
            value = int(digits) if digits.isdecimal() else float(digits)
            is_finite = math.isfinite(value)
        except OverflowError:  # an integer that no float can hold
            is_finite = False
        except ValueError as error:  # int() refuses thousands of digits
            raise self._error(f"{digits[:40]} is not understood; wanted a number") from error
        if not is_finite:
            raise self._error(f"{digits[:40]} is too large for a number")
        return value

    def _strip_parentheses(self, node: "exp.Expr") -> "exp.Expr":
        self._check_node(node)
        while node.key == "paren":
            node = node.this
            self._check_node(node)
        return node

    def _check_node(self, node: "exp.Expr") -> None:
        """Reject a kind of node, or a part of one, that is not in the list of those allowed."""
        if node.key not in _ALLOWED_ARGS or any(
            value and key not in _ALLOWED_ARGS[node.key] for key, value in node.args.items()
        ):
            hint = _HINTS.get(node.key, "").format(_node_text(node).replace(" - ", "-"))
            raise self._error(f"{_node_text(node)} is not understood{hint}")

    def _error(self, reason: str) -> InputError:
        return _filter_error(self._expression, reason)


def _parse_tree(expression: str) -> "exp.Expr":
    """Parse with sqlglot as a condition: as a statement `comment = 'x'` would be a COMMENT."""
    if len(expression) > MAX_CHARACTERS:
        raise _filter_error(expression, f"it has {len(expression)} characters; at most {MAX_CHARACTERS} are read")
    from sqlglot import Dialect, TokenType, exp
    from sqlglot.errors import ParseError, SqlglotError

    dialect = Dialect.get_or_raise(None)
    try:
        tokens = dialect.tokenize(expression)
        if any(token.token_type == TokenType.SEMICOLON for token in tokens):
            raise _filter_error(expression, "a semicolon is not understood")
        if any(token.comments for token in tokens):
            raise _filter_error(expression, "a comment is not understood")
        (tree,) = dialect.parser().parse_into(exp.Condition, tokens, expression) or [None]
    except ParseError as error:
        details = error.errors[0] if error.errors else {}
        word = str(details.get("highlight") or "")[:40]
        position = f" at {word!r}" if word else ""
        quoted = f': "{word}"' if word.isidentifier() else ""
        hint = f"a field of several words or named like one of SQL takes double quotes{quoted}, text takes single ones"
        if word.lower() == "contains":
            hint = "a list with an element is found by 'sea' IN tags, a part of a text by title LIKE '%sea%'"
        elif expression.count("(") != expression.count(")"):
            hint = "a bracket has no other end"
        elif expression.split()[-1].lower() in ("and", "or", "not"):
            hint = "a condition is missing at its end"
        raise _filter_error(expression, f"it cannot be read{position}; {hint}") from error
    except SqlglotError as error:
        raise _filter_error(expression, "it cannot be read; look for a quote that is not closed") from error
    if tree is None:
        raise _filter_error(expression, "it is empty; leave the filter out to have every passage")
    return tree


def _filter_error(expression: str, reason: str) -> InputError:
    excerpt = expression if len(expression) <= 200 else f"{expression[:200]}…"
    return InputError(f"filter {excerpt!r}: {reason}; write for example {EXAMPLE}")


def _node_text(node: "exp.Expr") -> str:
    text = to_single_line(str(node.sql()))
    return text if len(text) <= 80 else f"{text[:80]}…"


def _flatten_chain(node: "exp.Expr") -> list["exp.Expr"]:
    """Return the parts of `a AND b AND c`, whose tree is nested to the left, without recursion."""
    parts, kind = [], node.key
    while node.key == kind:
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]
