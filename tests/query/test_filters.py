import math
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.query.filters import MAX_CONDITIONS, parse_filter
from tests.query.row_columns import RowColumns

BOOKS: list[dict[str, Any]] = [
    {"id": "a", "title": "Nansen", "year": 1893, "lang": "en", "tags": ["arctic", "ship"], "draft": False},
    {"id": "b", "title": "Amundsen", "year": 1911.5, "lang": "no", "tags": [], "draft": True},
    {"id": "c", "title": "Fram", "year": "1893", "author": {"name": "Archer", "born": 1832}},
    {"id": "d", "title": None, "year": math.nan, "lang": "en", "tags": ["ship"], "author.name": "Wisting"},
]


def matching_ids(expression: str, rows: Sequence[dict[str, Any]] = BOOKS) -> str:
    mask = parse_filter(expression).mask(RowColumns(rows))
    assert mask.dtype == bool
    assert mask.shape == (len(rows),)
    return "".join(row["id"] for row, keep in zip(rows, mask, strict=True) if keep)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("year = 1893", "ac"),
        ("year == 1893.0", "ac"),
        ("1893 <= year", "abc"),
        ("NOT year = 1893", "b"),
        ("year <> 1893", "b"),
        ("year = '1893'", "ac"),
        ("year != 'x' OR year != 1", "abc"),
        ("year BETWEEN -1 AND +1900", "ac"),
        ("year NOT BETWEEN 1 AND 1900", "b"),
        ("year IS NULL", ""),
        ("lang IS NULL", "c"),
        ("lang ISNULL", "c"),
        ("lang IS NOT NULL", "abd"),
        ("lang IN ('en', 'de')", "ad"),
        ("lang NOT IN ('en', 'de')", "b"),
        ("id NOT IN ('a', 1)", ""),
        ("id IN ('a', 1)", "a"),
        ("draft = TRUE", "b"),
        ("draft = 0", ""),
        ("draft <> TRUE", "a"),
        ("title LIKE 'F%'", "c"),
        ("title LIKE 'f%'", ""),
        ("title ILIKE 'f__m'", "c"),
        ("title LIKE '%sen' AND lang = 'en'", "a"),
        ("title NOT LIKE '%n'", "c"),
        ("year LIKE '18%'", "c"),
        ("id = 'a' OR id = 'b' AND lang = 'xx'", "a"),
        ("(id = 'a' OR id = 'b') AND NOT (lang = 'no')", "a"),
        ("\"id\" = 'a'", "a"),
        ("author.born < 1900", "c"),
        ("author.name IN ('Archer', 'Wisting')", "cd"),
        ('"author.name" IS NOT NULL', "cd"),
        ("author.name.first = 'x'", ""),
        ("nothing = 1", ""),
        ("NOT nothing = 1", ""),
        ("nothing IS NULL", "abcd"),
        ("title = id", ""),
        ("id = id", "abcd"),
        ("title = 'O''Neill; -- no comment'", ""),
    ],
)
def test_rows_match_where_the_filter_is_true(expression: str, expected: str) -> None:
    assert matching_ids(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tags = 'ship'", "ad"),
        ("tags = 'arctic'", "a"),
        ("NOT tags = 'arctic'", "bd"),
        ("tags != 'arctic'", "bd"),
        ("tags IN ('arctic', 'desert')", "a"),
        ("tags NOT IN ('arctic', 'desert')", "bd"),
        ("tags LIKE 'a%'", "a"),
        ("tags NOT LIKE 'a%'", "bd"),
        ("tags IS NOT NULL", "abd"),
        ("tags = 1", ""),
        ("'ship' = tags", "ad"),
        ("'ship' IN tags", "ad"),
        ("'arctic' NOT IN tags", "bd"),
    ],
)
def test_a_list_matches_when_any_element_does(expression: str, expected: str) -> None:
    assert matching_ids(expression) == expected


def test_one_element_must_lie_between_both_bounds() -> None:
    rows = [{"id": "a", "years": [1, 9]}, {"id": "b", "years": [1, 5, "x"]}]
    assert matching_ids("years BETWEEN 4 AND 6", rows) == "b"
    assert matching_ids("years < 2 AND years > 8", rows) == "a"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n = 9", "ab"),
        ("n = '9'", "ab"),
        ("n > 9", "c"),
        ("n IN (9, 11)", "ab"),
        ("n IN ('9', '11')", "ab"),
        ("n NOT IN (9)", "c"),
        ("n != 9", "c"),
        ("n BETWEEN 9 AND 10", "abc"),
        ("day >= DATE '2024-05-02'", "b"),
    ],
)
def test_a_number_and_a_text_of_one_are_compared_alike(expression: str, expected: str) -> None:
    rows: list[dict[str, Any]] = [{"id": "a", "n": 9, "day": "2024-05-01"}, {"id": "c", "n": "10"}]
    rows.insert(1, {"id": "b", "n": "9", "day": "2024-05-02T10:00"})
    assert matching_ids(expression, rows) == expected


def test_fields_and_unknown_fields() -> None:
    predicate = parse_filter("yaer > 1 AND author.born = 2 AND lang = \"en\" AND 'x' = id")
    assert predicate.fields == {"yaer", "author.born", "lang", "en", "id"}
    assert predicate.unknown_fields(RowColumns(BOOKS)) == ("en", "yaer")
    assert predicate.expression.startswith("yaer")


def test_wildcards_match_line_ends() -> None:
    rows = [{"id": "a", "title": "one\ntwo"}]
    assert matching_ids("title LIKE 'one_two' AND title LIKE '%e%two' AND title LIKE 'o%'", rows) == "a"


def test_no_rows() -> None:
    assert parse_filter("a = 1 AND NOT b LIKE 'x'").mask(RowColumns([])).tolist() == []


@pytest.mark.parametrize("name", ["comment", "set", "date", "year", "type", "left", "order", "group", "index", "key"])
def test_fields_named_like_sql_keywords(name: str) -> None:
    assert matching_ids(f"{name} = 'x'", [{"id": "a", name: "x"}]) == "a"


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("year", "year is no condition"),
        ("NOT draft", "draft is no condition"),
        ('"a\nb"', '"a b" is no condition'),
        ("TRUE", "no condition"),
        ("year = 1;", "semicolon"),
        ("year = 1; DROP TABLE passages", "semicolon"),
        ("year = 1 -- all", "comment"),
        ("year = /* x */ 1", "comment"),
        ("LENGTH(title) = 3", "LENGTH(title)"),
        ("year + 1 = 3", "year + 1"),
        ("year = 1 + 2", "1 + 2"),
        ("title || 'x' = 'y'", "title || 'x'"),
        ("id IN (SELECT id)", "SELECT id"),
        ("id IN ()", "IN ()"),
        ("id IN other", "id IN other"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("CASE WHEN a = 1 THEN TRUE END", "CASE"),
        ("a::int = 1", "CAST"),
        ("a IS TRUE", "IS TRUE"),
        ("a = - - 1", "- -1"),
        ("a = -'x'", "-'x'"),
        ("1 < a < 3", "1 < a"),
        ("a LIKE b", "b"),
        ("a LIKE 1", "LIKE 1"),
        ("a LIKE 'x' ESCAPE '!'", "ESCAPE"),
        ("a LIKE ANY ('x', 'y')", "ANY"),
        ("a BETWEEN SYMMETRIC 1 AND 2", "BETWEEN"),
        ("a.* = 1", "*"),
        ("a[0] = 1", "a[0]"),
        ("a = :x", ":x"),
        ("a = ?", "?"),
        ("a = N'x'", "N'x'"),
        ("a = 'x' 'y'", "CONCAT"),
        ("a <=> 1", "not understood"),
        ("a = 1e999", "too large"),
        ("a = " + "9" * 5000, "wanted a number"),
        ("a = 1 b", "'b'"),
        ("a = (1", "cannot be read at '1'; a bracket"),
        ("a = 1 AND", "a condition is missing"),
        ("a = NULL", "found by IS NULL"),
        ("lower(a) = 'x'", "ILIKE"),
        ("tags CONTAINS 'x'", "'sea' IN tags"),
        ("date-of-birth = '1900'", '"date-of-birth"'),
        ("my field = 'x'", "of several words"),
        ("a = 'open", "quote"),
        ("SELECT 1", "cannot be read"),
    ],
)
def test_other_syntax_is_refused(expression: str, part: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_filter(expression)
    message = str(raised.value)
    assert part in message
    assert repr(expression)[1:100] in message
    assert "year >= 1990 AND lang IN" in message


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 3000 + "a = 1" + ")" * 3000,
        " AND ".join(["a = 1"] * 3000),
        " OR ".join(["a = 1"] * (MAX_CONDITIONS + 1)),
        "NOT " * 3000 + "a = 1",
        "a = " + "- " * 3000 + "1",
        "a." * 3000 + "b = 1",
        "f(" * 3000,
        "a = '" + "x" * 100_000 + "'",
    ],
)
def test_huge_expressions_are_refused(expression: str) -> None:
    with pytest.raises(InputError):
        parse_filter(expression)


def test_many_conditions_and_values() -> None:
    values = ", ".join(f"'{number}'" for number in range(3000))
    expression = " OR ".join([f"id IN ({values})", *["id = 'a'"] * (MAX_CONDITIONS - 1)])
    assert matching_ids(expression) == "a"


def test_a_pattern_of_many_wildcards_is_linear() -> None:
    row = {"id": "a", "text": "a" * 5000}
    assert matching_ids("text LIKE '" + "%a" * 40 + "%b'", [row]) == ""
    assert matching_ids("text LIKE '" + "%a_" * 40 + "%'", [row]) == "a"


NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([-1.5, 0.0, 0.5, 2.0, 1e20]))
TEXTS = st.text("aAb%_ é'\n.", max_size=4)
COLUMNS = {"n": st.integers(-3, 3), "m": NUMBERS.map(float), "s": TEXTS, "t": TEXTS, "b": st.booleans()}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.one_of(st.none(), values) for name, values in COLUMNS.items()}), max_size=6
)


def _sql(value: bool | float | str) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


Pair = tuple[str, str]
"""An expression as Clew reads it, and as SQLite does, which has no ILIKE."""


@st.composite
def _conditions(draw: st.DrawFn) -> Pair:
    names, values = draw(st.sampled_from([(["n", "m"], NUMBERS), (["s", "t"], TEXTS), (["b"], st.booleans())]))
    operand = st.one_of(st.sampled_from(names), values.map(_sql))
    column = draw(st.sampled_from(names))
    negation = draw(st.sampled_from(["", "NOT "]))
    forms = [
        "compare",
        "in",
        "null",
        *(["like", "ilike"] if "s" in names else []),
        *(["between"] if "b" not in names else []),
    ]
    form = draw(st.sampled_from(forms))
    if form == "ilike":
        pattern = draw(TEXTS)
        return f"{column} {negation}ILIKE {_sql(pattern)}", f"LOWERED({column}) {negation}LIKE {_sql(pattern.lower())}"
    if form == "in":
        listed = ", ".join(draw(st.lists(values.map(_sql), min_size=1, max_size=3)))
        written = f"{column} {negation}IN ({listed})"
    elif form == "null":
        written = f"{column} IS {negation}NULL"
    elif form == "between":
        written = f"{column} {negation}BETWEEN {draw(operand)} AND {draw(operand)}"
    elif form == "like":
        written = f"{column} {negation}LIKE {_sql(draw(TEXTS))}"
    else:
        sides = draw(st.permutations([column, draw(operand)]))
        written = draw(st.sampled_from(["=", "==", "<>", "!=", "<", "<=", ">", ">="])).join(
            f" {side} " for side in sides
        )
    return written, written


def _combine(pattern: str) -> Callable[[Sequence[Pair]], Pair]:
    return lambda pairs: (pattern.format(*(pair[0] for pair in pairs)), pattern.format(*(pair[1] for pair in pairs)))


EXPRESSIONS = st.recursive(
    _conditions(),
    lambda inner: st.one_of(
        st.tuples(inner).map(_combine("NOT ({})")),
        st.tuples(inner).map(_combine("NOT {}")),
        st.tuples(inner, inner).map(_combine("{} AND {}")),
        st.tuples(inner, inner).map(_combine("({}) OR {}")),
    ),
    max_leaves=6,
)


def _by_sqlite(expression: str, rows: Sequence[dict[str, Any]]) -> list[int]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA case_sensitive_like = ON")
        connection.create_function("LOWERED", 1, lambda text: None if text is None else text.lower())
        connection.execute("CREATE TABLE rows (number INTEGER, n INTEGER, m REAL, s TEXT, t TEXT, b INTEGER)")
        values = [(number, *(row[name] for name in COLUMNS)) for number, row in enumerate(rows)]
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", values)
        actual = connection.execute(f"SELECT number FROM rows WHERE {expression} ORDER BY number").fetchall()
    return [number for (number,) in actual]


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, ROWS)
@example(("NOT (n = 1 AND s = 'a')",) * 2, [{"n": None, "m": 1.0, "s": "b", "t": "", "b": None}])
def test_agrees_with_sqlite(expression: Pair, rows: list[dict[str, Any]]) -> None:
    mask = parse_filter(expression[0]).mask(RowColumns(rows))
    assert [number for number, keep in enumerate(mask) if keep] == _by_sqlite(expression[1], rows)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("draft = 'yes'", ["'draft' has booleans, and 'yes' is a text"]),
        ("'old' <= tags AND tags = 5", ["'tags' has texts, and 5 is a number"]),
        ("lang IN (1, TRUE)", ["'lang' has texts, and 1 is a number"]),
        ("lang IN (1, 'x')", []),
        ("author.born LIKE '18%'", ["'author.born' has numbers, and '18%' is a text"]),
        ("author.born BETWEEN 'a' AND 'b'", ["'author.born' has numbers, and 'a' is a text"]),
        ("year = 'x'", []),  # it has numbers and a text
        ("nothing = 5", []),
        ("title IS NULL", []),
        ("title = year", []),
        ("number > '9'", ["'number' has numbers as texts, in the order of letters: write 9 unquoted"]),
        ("tags = '[\"ship\"]'", ["'tags' has lists, which are compared by element: write 'one' IN tags"]),
    ],
)
def test_comparisons_of_other_types_are_described(expression: str, expected: list[str]) -> None:
    rows = np.ones(len(BOOKS), dtype=bool)
    columns = RowColumns([{**row, "number": "10"} for row in BOOKS])
    assert parse_filter(expression).describe_clashes(columns, rows, frozenset()) == expected


def test_clashes_are_of_the_rows_and_fields_that_may_be_seen() -> None:
    rows = np.array([False, False, True, False])
    predicate, columns = parse_filter("year > 5 OR draft = 'x'"), RowColumns(BOOKS)
    assert predicate.describe_clashes(columns, rows, frozenset()) == ["'year' has texts, and 5 is a number"]
    assert predicate.describe_clashes(columns, rows, frozenset({"year"})) == []
