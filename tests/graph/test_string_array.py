import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.string_array import StringArray


@given(st.lists(st.text()))
def test_strings_come_back_as_they_went_in(given_: list[str]) -> None:
    packed = StringArray.pack(given_)
    assert list(packed) == given_
    assert len(packed) == len(given_)
    assert [packed[i] for i in range(len(given_))] == given_
    assert [packed[-i - 1] for i in range(len(given_))] == given_[::-1]
    assert packed[1:] == given_[1:]
    assert packed[::-2] == given_[::-2]


@pytest.mark.parametrize("strings", [[], [""], ["", "", ""], ["🚢", "", "e\u0301", "中文", "\0", "a\nb"]])
def test_empty_strings_and_signs_of_several_bytes(strings: list[str]) -> None:
    assert list(StringArray.pack(strings)) == strings


@pytest.mark.parametrize("place", [2, -3, 100])
def test_a_place_outside_is_an_index_error(place: int) -> None:
    with pytest.raises(IndexError, match=f"string {place} of 2"):
        StringArray.pack(["a", "b"])[place]
