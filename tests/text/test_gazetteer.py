"""Gazetteer matches against a slow search over all runs of words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.gazetteer import COMMON_WORDS, Gazetteer, Match, looks_like_name
from clew.text.normalization import name_key, tokens

WORDS = st.sampled_from(["Oslo", "Bay", "bay", "of", "New", "the", "Fram", "fram", "Ö", "7"])
NAMES = st.lists(st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), max_size=3), max_size=6)
TEXTS = st.lists(WORDS, max_size=15).map(" ".join)


def find_slowly(names: list[list[str]], text: str, candidates: int) -> list[Match]:
    targets: dict[str, list[int]] = {}
    for number, variants in enumerate(names):
        for key in sorted({name_key(variant) for variant in variants}):
            targets.setdefault(key, []).append(number)
    words, matches, position = tokens(text), [], 0
    while position < len(words):
        for length in range(len(words) - position, 0, -1):
            run = words[position : position + length]
            key, surface = " ".join(word.key for word in run), text[run[0].start : run[-1].end]
            small = length <= 2 and not (surface[0].isupper() or surface[0].isdigit())
            if key in COMMON_WORDS or small or not 0 < len(targets.get(key, ())) <= candidates:
                continue
            matches.append(Match(run[0].start, run[-1].end, tuple(targets[key])))
            position += length - 1
            break
        position += 1
    return matches


@given(NAMES, TEXTS, st.integers(1, 3))
def test_matches_equal_a_slow_search(names: list[list[str]], text: str, candidates: int) -> None:
    assert Gazetteer(names, candidates).find(text) == find_slowly(names, text, candidates)


def find_names(names: list[list[str]], text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(text[m.start : m.end], m.targets) for m in Gazetteer(names).find(text)]


@pytest.mark.parametrize(
    ("names", "text", "wanted"),
    [
        pytest.param([["Oslo"], ["University of Oslo"]], "the University of Oslo in Oslo",
                     [("University of Oslo", (1,)), ("Oslo", (0,))], id="longest first"),
        pytest.param([["New York"], ["York Minster"]], "New York Minster", [("New York", (0,))], id="left to right"),
        pytest.param([["Córdoba"]], "Cordoba, CÓRDOBA", [("Cordoba", (0,)), ("CÓRDOBA", (0,))], id="folded"),
        pytest.param([["Mercury"], ["Mercury"]], "Mercury rose", [("Mercury", (0, 1))], id="ambiguous"),
        pytest.param([["Mercury"]] * 5, "Mercury rose", [], id="too ambiguous"),
        pytest.param([["It"], ["War and Peace"]], "It was war, It said, War and Peace",
                     [("War and Peace", (1,))], id="common words"),
        pytest.param([["Fox"], ["Grey Fox"], ["the old grey fox"]], "a fox, a grey fox, the old grey fox",
                     [("old grey fox", (2,))], id="short names need a capital"),
        pytest.param([["The Fram"]], "the Fram and Fram", [("Fram", (0,)), ("Fram", (0,))], id="articles are left out"),
        pytest.param([["東京大学"], ["東京"]], "東京大学に。東京は", [("東京大学", (0,)), ("東京", (1,))], id="CJK"),
        pytest.param([["Карлскруна"]], "в городе Карлскруна.", [("Карлскруна", (0,))], id="Russian"),
        pytest.param([["سفينة فيغا"]], "بنيت سفينة فيغا هنا", [("سفينة فيغا", (0,))], id="Arabic"),
        pytest.param([["🚢"], [""], ["  "]], "a 🚢 here", [], id="no letters"),
        pytest.param([["St. John's"]], "St John’s and St. John's", [("St John’s", (0,)), ("St. John's", (0,))],
                     id="punctuation"),
        pytest.param([["Fram", "Fram (ship)", "FRAM"]], "Fram", [("Fram", (0,))], id="one thing once"),
    ],
)  # fmt: skip
def test_the_longest_known_names_are_found(
    names: list[list[str]], text: str, wanted: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert find_names(names, text) == wanted


def test_length_is_the_number_of_names() -> None:
    assert len(Gazetteer([["Fox", "Reynard"], ["Fox"], ["It", ""]])) == 2


@pytest.mark.parametrize(
    ("surface", "name"),
    [
        ("Fox", True),
        ("fox", False),
        ("7 men", True),
        ("東京", True),
        ("فرام", True),
        ("ßa", False),
        ("", False),
        ("-", False),
    ],
)
def test_a_capital_or_a_letter_without_case_looks_like_a_name(surface: str, name: bool) -> None:
    assert looks_like_name(surface) is name
