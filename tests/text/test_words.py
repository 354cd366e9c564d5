"""Words and their letters: capitals, control characters, words in texts, words broken at a line's end."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.sources.readers.pdf import BREAK, BrokenWords
from clew.text.casing import is_uninformative, looks_like_name
from clew.text.display import escape_control, to_single_line
from clew.text.mentions import _has_word

PROSE = "The Fram left Oslo in 1893. Nansen led the expedition to the north."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROSE, False),
        (PROSE.lower(), True),
        (PROSE.upper(), True),
        ("so we went to the harbour and then the ship was gone i think", True),
        ("the fram", False),  # too short to say
        ("卡尔斯克鲁纳是瑞典的港口城市。" * 5, False),  # no capitals at all: the rules know the script
        ("москва является столицей и крупнейшим городом", False),
        ("1893 " * 40, False),
        ("", False),
    ],
)
def test_text_without_capitals_and_in_capitals(text: str, expected: bool) -> None:
    assert is_uninformative(text) is expected


CONTROLS = "a\x1b[31mb\u202ec\u2028d\x85e\x00f"


def test_control_characters_are_escaped() -> None:
    assert escape_control(CONTROLS) == "a\\x1b[31mb\\u202ec\\u2028d\\x85e\\x00f"
    assert escape_control("می‌خواهم\t日本\n👩‍🚀") == "می‌خواهم\t日本\n👩‍🚀"


def test_single_lines() -> None:
    assert to_single_line(CONTROLS) == "a [31mb c d e f"
    assert to_single_line(" a\r\n[1]  b\u2029c ") == "a [1] b c"


@given(st.text("aab_1é .名́", max_size=12), st.text("ab1é名", min_size=1, max_size=3))
def test_a_word_is_found_where_no_letter_is_next_to_it(text: str, word: str) -> None:
    assert _has_word(text, word) == (re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None)


@pytest.mark.parametrize(
    ("broken", "rest", "whole"),
    [
        ("third/order", "The third one. A term of higher order.", "third-order"),
        ("third/order", "A third-party tool puts words in order.", "third-order"),
        ("third/order", "A third-order term.", "third-order"),
        ("Data/base", "The data base of the databases.", "Database"),  # another form of the whole word
        ("recon/struct", "Nothing else.", "reconstruct"),
        ("in/deed", "The deed is in the box.", "indeed"),  # "in" tells nothing
        ("state-of-the/art", "", "state-of-the-art"),
        ("Anglo/Saxon", "", "Anglo-Saxon"),
        ("INFOR/MATION", "", "INFORMATION"),
        ("2019/2020", "", "2019-2020"),
        ("Schiff/fahrt", "Die Schifffahrten im Norden.", "Schifffahrt"),
        ("ende", "", "ende"),
    ],
)
def test_the_hyphen_stays_where_the_document_speaks_for_a_compound(broken: str, rest: str, whole: str) -> None:
    text = f"It is {broken.replace('/', BREAK)}, then."
    assert BrokenWords([rest, text]).join(text) == f"It is {whole}, then."


def test_a_break_at_the_end_is_a_hyphen() -> None:
    assert BrokenWords([]).join(f"the recon{BREAK}") == "the recon-"


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
