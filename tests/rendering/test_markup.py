"""Texts of a corpus in SVG and HTML."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.rendering.markup import escape_line, escape_text, shorten, strip_links, text_width, wrap
from clew.text.display import to_single_line


@given(st.text())
def test_any_text_is_the_text_of_an_element_and_of_an_attribute(text: str) -> None:
    root = ET.fromstring(f'<a b="{escape_line(text)}">{escape_text(text)}</a>')
    assert not list(root)
    assert set(root.attrib) == {"b"}


@given(st.text(), st.integers(2, 40), st.integers(1, 5))
def test_lines_are_no_wider_than_asked_and_lose_nothing_but_at_the_end(text: str, columns: int, count: int) -> None:
    lines = wrap(text, columns, count)
    assert len(lines) <= count
    assert all(text_width(line) <= columns for line in lines)
    whole = to_single_line(text).replace(" ", "")
    shown = "".join(lines).replace(" ", "")
    assert shown == whole or (shown.endswith("…") and whole.startswith(shown[:-1]))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("one two three", ["one two", "three"]),
        ("abcdefghij", ["abcdefgh", "ij"]),
        ("one two three four five", ["one two", "three f…"]),
        ("海に出た船", ["海に出た", "船"]),
    ],
)
def test_lines_break_at_spaces_where_there_are_some(text: str, lines: list[str]) -> None:
    assert wrap(text, 8, 2) == lines


def test_a_short_text_is_not_cut() -> None:
    assert shorten("four", 4) == "four"
    assert shorten("fives", 4) == "fiv…"


def test_a_link_is_its_words() -> None:
    assert strip_links("see [the ship](javascript:alert) there [1]") == "see the ship there [1]"
