"""Filters over the columns of an index against the same filters over rows in memory."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.query.conditions import MetadataColumns
from clew.query.filters import parse_filter
from tests.query.row_columns import RowColumns


class _Passages:
    """The columns of a snapshot that filters read."""

    def __init__(self, metadata: list[object]) -> None:
        self.metadata = [json.dumps(one) for one in metadata]
        self.passage_ids = [f"p{i}" for i in range(len(metadata))]
        self.document_ids = [f"d{i // 2}" for i in range(len(metadata))]
        self.titles = [f"Title {i % 3}" for i in range(len(metadata))]


VALUE = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["a", "b", "1"]), st.just([1, "a"]))
METADATA = st.dictionaries(st.sampled_from(["year", "lang", "a.b", "id"]), VALUE) | st.just({"a": {"b": 2}})
FILTERS = (
    "year = 1",
    "year IN (1, 2) OR lang = 'a'",
    "year = lang",
    "NOT year < 2 AND title LIKE '%1'",
    "a.b = 2",
    "year BETWEEN 0 AND a.b",
    "id = 'p1' OR document_id = 'd1'",
    "lang IS NULL AND year != 1",
    "1 = 1",
)


@settings(max_examples=200, deadline=None)
@given(st.lists(METADATA, max_size=7), st.sampled_from(FILTERS))
def test_columns_give_the_masks_of_rows(metadata: list[dict[str, object]], expression: str) -> None:
    passages = _Passages(list(metadata))
    names = zip(passages.passage_ids, passages.document_ids, passages.titles, strict=True)
    rows = [{**one, "id": i, "document_id": d, "title": t} for one, (i, d, t) in zip(metadata, names, strict=True)]
    columns = MetadataColumns(passages)  # type: ignore[arg-type]
    predicate = parse_filter(expression)
    assert predicate.mask(columns).tolist() == predicate.mask(RowColumns(rows)).tolist()
    assert predicate.unknown_fields(columns) == predicate.unknown_fields(RowColumns(rows))


def test_a_field_is_read_from_the_passages_once() -> None:
    stored: dict[str, object] = {}

    def store(name, compute):  # type: ignore[no-untyped-def]
        return stored.setdefault(name, compute())

    passages = _Passages([{"year": year} for year in (1, 2, 1)])
    first = MetadataColumns(passages, store).column("year")  # type: ignore[arg-type]
    passages.metadata = []
    again = MetadataColumns(passages, store).column("year")  # type: ignore[arg-type]
    assert list(first.values) == list(again.values) == [1, 2]
    np.testing.assert_array_equal(again.codes, [0, 1, 0])


@pytest.mark.parametrize("count", [0, 1])
def test_constants_alone(count: int) -> None:
    columns = MetadataColumns(_Passages([{}] * count))  # type: ignore[arg-type]
    assert parse_filter("1 = 2").mask(columns).tolist() == [False] * count
