"""Entities of paths, against the walks that the paths were built from."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.paths.simple_paths import path_entities
from clew.types import Triple

A_B, B_A, B_C, C_B, A_A = (Triple(h, "r", t) for h, t in ("AB", "BA", "BC", "CB", "AA"))


@pytest.mark.parametrize(
    ("path", "entities"),
    [
        ((A_B,), "AB"),
        ((A_B, B_C), "ABC"),
        ((B_A, B_C), "ABC"),
        ((A_B, C_B), "ABC"),
        ((B_A, C_B), "ABC"),
        ((C_B, A_B), "CBA"),
        ((A_A,), "AA"),
        ((A_A, A_B), "AAB"),
        ((A_B, A_A), "BAA"),
        ((A_A, A_A, B_A), "AAAB"),
    ],
)
def test_triples_determine_the_direction(path: tuple[Triple, ...], entities: str) -> None:
    assert path_entities(path) == tuple(entities)


def test_one_fact_starts_at_its_head_unless_only_its_tail_is_a_topic() -> None:
    assert path_entities((A_B,)) == path_entities((A_B,), ["A"]) == path_entities((A_B,), ["A", "B"]) == ("A", "B")
    assert path_entities((A_B,), ["C"]) == ("A", "B")
    assert path_entities((A_B,), ["B"]) == ("B", "A")


def test_there_and_back_starts_at_the_topic() -> None:
    for path in ((A_B, B_A), (A_B, A_B)):
        assert path_entities(path) == path_entities(path, ["A"]) == path_entities(path, ["B", "A"]) == ("A", "B", "A")
        assert path_entities(path, ["B"]) == ("B", "A", "B")
    assert path_entities((B_A, A_B), ["A"]) == ("A", "B", "A")


def test_topics_do_not_matter_where_the_triples_decide() -> None:
    assert path_entities((A_B, B_C), ["C"]) == path_entities((A_B, B_C), ["B"]) == ("A", "B", "C")


@settings(max_examples=300)
@given(st.integers(1, 5), st.integers(2, 4), st.randoms(use_true_random=False))
def test_a_walk_is_recovered_from_its_triples_and_its_start(hops: int, names: int, rng: random.Random) -> None:
    walk = [rng.choice("ABCD"[:names]) for _ in range(hops + 1)]
    path = tuple(
        Triple(*((one, "r", other) if rng.random() < 0.5 else (other, "r", one))) for one, other in pairwise(walk)
    )
    assert path_entities(path, walk[:1]) == tuple(walk)


@pytest.mark.parametrize("topics", [(), ("A", "B")])
def test_a_later_fact_determines_the_start(topics: tuple[str, ...]) -> None:
    assert path_entities((B_A, A_B, B_C), topics) == ("B", "A", "B", "C")
    assert path_entities((A_B, B_A, B_C), topics) == ("B", "A", "B", "C")
