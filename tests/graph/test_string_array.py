import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.string_array import StringArray


@given(st.lists(st.text()))
def test_packed_strings_equal_the_input(strings: list[str]) -> None:
    packed = StringArray.pack(strings)
    assert list(packed) == strings
    assert len(packed) == len(strings)
    assert [packed[i] for i in range(len(strings))] == strings
    assert [packed[-i - 1] for i in range(len(strings))] == strings[::-1]
    assert packed[1:] == strings[1:]
    assert packed[::-2] == strings[::-2]


@pytest.mark.parametrize("strings", [[], [""], ["", "", ""], ["🚢", "", "e\u0301", "中文", "\0", "a\nb"]])
def test_empty_strings_and_multi_byte_characters(strings: list[str]) -> None:
    assert list(StringArray.pack(strings)) == strings


@pytest.mark.parametrize("index", [2, -3, 100])
def test_an_index_out_of_range_is_an_index_error(index: int) -> None:
    with pytest.raises(IndexError, match=f"string {index} of 2"):
        StringArray.pack(["a", "b"])[index]
