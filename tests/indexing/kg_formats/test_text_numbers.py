"""Numbers of texts: equal texts have one number, whatever the columns and their slices."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.kg_formats.text_numbers import TextNumbers

COLUMNS = st.lists(
    st.lists(st.sampled_from(["", "a", "aa", "ab", "b", "日本", "\0"]) | st.text(max_size=3)), max_size=5
)


@given(COLUMNS, st.integers(0, 3))
def test_numbers_are_those_of_a_dictionary(columns: list[list[str]], start: int) -> None:
    numbers, expected = TextNumbers(), dict[str, int]()
    for column in columns:
        array = pa.array(column, pa.string()).slice(start)
        wanted = [expected.setdefault(text, len(expected)) for text in column[start:]]
        assert numbers.number(array).tolist() == wanted
    assert list(numbers.texts()) == list(expected)
    assert len(numbers) == len(expected)


def test_many_texts() -> None:
    numbers = TextNumbers()
    texts = [f"text {number * 7919 % 5000}" for number in range(20_000)]
    parts = [numbers.number(pa.array(texts[start : start + 3000])).tolist() for start in range(0, len(texts), 3000)]
    named = list(numbers.texts())
    assert [named[number] for part in parts for number in part] == texts
    assert len(numbers) == 5000
