from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.store.integrity import row_checksums
from clew.store.schema import PassageRow, canonical_json, passages_schema, rows_to_table
from tests.store.rows import WIDTH, make_documents, make_row


def test_columns_hold_the_rows_values() -> None:
    table = rows_to_table([make_row("a", 0), make_row("a", 1)], WIDTH)
    assert table.schema.equals(passages_schema(WIDTH))
    first = table.to_pylist()[0]
    assert first["metadata"] == '{"lang":"日本","year":1990}'
    assert first["mentions"][1] == {"name": "elsewhere", "kind": "name", "start": -1, "end": -1}
    assert first["triples"] == [{"head": "London", "relation": "is", "tail": "passage 0"}]
    assert (first["failure"], first["vector"]) == ("no reply", [1, 0, 0, 0])
    assert table["vector"].to_pylist()[1] is None


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            PassageRow("a#0", "a", 0, "", "text", 0, 4, vector=np.ones(3, np.float32)),
            r"shape \(3,\), the index wants \(4,\)",
        ),
        (PassageRow("a#0", "a", 0, "", "\ud800", 0, 1), "text holds a character that UTF-8 cannot encode"),
        (PassageRow("a#0", "a", 0, "", "text", 0, 4, {"x": float("nan")}), "metadata of 'a'"),
        (PassageRow("a#0", "a", 1 << 40, "", "text", 0, 4), "ordinal holds a value that is not int32"),
    ],
)
def test_a_value_that_cannot_be_stored_is_named(bad: PassageRow, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rows_to_table([bad], WIDTH)


def test_equal_mappings_have_one_form() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}, "x") == canonical_json({"a": None, "b": [1, "é"]}, "x")


def test_checksums_differ_for_every_column() -> None:
    plain = make_documents(("a", 2))
    base = row_checksums(plain)
    for name in plain.column_names:
        values = plain[name].to_pylist()
        swapped = plain.set_column(
            plain.column_names.index(name), plain.schema.field(name), pa.array(values[::-1], type=plain[name].type)
        )
        changed = row_checksums(swapped)
        same = values[0] == values[1]
        assert (changed == base) is same, name


def test_moving_a_letter_between_neighbours_changes_the_checksum() -> None:
    schema = pa.schema([("left", pa.list_(pa.string())), ("right", pa.string())])
    rows: list[dict[str, object]] = [
        {"left": ["ab", "c"], "right": "d"},
        {"left": ["a", "bc"], "right": "d"},
        {"left": ["abc"], "right": "d"},
        {"left": ["ab"], "right": "cd"},
        {"left": ["abc", ""], "right": "d"},
        {"left": [], "right": "abcd"},
        {"left": [], "right": None},
        {"left": [], "right": ""},
    ]
    assert len(set(row_checksums(pa.Table.from_pylist(rows, schema=schema)))) == len(rows)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 8), max_size=8), st.randoms(use_true_random=False))
def test_checksums_depend_on_neither_order_nor_chunks(ordinals: list[int], random: Random) -> None:
    table = rows_to_table([make_row("d", n, id_=f"{place}") for place, n in enumerate(ordinals)], WIDTH)
    expected = row_checksums(table)
    order = list(range(table.num_rows))
    random.shuffle(order)
    pieces = pa.concat_tables([table.slice(place, 1) for place in order] or [table])
    assert row_checksums(pieces) == [expected[place] for place in order]
    assert row_checksums(table.select(table.column_names[::-1])) == expected
