"""Names near a spelling, and names that others are short for, against all names compared one by one."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.graph.similar_names import EditFloors, SimilarNames, list_name_parts
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.string_array import StringArray
from clew.text.normalization import key_hash, name_key
from tests.oracles.spellings import edit_distance, near_names

FLOORS = EditFloors()


def similar_names(*names: str, salt: int = 0, floors: EditFloors = FLOORS) -> SimilarNames:
    hashes = np.array(sorted({key_hash(name_key(name), salt) for name in names}), dtype=np.uint64)
    snapshot = SimpleNamespace(entities=StringArray.pack(names), name_hashes=hashes, salt=salt)
    return SimilarNames(list_name_parts(cast("Snapshot", snapshot), floors), floors)


def found(similar: SimilarNames, key: str) -> list[tuple[int, str]]:
    return [(name.edits, name.key) for name in similar.nearest_names(key)]


# Few letters, so that random texts are near each other; é is folded, о and 卡 are of other scripts, ि is a mark.
NAMES = st.text(st.sampled_from("abcd о卡ि"), min_size=1, max_size=18).filter(str.strip)


@settings(deadline=None, max_examples=200)
@given(st.lists(NAMES, min_size=1, max_size=30), st.lists(NAMES, min_size=1, max_size=5), st.integers(0, 3))
@example(["abcdefgh"], ["abcedfgh", "bacdefgh", "abcdefhg", "abdcfegh"], 0)  # swapped where segments meet
@example(["abcdefghijklmn"], ["abcdfeghijlkmn", "bacdefghijklnm", "abcdefghijklmnop", "cdefghijklmn"], 0)
def test_near_names_are_those_of_a_comparison_with_every_name(names: list[str], texts: list[str], salt: int) -> None:
    floors = EditFloors(3, 6)
    similar, keys = similar_names(*names, salt=salt, floors=floors), {name_key(name) for name in names}
    for key in map(name_key, texts):
        if len(key.replace(" ", "")) > 1:
            assert found(similar, key) == near_names(key, keys, 3, 6)


@settings(deadline=None, max_examples=100)
@given(st.text("abc", min_size=9, max_size=40), st.data())
def test_every_misspelling_within_the_limit_is_found(name: str, data: st.DataObject) -> None:
    floors = EditFloors(3, 9)
    letters = list(name)
    for _ in range(2):
        place = data.draw(st.integers(0, len(letters) - 2))
        kind = data.draw(st.sampled_from(["change", "leave out", "add", "swap"]))
        if kind == "swap":
            letters[place : place + 2] = letters[place : place + 2][::-1]
        else:
            letters[place : place + 1] = {"change": "x", "leave out": "", "add": "x" + letters[place]}[kind]
    near = found(similar_names(name, "other", floors=floors), "".join(letters))
    edits = edit_distance(name, "".join(letters))
    assert near == ([(edits, name)] if edits <= 2 else [])


def test_a_short_name_is_never_misspelt_and_a_longer_one_by_one_letter() -> None:
    similar = similar_names("Oslo", "Titanic", "Karlskrona Shipyard")
    assert found(similar, "oslu") == []
    assert found(similar, "titanik") == [(1, "titanic")]
    assert found(similar, "tytanik") == []
    assert found(similar, "karlskruna shipyord") == [(2, "karlskrona shipyard")]
    assert found(similar, "karlskronashipyard") == [(0, "karlskrona shipyard")]


@pytest.mark.parametrize("text", ["", "a", "x" * 500, "\ud800titanic"])
def test_odd_texts_are_near_what_a_comparison_says(text: str) -> None:
    assert found(similar_names("Titanic", "x" * 300), text) == near_names(text, ["titanic"], 5, 13)


def test_names_of_other_lengths_than_are_indexed_are_left_out() -> None:
    similar = similar_names("y" * 100, "z" * 101)
    assert found(similar, "y" * 99 + "x") == [(1, "y" * 100)]
    assert found(similar, "z" * 101) == []


def test_no_names() -> None:
    similar = similar_names()
    assert found(similar, "titanic") == []
    assert similar.full_names("j tolkien") == similar.names_with_surname("tolkien") == similar.long_forms("usa") == []


def test_what_stands_in_parentheses_may_be_left_out_where_the_index_knows_the_rest() -> None:
    hashes = np.array(sorted(key_hash(key) for key in ("vega ship", "vega", "fram ship")), dtype=np.uint64)
    entities = StringArray.pack(["Vega (ship)", "Fram (ship)"])
    snapshot = cast("Snapshot", SimpleNamespace(entities=entities, name_hashes=hashes, salt=0))
    arrays = list_name_parts(snapshot)
    assert sorted(SimilarNames(arrays).names) == ["fram ship", "vega", "vega ship"]


TOLKIENS = ("J. R. R. Tolkien", "John Francis Tolkien", "Christopher Tolkien", "Edward Alleyn")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("j tolkien", ["j r r tolkien", "john francis tolkien"]),
        ("j r tolkien", ["j r r tolkien"]),
        ("john ronald reuel tolkien", ["j r r tolkien"]),
        ("john tolkien", ["j r r tolkien", "john francis tolkien"]),
        ("c tolkien", ["christopher tolkien"]),
        ("carl tolkien", []),
        ("tolkien", []),
        ("edward alleyn", []),  # the name itself
    ],
)
def test_full_names_have_the_same_ends_and_all_words(key: str, expected: list[str]) -> None:
    assert similar_names(*TOLKIENS).full_names(key) == expected


def test_surnames_and_acronyms() -> None:
    similar = similar_names(*TOLKIENS, "National Aeronautics and Space Administration", "Bank of England", "Nasa Peak")
    assert similar.names_with_surname("alleyn") == ["edward alleyn"]
    assert len(similar.names_with_surname("tolkien")) == 3
    assert similar.names_with_surname("edward") == []
    assert similar.long_forms("nasa") == ["national aeronautics and space administration"]
    assert similar.long_forms("naasa") == ["national aeronautics and space administration"]
    assert similar.long_forms("boe") == ["bank of england"]
    assert similar.long_forms("be") == []
