"""Hops that retrievers take: distances against every walk, ends of paths, and a run on made data."""

import importlib
from itertools import pairwise, product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from clew.graph.csr import build_adjacency
from clew.types import Triple

BENCH = Path(__file__).parent.parent.parent / "bench"


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("gfm_hops")


def test_a_distance_is_that_of_the_shortest_walk(hops: ModuleType) -> None:
    random = np.random.default_rng(3)
    for _ in range(30):
        one, other = random.integers(0, 7, (2, 8))
        rows, columns = np.concatenate([one, other]), np.concatenate([other, one])
        graph = build_adjacency(rows, columns, np.ones(16), 7)
        edges = set(zip(rows.tolist(), columns.tolist(), strict=True))
        starts, goals = {int(random.integers(7))}, {int(random.integers(7)), int(random.integers(7))}
        walks = [
            steps
            for steps in range(4)
            for nodes in product(range(7), repeat=steps + 1)
            if nodes[0] in starts and nodes[-1] in goals and all(pair in edges for pair in pairwise(nodes))
        ]
        assert hops.distance(graph, starts, goals) == min(walks, default=4)
    assert hops.distance(graph, set(), {1}) == 4


def test_a_path_ends_where_it_does_not_come_from(hops: ModuleType) -> None:
    first, second = Triple("Vega", "built in", "Norway", ("a",)), Triple("Oslo", "lies in", "Norway", ("b",))
    assert hops.path_ends((first, second)) == {"Oslo"}
    assert hops.path_ends((first,)) == {"Vega", "Norway"}
    assert hops.path_ends((first, first)) == {"Vega", "Norway"}


def test_distributions_are_shares(hops: ModuleType, tmp_path: Path) -> None:
    assert hops.distribution([1, 2, 2, 4]) == [0.25, 0.5, 0.0, 0.25]
    shares = {"a set": {"truth": hops.distribution([2, 2]), "gfm": hops.distribution([1, 2])}}
    for name in ("one.svg", "two.svg"):
        hops.draw(tmp_path / name, shares)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.svg").read_text().lstrip().startswith("<?xml")
