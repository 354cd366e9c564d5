"""Synonyms against a comparison of all pairs, and which names of an index are compared."""

from pathlib import Path

import numpy as np
import pytest

from clew.arrays import FloatArray
from clew.index import Index
from clew.types import Document
from clew_lab.graph import synonyms
from clew_lab.graph.synonyms import SynonymNames, are_distinguishable, find_synonyms, is_comparable, load_synonyms
from tests.small_index import make_index

SIMILAR = ("Karlskrona Naval Shipyard Museum", "Karlskrona Naval Shipyards Museum")
MENTIONED = [Document(f"m{n}", "", f"He worked in the {name} for years.") for n, name in enumerate(SIMILAR)]
TITLED = [Document(f"t{n}", name, "A house by the sea.") for n, name in enumerate(SIMILAR)]
DATED = ("Karlskrona Naval Shipyard Treaty", "Karlskrona Naval Shipyard Treaty 1963")
TREATIES = [Document("1963", DATED[1], "It was signed in Oslo."), Document("a", "", f"They signed the {DATED[0]}.")]


def make_vectors(seed: int, ties: bool) -> FloatArray:
    """Return unit vectors (60, 8); with ties their cosines are quarters, which no rounding changes."""
    random = np.random.default_rng(seed)
    if not ties:
        rows = random.normal(size=(60, 8)) + 0.6 * random.normal(size=8)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
    places = np.argsort(random.random((60, 8)), axis=1)[:, :4]
    rows = np.zeros((60, 8))
    np.put_along_axis(rows, places, random.choice([0.5, 0.5, -0.5], (60, 4)), axis=1)
    return rows.astype(np.float32)


def compare_all(
    names: list[str], vectors: FloatArray, threshold: float, limit: int, relative: bool
) -> dict[tuple[int, int], float]:
    """Return the cosines of the pairs that either end proposes, from every end's sorted list."""
    cosines = vectors.astype(np.float64) @ vectors.astype(np.float64).T
    found = {}
    for one in range(len(names)):
        ranked = sorted((-round(cosines[one, o], 9), names[o], o) for o in range(len(names)) if o != one)[:limit]
        floor = threshold * -ranked[0][0] if relative else threshold
        for negative, _, other in ranked:
            if -negative >= max(floor, 1e-6):
                found[min(one, other), max(one, other)] = -negative
    return found


@pytest.mark.parametrize("block_rows", [7, 512])
@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_those_of_every_list_sorted_on_its_own(
    seed: int, limit: int, block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synonyms, "_BLOCK_ROWS", block_rows)
    names = [f"{number:02}" for number in np.random.default_rng(seed).permutation(60).tolist()]
    for ties in (True, False):
        vectors = make_vectors(seed, ties)
        for threshold, relative in ((0.25, False), (0.5, False), (0.75, True), (1.0, True)):
            expected = compare_all(names, vectors, threshold, limit, relative)
            left, right, score = find_synonyms(names, vectors, threshold, limit, relative=relative)
            assert list(zip(left.tolist(), right.tolist(), strict=True)) == sorted(expected)
            np.testing.assert_allclose(score, [expected[pair] for pair in sorted(expected)], atol=1e-6)
            assert len(expected) > 20


@pytest.mark.parametrize("relative", [False, True])
def test_few_names_have_no_synonyms(relative: bool) -> None:
    for count in (0, 1):
        vectors = np.eye(1, dtype=np.float32)[:count]
        assert not any(map(len, find_synonyms(["a"][:count], vectors, 0.8, 100, relative=relative)))


def test_names_of_letters_are_comparable_and_those_with_digits_or_signs_alone_are_not() -> None:
    assert all(map(is_comparable, ("Fram", "Карлскруна", "卡尔斯克鲁纳", "R. M. S. Titanic", "سفينة")))
    assert not any(map(is_comparable, ("1963", "Apollo 11", "Хрущёв 1963", "٣٥", "🚢", "...", "")))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("Fram", "Vega", True), ("卡尔斯", "东京", False), ("卡尔斯", "卡尔马", True), ("Fram", "东京", False),
     ("Карлскруна", "Вега", True), ("東京 Tower", "大阪 Tower", False)],
)  # fmt: skip
def test_names_in_scripts_without_spaces_must_share_a_letter(one: str, other: str, expected: bool) -> None:
    assert are_distinguishable(one, other) is are_distinguishable(other, one) is expected


def pairs(index: Index, compared: SynonymNames = "comparable") -> set[tuple[str, str]]:
    names, found = list(index.snapshot.entities), load_synonyms(index.context, compared)
    return {(names[one], names[other]) for one in range(len(names)) for other in found.row(one).tolist()}


def test_names_of_an_index_are_joined_but_not_those_of_two_documents_or_with_digits(tmp_path: Path) -> None:
    both = {SIMILAR, SIMILAR[::-1]}
    index = make_index(tmp_path / "mentioned", MENTIONED)
    (tmp_path / "g.tsv").write_text(f"{SIMILAR[0]} Hall\tnear\t{SIMILAR[1]} Hall\n", encoding="utf-8")
    index.import_graph(tmp_path / "g.tsv")  # of names that no passage mentions
    assert pairs(index) == both
    one, other = (index.context.encoder.encode([name])[0] for name in SIMILAR)
    assert load_synonyms(index.context).weights.tolist() == pytest.approx([one @ other] * 2)
    assert pairs(make_index(tmp_path / "one", [TITLED[0], MENTIONED[1]])) == both
    titled = make_index(tmp_path / "titled", [*TITLED, *TREATIES])
    assert not pairs(titled)
    assert both | {DATED} <= pairs(titled, "all")
    assert both <= pairs(titled, "relative")
    assert not pairs(make_index(tmp_path / "none", MENTIONED, encoder="none"), "all")
