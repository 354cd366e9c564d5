"""Pairs of names that are near by their letters, and are a place and its adjective, not one entity."""

import pytest

from clew.query.entity_candidates import is_adjective_of

PLACES = [
    ("america", "american"), ("russia", "russians"), ("germany", "german"), ("iceland", "icelandic"),
    ("norway", "norwegian"), ("sweden", "swedish"), ("somalia", "somali"), ("kenya", "kenyan"),
    ("china", "chinese"), ("north korea", "north korean"), ("chile", "chilean"), ("turkey", "turkish"),
]  # fmt: skip
NAMES = [
    ("johan", "johann"), ("colin archer", "colin archers"), ("south korea", "north korean"), ("fram", "framm"),
    ("norwegian", "norwegians"), ("ragna holm", "ragna holme"), ("harbour", "harbor"), ("amundsen", "amundson"),
    ("peterson", "petersen"), ("walt", "walter"), ("america", "america"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "adjective"), PLACES)
def test_a_place_and_its_adjective_are_no_duplicates(place: str, adjective: str) -> None:
    assert is_adjective_of(place, adjective)
    assert is_adjective_of(adjective, place)


@pytest.mark.parametrize(("one", "other"), NAMES)
def test_other_near_names_may_be_duplicates(one: str, other: str) -> None:
    assert not is_adjective_of(one, other)
    assert not is_adjective_of(other, one)
