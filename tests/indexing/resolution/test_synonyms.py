"""Synonym edges compared with a brute-force search, and later runs compared with runs without a cache."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew.arrays.mapped_files import VectorFile
from clew.errors import InputError
from clew.graph.string_array import StringArray
from clew.indexing.resolution import pair_cache, synonyms
from clew.indexing.resolution.pair_cache import PairCache, load_pairs, save_pairs
from clew.indexing.resolution.synonyms import Synonyms, find_synonyms

if TYPE_CHECKING:
    from clew.types import FloatArray


def normalise(rows: NDArray[np.floating[Any]]) -> "FloatArray":
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def make_grid(count: int) -> "FloatArray":
    """Return vectors whose cosines are exact quarters, so that there are many ties and no rounding."""
    rows = []
    for number in range(count):
        row = [0.0] * 8
        for index in range(4):
            row[(number // 3 + index * (1 + number % 2)) % 8] += 0.5 if number >> index & 1 else -0.5
        rows.append(row if math.isclose(sum(x * x for x in row), 1) else [0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0])
    return np.asarray(rows, dtype=np.float32)


def brute_force(names: list[str], vectors: "FloatArray", tau: float, limit: int) -> list[tuple[int, int, float]]:
    """Compute every pair on its own and sort every list completely."""
    neighbours: list[list[tuple[float, str, int]]] = [[] for _ in names]
    for one in range(len(names)):
        for other in range(len(names)):
            cosine = math.fsum(float(x) * float(y) for x, y in zip(vectors[one], vectors[other], strict=True))
            if one != other and cosine >= tau:
                neighbours[one].append((-float(np.float32(cosine)), names[other], other))
    edges = {}
    for one, pairs in enumerate(neighbours):
        for negative, _, other in sorted(pairs)[:limit]:
            edges[min(one, other), max(one, other)] = -negative
    return [(*pair, edges[pair]) for pair in sorted(edges)]


def to_list(pairs: Synonyms) -> list[tuple[int, int, float]]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.score.tolist(), strict=True))


def assert_same(one: Synonyms, other: Synonyms) -> None:
    for name in ("left", "right", "score"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.fixture(params=[(1024, 4096, 2_000_000), (3, 7, 5)], ids=["large blocks", "small blocks"])
def block_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, columns, pool = request.param
    monkeypatch.setattr(synonyms, "_BLOCK_ROWS", rows)
    monkeypatch.setattr(synonyms, "_BLOCK_COLUMNS", columns)
    monkeypatch.setattr(synonyms, "_MAX_PENDING_PAIRS", pool)


@pytest.mark.usefixtures("block_sizes")
@pytest.mark.parametrize("limit", [1, 2, 5, 100])
@pytest.mark.parametrize("tau", [0.25, 0.5, 0.75, 1.0])
def test_pairs_with_many_ties_equal_the_slow_version(tau: float, limit: int) -> None:
    vectors = make_grid(60)
    names = [f"{number * 37 % 60:02}" for number in range(60)]
    assert to_list(find_synonyms(names, vectors, tau, limit)) == brute_force(names, vectors, tau, limit)


@pytest.mark.usefixtures("block_sizes")
@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pairs_of_close_vectors_equal_the_slow_version(limit: int) -> None:
    random = np.random.default_rng(5)
    vectors = normalise(random.normal(size=(1, 40)) + random.normal(size=(70, 40)))
    names = [f"name {number}" for number in range(70)]
    pairs = find_synonyms(names, vectors, 0.45, limit)
    want = brute_force(names, vectors, 0.45, limit)
    assert len(want) > 50
    assert [pair[:2] for pair in to_list(pairs)] == [pair[:2] for pair in want]
    np.testing.assert_allclose(pairs.score, [pair[2] for pair in want], atol=1e-7)
    assert [array.dtype.name for array in (pairs.left, pairs.right, pairs.score)] == ["int32", "int32", "float32"]


BANK = np.concatenate([make_grid(30), normalise(np.random.default_rng(2).normal(size=(30, 8)) + 1)])
SETS = st.lists(st.sets(st.integers(0, len(BANK) - 1)), min_size=1, max_size=5)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1024, 4096, 2_000_000), (4, 9, 3), (1, 9, 3)], ids=["large", "small", "one row"])
@settings(deadline=None, max_examples=100)
@given(versions=SETS, limit=st.sampled_from([1, 2, 4]), tau=st.sampled_from([0.25, 0.5, 0.9]), seed=st.integers(0, 9))
def test_a_later_run_equals_a_run_without_a_cache(
    sizes: tuple[int, int, int], versions: list[set[int]], limit: int, tau: float, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in zip(("_BLOCK_ROWS", "_BLOCK_COLUMNS", "_MAX_PENDING_PAIRS"), sizes, strict=True):
            patch.setattr(synonyms, name, size)
        cache: PairCache | None = None
        for number, version in enumerate(versions):
            members = np.random.default_rng(seed + number).permutation(sorted(version)).astype(np.int64)
            names = [f"{member * 17 % 60:02}" for member in members.tolist()]
            pairs = find_synonyms(names, BANK[members], tau, limit, cache)
            assert_same(pairs, find_synonyms(names, BANK[members], tau, limit))
            cache = pairs.cache


@settings(deadline=None, max_examples=100)
@given(versions=SETS, limit=st.sampled_from([1, 2, 4]), tau=st.sampled_from([0.25, 0.5, 0.9]), seed=st.integers(0, 9))
def test_a_later_run_by_lists_equals_one_without_a_cache_and_finds_pairs_of_the_exact_search(
    versions: list[set[int]], limit: int, tau: float, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synonyms, "EXACT_NAMES", 0)
        patch.setattr(synonyms, "count_lists", lambda _names: 32)
        cache: PairCache | None = None
        for number, version in enumerate(versions):
            members = np.random.default_rng(seed + number).permutation(sorted(version)).astype(np.int64)
            names = [f"{member * 17 % 60:02}" for member in members.tolist()]
            pairs = find_synonyms(names, BANK[members], tau, limit, cache)
            assert_same(pairs, find_synonyms(names, BANK[members], tau, limit))
            cache = pairs.cache
            every = {pair[:2] for pair in brute_force(names, BANK[members], tau, len(names))}
            assert {pair[:2] for pair in to_list(pairs)} <= every


def test_lists_find_nearly_all_pairs_of_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    centres = normalise(random.normal(size=(600, 64)))
    vectors = normalise(np.repeat(centres, 3, axis=0) + 0.05 * random.normal(size=(1800, 64)))
    names = [f"{number:04}" for number in range(1800)]
    exact = {pair[:2] for pair in to_list(find_synonyms(names, vectors, 0.8))}
    monkeypatch.setattr(synonyms, "EXACT_NAMES", 1000)
    found = {pair[:2] for pair in to_list(find_synonyms(names, vectors, 0.8))}
    assert found <= exact
    assert len(found) > 0.97 * len(exact) > 1500


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("rows", [1, 1024])
def test_a_cut_list_that_lost_its_best_is_searched_again(rows: int, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synonyms, "_BLOCK_ROWS", rows)  # one row: blocks are not pruned, only the collected pairs
    angles = np.linspace(0, 0.5, 40)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    names = [f"{number:02}" for number in range(40)]
    first = find_synonyms(names[::step], vectors[::step], 0.8, 2)
    assert (first.cache.floor > 0).any()
    for removed in range(1, 30):
        rest = [0, *range(removed + 1, 40)][::step]
        names_left = [names[row] for row in rest]
        later = find_synonyms(names_left, vectors[rest], 0.8, 2, first.cache)
        assert_same(later, find_synonyms(names_left, vectors[rest], 0.8, 2))


def test_a_name_with_a_new_vector_counts_as_new() -> None:
    vectors = make_grid(20)
    names = [f"{number}" for number in range(20)]
    cache = find_synonyms(names, vectors, 0.5, 3).cache
    changed = vectors[::-1].copy()
    assert_same(find_synonyms(names, changed, 0.5, 3, cache), find_synonyms(names, changed, 0.5, 3))


def test_known_pairs_of_another_threshold_or_limit_are_not_used() -> None:
    vectors = make_grid(40)
    names = [f"{number}" for number in range(40)]
    cache = find_synonyms(names, vectors, 0.9, 1).cache
    assert_same(find_synonyms(names, vectors, 0.25, 1, cache), find_synonyms(names, vectors, 0.25, 1))
    assert_same(find_synonyms(names, vectors, 0.9, 3, cache), find_synonyms(names, vectors, 0.9, 3))


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_the_cache_of_names_with_equal_vectors_stays_bounded(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synonyms, "_BLOCK_ROWS", 128)
    monkeypatch.setattr(synonyms, "_BLOCK_COLUMNS", 256)
    monkeypatch.setattr(synonyms, "_MAX_PENDING_PAIRS", 5000)
    count, limit = 700, 5
    random = np.random.default_rng(0)
    vectors = normalise(random.normal(size=(1, 24)) + spread * random.normal(size=(count, 24)))
    pairs = find_synonyms([f"{number:04}" for number in range(count)], vectors, 0.5, limit)
    assert len(pairs.cache.left) <= 2 * limit * count
    assert len(pairs.left) <= limit * count
    assert np.bincount(np.concatenate([pairs.left, pairs.right]), minlength=count).min() >= limit


def test_known_pairs_come_back_from_disk_with_the_same_bytes(tmp_path: Path) -> None:
    names = [f"{number}" for number in range(40)]
    cache = find_synonyms(names, make_grid(40), 0.5, 2).cache
    for folder in ("one", "two"):
        save_pairs(cache, tmp_path / folder)
    back = load_pairs(tmp_path / "one")
    assert back is not None
    assert (back.threshold, back.limit) == (0.5, 2)
    for name in ("keys", "left", "right", "score", "floor"):
        np.testing.assert_array_equal(getattr(back, name), getattr(cache, name))
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)
    assert_same(
        find_synonyms(names[:30], make_grid(40)[:30], 0.5, 2, back),
        find_synonyms(names[:30], make_grid(40)[:30], 0.5, 2),
    )


def test_known_pairs_of_another_version_are_none(tmp_path: Path) -> None:
    cache = find_synonyms(["a", "b"], make_grid(2), 0.25).cache
    assert load_pairs(tmp_path) is None
    for settings_ in ([3.0, 0.5, 1.0, 0.0], [1.0, 0.5]):
        save_pairs(cache, tmp_path)
        assert load_pairs(tmp_path) is not None
        np.save(tmp_path / "settings.npy", np.asarray(settings_))
        assert load_pairs(tmp_path) is None
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        save_pairs(cache, tmp_path / "file")


def test_few_names_and_no_vectors_give_no_pairs() -> None:
    for names, vectors in (([], np.empty((0, 4))), (["a"], [[1.0, 0.0]]), (["a", "b"], np.empty((2, 0)))):
        rows = np.asarray(vectors, dtype=np.float32)
        pairs = find_synonyms(names, rows, 0.8)
        assert to_list(pairs) == []
        assert to_list(find_synonyms(names, rows, 0.8, cache=pairs.cache)) == []


class _NotedRows:
    """The rows of an array, and how many were read at once."""

    def __init__(self, rows: "FloatArray") -> None:
        self.shape = rows.shape
        self.most = 0
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Any) -> "FloatArray":
        found: FloatArray = self._rows[rows]
        self.most = max(self.most, len(found))
        return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_many_names_are_compared_by_blocks_as_whole_arrays_are(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors in a file and packed names give the pairs of an array and a list, and no more than a block is read."""
    monkeypatch.setattr(synonyms, "EXACT_NAMES", 100)
    monkeypatch.setattr(synonyms, "_BLOCK_ROWS", 32)
    monkeypatch.setattr(synonyms, "_BLOCK_COLUMNS", 64)
    monkeypatch.setattr(pair_cache, "_BLOCK_SUMS", 64 * 16)
    random = np.random.default_rng(seed)
    centres = normalise(random.normal(size=(200, 16)))
    vectors = normalise(np.repeat(centres, 3, axis=0) + 0.1 * random.normal(size=(600, 16)))
    vectors[::7] = vectors[0]  # equal vectors
    names = [f"{'é' if number % 3 else 'z'}{number * 37 % 600}" for number in range(600)]
    expected = find_synonyms(names, vectors, 0.7, 2)
    file = VectorFile(tmp_path / "vectors", *vectors.shape)
    file[:] = vectors
    noted = _NotedRows(vectors)
    for rows in (file, cast("VectorFile", noted)):
        for cache in (None, find_synonyms(names[:400], vectors[:400], 0.7, 2).cache):
            found = find_synonyms(StringArray.pack(names), rows, 0.7, 2, cache)
            assert_same(found, expected)
            np.testing.assert_array_equal(found.cache.keys, expected.cache.keys)
    assert noted.most <= 128  # pairs are computed 128 at a time
    assert len(expected.left) > 200
