"""Targets of links and menus weigh nothing, and keep their place; lists of links to files beside a text are text."""

from hypothesis import given
from hypothesis import strategies as st

from clew.text.page_text import blank_unread

SAID = (
    "The Heron was built in Porto by Rui Tavares in 1901, and lost off Lund in the great storm of the year after that."
)
MENU = '* [Home](https://a.org/)\n\n* [![Logo](https://a.org/l_(1).png)](https://a.org "A")\n* [About us](/about) >'


def words(text: str) -> str:
    return " ".join(blank_unread(text).split())


def test_targets_of_links_are_not_read() -> None:
    text = f'{SAID} See [the yard](https://yards.example/porto_(old)?a=b "Yard"), ![plan](plan.png) and f](x.'
    assert words(text) == f"{SAID} See [the yard]( ), ![plan]( ) and f](x."


def test_menus_are_not_read_where_something_is_said() -> None:
    assert words(f"{MENU}\n\n{SAID}\n\n{MENU}") == SAID
    assert words(f"{MENU.splitlines()[0]}\n{SAID}") == f"* [Home]( ) {SAID}"  # one link is no menu
    assert "About us" in words(MENU)  # a list of links alone is what its page says
    assert "Gull" in words(f"{SAID}\n- [Fram](fram.md)\n- [Gull](gull.md)\n- [Maud](maud.md)")  # files beside it
    assert "1901" in words(f"{SAID}\n" + "- [Fram](https://a.org) of 1901, in Porto\n" * 4)


@given(st.text(alphabet="ab \n[]()!:/*#", max_size=200), st.booleans())
def test_every_character_keeps_its_place(text: str, is_page: bool) -> None:
    whole = f"{text}\n{SAID}\n{MENU}" if is_page else text
    read = blank_unread(whole)
    assert len(read) == len(whole)
    assert all(new in (old, " ") for old, new in zip(whole, read, strict=True))
    assert blank_unread(read) == read
