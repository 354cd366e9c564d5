"""Synonym edges by a share of a name's best cosine, and without our exclusions, as GFM-RAG has them."""

import math
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.indexing.resolution.synonyms import find_relative_synonyms
from clew.settings import Settings
from clew.types import Document


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pairs_are_those_of_every_list_sorted_on_its_own(limit: int) -> None:
    vectors = np.random.default_rng(3).normal(size=(40, 6))
    rows = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    names = [f"name {number * 7 % 40}" for number in range(40)]
    expected: dict[tuple[int, int], float] = {}
    for one in range(40):
        scores = [
            (math.fsum(float(a) * float(b) for a, b in zip(rows[one], rows[other], strict=True)), names[other], other)
            for other in range(40)
            if other != one
        ]
        ranked = sorted(scores, key=lambda item: (-item[0], item[1]))[:limit]
        for score, _, other in ranked:
            if score > 0 and score / ranked[0][0] >= 0.8:
                expected[min(one, other), max(one, other)] = score
    left, right, cosines = find_relative_synonyms(names, rows, 0.8, limit)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == sorted(expected)
    np.testing.assert_allclose(cosines, [expected[pair] for pair in sorted(expected)], rtol=1e-6)


def test_few_names() -> None:
    for count in (0, 1):
        left, right, score = find_relative_synonyms(["a"][:count], np.eye(1, dtype=np.float32)[:count], 0.8)
        assert len(left) == len(right) == len(score) == 0


def test_equivalence_edges_without_our_exclusions(tmp_path: Path) -> None:
    documents = [
        Document("a", "Treaty of 1963", "The Treaty of 1963 was signed in Oslo."),
        Document("b", "Treaty of 1964", "The Treaty of 1964 was signed in Rome."),
    ]
    edges = {}
    for names in ("comparable", "all"):
        settings = Settings(encoder="hashing", synonym_threshold=0.3, synonym_names=names)
        index = clew.create(tmp_path / names, settings)
        assert ("synonym_names" in index.table.settings) == (names == "all")
        index.add(documents)
        s = index.snapshot
        edges[names] = {
            frozenset((s.entities[a], s.entities[b])) for a in range(len(s.entities)) for b in s.equivalences.row(a)
        }
    pair = frozenset(("Treaty of 1963", "Treaty of 1964"))
    assert pair in edges["all"] - edges["comparable"]


def test_the_relative_threshold_is_a_setting_of_an_index(tmp_path: Path) -> None:
    settings = Settings(encoder="hashing", synonym_relative=True, synonym_names="all")
    index = clew.create(tmp_path / "relative", settings)
    index.add([Document("a", "Oslo Harbour", "Oslo Harbour lies in Oslo."), Document("b", "Rome", "Rome is hot.")])
    s = index.snapshot
    names = list(s.entities)
    left, right, _ = find_relative_synonyms(names, index.context.encoder.encode(names), 0.8)
    edges = {(a, int(b)) for a in range(len(names)) for b in s.equivalences.row(a) if a < b}
    assert edges == set(zip(left.tolist(), right.tolist(), strict=True))
