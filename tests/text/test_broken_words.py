"""Words broken at a line's end, with what the rest of the document says of them."""

import pytest

from clew.text.broken_words import BREAK, BrokenWords


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
