"""Which names of entities are compared, and which pairs become synonyms."""

from pathlib import Path

import pytest

import clew
from clew.index import Index
from clew.indexing.snapshot_synonyms import are_distinguishable, is_comparable
from clew.settings import Settings
from clew.types import Document
from tests.small_index import make_index


@pytest.mark.parametrize("name", ["Fram", "Карлскруна", "卡尔斯克鲁纳", "R. M. S. Titanic", "سفينة"])
def test_names_of_letters_are_comparable(name: str) -> None:
    assert is_comparable(name)


@pytest.mark.parametrize("name", ["1963", "Apollo 11", "Хрущёв 1963", "٣٥", "🚢", "...", ""])
def test_digits_and_signs_are_not_comparable(name: str) -> None:
    assert not is_comparable(name)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Fram", "Vega", True),
        ("卡尔斯", "东京", False),
        ("卡尔斯", "卡尔马", True),
        ("Fram", "东京", False),
        ("Карлскруна", "Вега", True),
        ("東京 Tower", "大阪 Tower", False),
    ],
)
def test_names_in_scripts_without_spaces_must_share_a_letter(one: str, other: str, expected: bool) -> None:
    assert are_distinguishable(one, other) is expected
    assert are_distinguishable(other, one) is expected


SIMILAR = ("Karlskrona Naval Shipyard Museum", "Karlskrona Naval Shipyards Museum")


def synonym_names(index: Index) -> set[tuple[str, str]]:
    s = index.snapshot
    names = list(s.entities)
    return {(names[one], names[int(other)]) for one in range(len(names)) for other in s.equivalences.row(one)}


def test_similar_names_are_joined_but_not_those_of_two_documents(tmp_path: Path) -> None:
    mentioned = [Document(f"m{n}", "", f"He worked in the {name} for years.") for n, name in enumerate(SIMILAR)]
    index = make_index(tmp_path / "mentioned", mentioned)
    assert synonym_names(index) == {SIMILAR, SIMILAR[::-1]}
    titled = [Document(f"t{n}", name, "A house by the sea.") for n, name in enumerate(SIMILAR)]
    assert synonym_names(make_index(tmp_path / "titled", titled)) == set()
    assert synonym_names(make_index(tmp_path / "one", [titled[0], mentioned[1]])) == {SIMILAR, SIMILAR[::-1]}
    assert synonym_names(make_index(tmp_path / "none", mentioned, encoder="none")) == set()


def test_synonyms_depend_on_the_names_alone_and_not_on_earlier_comparisons(tmp_path: Path) -> None:
    documents = [Document(f"m{n}", "", f"He worked in the {name} for years.") for n, name in enumerate(SIMILAR)]
    separate = make_index(tmp_path / "apart", documents[:1])
    separate.add(documents[1:])
    assert synonym_names(separate) == {SIMILAR, SIMILAR[::-1]}
    separate.remove(["m1"])
    assert synonym_names(separate) == set()


def test_the_threshold_of_the_index_decides_which_names_are_synonyms(tmp_path: Path) -> None:
    documents = [Document(f"m{n}", "", f"He worked in the {name} for years.") for n, name in enumerate(SIMILAR)]
    strict = clew.create(tmp_path / "strict", Settings(encoder="hashing", extractor="rules", synonym_threshold=0.999))
    strict.add(documents)
    assert synonym_names(strict) == set()
