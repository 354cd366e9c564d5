"""Inverted lists against a nearest centroid and a scan computed one by one, and the search by lists against a scan."""

import numpy as np
import pytest

from clew.arrays import BoolArray, FloatArray
from clew.errors import IndexFormatError
from clew.graph.segments import list_search
from clew.graph.segments.list_search import (
    ListSearch,
    flatten_lists,
    make_lists,
    nearest_centroids,
    round_rows,
    train_centroids,
    unflatten_lists,
)
from clew.graph.segments.passage_columns import PassageVectors
from clew.graph.segments.sentence_columns import make_places

WIDTH = 24


def unit_rows(count: int, seed: int, width: int = WIDTH) -> FloatArray:
    rows = np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]


def clustered(count: int, seed: int) -> FloatArray:
    random = np.random.default_rng(seed)
    rows = unit_rows(12, 0)[random.integers(0, 12, count)] + 0.1 * random.standard_normal((count, WIDTH))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]


def make_search(vectors: FloatArray, sizes: list[int], lists: int, seed: int = 0) -> ListSearch:
    """Return a search of vectors that lie in segments in an order drawn at random."""
    order = np.random.default_rng(seed).permutation(len(vectors))
    places = np.empty(len(vectors), dtype=np.int64)
    places[order] = make_places(sizes)
    parts = np.split(vectors[order], np.cumsum(sizes)[:-1])
    centroids = train_centroids(vectors, lists, 4, np.random.default_rng(1))
    return ListSearch([make_lists(part, centroids) for part in parts], centroids, PassageVectors(parts, places))


def scan(vectors: FloatArray, vector: FloatArray, k: int, allowed: BoolArray | None = None) -> list[int]:
    scores = [float(np.einsum("ij,j->i", vectors[i : i + 1], vector)[0]) for i in range(len(vectors))]
    some = range(len(vectors)) if allowed is None else np.flatnonzero(allowed).tolist()
    return sorted(some, key=lambda i: (-scores[i], i))[:k]


@pytest.fixture
def _few_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_search, "_MIN_READ", 40)


def test_lists_hold_each_row_once_at_its_nearest_centroid() -> None:
    vectors, centroids = unit_rows(200, 1), unit_rows(9, 2)
    lists = make_lists(vectors, centroids)
    for number in range(9):
        rows = lists.rows[lists.offsets[number] : lists.offsets[number + 1]].tolist()
        expected = [i for i, v in enumerate(vectors) if max(range(9), key=lambda c: float(v @ centroids[c])) == number]
        assert rows == expected
    assert np.abs(lists.codes * lists.scales[:, None] - vectors[lists.rows]).max() <= lists.scales.max() / 2 + 1e-7


def test_rounding_reaches_the_largest_value_and_takes_zeros() -> None:
    codes, scales = round_rows(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32))
    assert codes.tolist() == [[64, -127], [0, 0]]
    assert scales.tolist() == pytest.approx([1 / 127, 1.0])


def test_of_many_centroids_one_of_the_nearest_is_found() -> None:
    vectors, centroids = clustered(2000, 20), clustered(600, 21)
    found = nearest_centroids(vectors, centroids)
    products = vectors @ centroids.T
    assert (products[np.arange(2000), found] >= products.max(axis=1) - 0.1).all()
    assert (found == products.argmax(axis=1)).mean() > 0.9


def test_the_first_of_equal_centroids_is_the_nearest() -> None:
    centroids = unit_rows(1, 3).repeat(3, axis=0)
    assert nearest_centroids(unit_rows(20, 4), centroids).tolist() == [0] * 20


def test_centroids_are_of_unit_length_equal_at_each_run_and_closer_than_at_first() -> None:
    vectors = clustered(400, 5)
    one, other = (train_centroids(vectors, 12, 6, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1.0, rtol=1e-5)
    first = train_centroids(vectors, 12, 0, np.random.default_rng(7))
    assert (vectors @ one.T).max(axis=1).mean() > (vectors @ first.T).max(axis=1).mean()


def test_equal_vectors_leave_no_centroid_undefined() -> None:
    centroids = train_centroids(unit_rows(1, 3).repeat(30, axis=0), 5, 4, np.random.default_rng(0))
    assert np.isfinite(centroids).all()


@pytest.mark.parametrize("sizes", [[600], [100, 0, 500], [1, 299, 300]])
def test_reading_all_lists_gives_the_ranking_of_a_scan_to_the_last_bit(
    sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_search, "_MIN_READ", 599)
    vectors = unit_rows(600, 8)
    search = make_search(vectors, sizes, 10)
    for question in unit_rows(5, 9):
        found = search.top(question, 10, None)
        assert found.positions.tolist() == scan(vectors, question, 10)
        np.testing.assert_array_equal(found.scores, np.einsum("ij,j->i", vectors[found.positions], question))


@pytest.mark.usefixtures("_few_are_compared")
def test_a_share_of_the_passages_is_compared_and_nearly_all_of_the_best_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(list_search, "READ_SHARE", 0.1)
    vectors = clustered(3000, 10)
    search = make_search(vectors, [1000, 2000], 30)
    questions = clustered(20, 11)
    found = [search.top(question, 10, None) for question in questions]
    assert all(300 <= one.compared < 900 for one in found)
    best = [set(scan(vectors, question, 10)) for question in questions]
    shares = [len(set(one.positions.tolist()) & wanted) / 10 for one, wanted in zip(found, best, strict=True)]
    assert np.mean(shares) > 0.9


@pytest.mark.usefixtures("_few_are_compared")
@pytest.mark.parametrize("share", [0.5, 0.05, 0.01, 0.0])
def test_a_filter_searches_inside_and_compares_as_many_of_what_it_allows(share: float) -> None:
    vectors = clustered(3000, 12)
    search = make_search(vectors, [1500, 1500], 30)
    allowed = np.random.default_rng(13).random(3000) < share
    shares = []
    for question in clustered(10, 14):
        found, wanted = search.top(question, 5, allowed), scan(vectors, question, 5, allowed)
        assert allowed[found.positions].all()
        assert len(found.positions) == len(wanted)
        assert found.compared >= min(40, int(allowed.sum()))
        shares.append(len(set(found.positions.tolist()) & set(wanted)) / max(len(wanted), 1))
    assert np.mean(shares) > 0.85 or not allowed.any()


@pytest.mark.usefixtures("_few_are_compared")
def test_a_filter_far_from_the_question_reads_on_until_it_has_enough() -> None:
    vectors = clustered(3000, 15)
    search = make_search(vectors, [3000], 30)
    question = unit_rows(12, 0)[0]
    allowed = vectors @ question < 0.2
    found = search.top(question, 5, allowed)
    assert len(found.positions) == 5
    assert found.compared >= 40
    assert allowed[found.positions].all()


@pytest.mark.usefixtures("_few_are_compared")
def test_of_equal_vectors_the_first_positions_are_found() -> None:
    vectors = unit_rows(4, 16).repeat(300, axis=0)
    found = make_search(vectors, [700, 500], 4).top(vectors[400], 20, None)
    assert found.positions.tolist() == list(range(300, 320))


def test_few_passages_are_compared_exactly() -> None:
    vectors = unit_rows(50, 17)
    search = make_search(vectors, [50], 3)
    found = search.top(vectors[7], 60, None)
    assert found.positions.tolist() == scan(vectors, vectors[7], 50)
    assert found.compared == 50


def test_lists_come_back_from_their_arrays_and_other_arrays_are_refused() -> None:
    lists = make_lists(unit_rows(20, 18), unit_rows(3, 19))
    arrays = flatten_lists(lists)
    assert flatten_lists(unflatten_lists(arrays, "x")).keys() == arrays.keys()
    for broken in ({**arrays, "rows": arrays["rows"][1:]}, {k: v for k, v in arrays.items() if k != "codes"}):
        with pytest.raises(IndexFormatError, match="run `clew repair`"):
            unflatten_lists(broken, "x")
