"""Passages: exact offsets, full coverage, the limit, ids, and hostile texts."""

import string
import sys
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.indexing.chunking import Chunker, count_tokens
from clew.text.places import title_with_headings
from clew.types import Document, Passage

TEXTS = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            [
                "word ",
                "Two words. ",
                "\n\n",
                "\r\n",
                "   ",
                "\u3000",
                "漢字。",
                "مرحبا بالعالم؟ ",
                "👩‍👩‍👧",
                "e\u0301",
                "...",
                "\t\t",
            ]
        ),
        st.text(alphabet=string.whitespace + "\u2028\x85\xa0", max_size=40),
    ),
    max_size=40,
).map("".join)


def split_text(text: str, tokens: int = 256, overlap: int = 0) -> list[Passage]:
    return Chunker(tokens, overlap).split(Document("d", "T", text, {"year": 1911}))


def without_white_space(text: str) -> str:
    return "".join(text.split())


@given(TEXTS, st.integers(1, 20))
def test_passages_hold_every_character_once_in_place(text: str, tokens: int) -> None:
    passages = split_text(text, tokens)
    end = 0
    for passage in passages:
        assert passage.text == text[passage.start : passage.end]
        assert passage.text == passage.text.strip() != ""
        assert passage.start >= end
        assert count_tokens(passage.text) <= tokens
        end = passage.end
    assert without_white_space("".join(passage.text for passage in passages)) == without_white_space(text)
    assert passages == split_text(text, tokens)


@given(TEXTS, st.integers(2, 20), st.data())
def test_overlapping_passages_leave_nothing_out(text: str, tokens: int, data: st.DataObject) -> None:
    passages = split_text(text, tokens, data.draw(st.integers(1, tokens - 1)))
    assert all(passage.text == text[passage.start : passage.end] for passage in passages)
    covered = {place for passage in passages for place in range(passage.start, passage.end)}
    assert all(place in covered or text[place].isspace() for place in range(len(text)))


def test_neighbours_share_the_overlap() -> None:
    text = " ".join(f"w{number}" for number in range(100))
    passages = split_text(text, tokens=20, overlap=5)
    for one, two in pairwise(passages):
        assert two.start < one.end
        assert count_tokens(text[two.start : one.end]) == 5


def test_a_short_document_is_one_passage_with_its_id() -> None:
    (passage,) = split_text("\n  Short text. \n")
    assert passage == Passage("d", "d", "T", "Short text.", 3, 14, {"year": 1911})


def test_longer_documents_are_numbered_and_keep_title_and_metadata() -> None:
    passages = split_text("One two three. Four five six. Seven eight.", tokens=3)
    assert [(passage.id, passage.text) for passage in passages] == [
        ("d#1", "One two three."),
        ("d#2", "Four five six."),
        ("d#3", "Seven eight."),
    ]
    assert {(passage.document_id, passage.title, passage.metadata["year"]) for passage in passages} == {
        ("d", "T", 1911)
    }


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000\u2028"])
def test_white_space_has_no_passage(text: str) -> None:
    assert split_text(text) == []


def test_breaks_are_taken_at_the_ends_of_sentences_and_paragraphs() -> None:
    text = "Alpha beta gamma. Delta epsilon.\n\nZeta eta theta iota. Kappa lambda mu nu."
    assert [passage.text for passage in split_text(text, tokens=5)] == [
        "Alpha beta gamma. Delta epsilon.",
        "Zeta eta theta iota.",
        "Kappa lambda mu nu.",
    ]
    assert [passage.text for passage in split_text("一二三四。五六七。八九！十百？", tokens=5)] == [
        "一二三四。",
        "五六七。八九！",
        "十百？",
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Hello, world!", 2),
        ("snake_case and 3 figures", 4),
        ("漢字とかな", 5),
        ("漢字 and words", 4),
        ("слово שלום كلمة", 3),
        ("...", 1),
        ("." * 33, 3),
        ("a" * 160, 10),
        ("🙂" * 17, 2),
    ],
)
def test_tokens(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(TEXTS, TEXTS)
def test_a_longer_text_never_has_fewer_tokens(one: str, two: str) -> None:
    assert count_tokens(one + two) >= count_tokens(one)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "漢" * 50_000,
        "漢字仮名交じり文。" * 10_000,
        "! " * 100_000,
        '"' * 100_000,
        "a,b;" * 50_000,
        # Each of these runs of white space is another separator to semchunk, and costs one level of recursion.
        "".join("w" + " " * length for length in range(1, sys.getrecursionlimit() + 200)),
        "".join("w" + "\n" * length for length in range(1, sys.getrecursionlimit() + 200)),
        "".join("w" + "".join(run) for run in product("\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2028", repeat=3)),
    ],
    ids=["letters", "han", "sentences", "marks", "quotes", "clauses", "spaces", "lines", "kinds"],
)
def test_hostile_texts_are_cut_to_the_limit(text: str) -> None:
    passages = split_text(text)
    assert without_white_space("".join(passage.text for passage in passages)) == without_white_space(text)
    assert max(count_tokens(passage.text) for passage in passages) <= 256


def test_addresses_and_menus_take_no_room_in_passages() -> None:
    said = "A page says [something](https://pages.example/a/long/address?of=a&page) of a ship. " * 30
    menu = "* [Somewhere else](https://pages.example/)\n* [And there](https://pages.example/there)\n" * 40
    text = f"{menu}\n{said}\n{menu}"
    passages = Chunker(max_tokens=100).split(Document("d", "", text))
    assert without_white_space("".join(passage.text for passage in passages)) == without_white_space(text)
    assert sum("of a ship" in passage.text for passage in passages) == len(passages) <= 6


@pytest.mark.parametrize(("tokens", "overlap"), [(0, 0), (-1, 0), (10, 10), (10, -1)])
def test_invalid_settings_are_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(InputError, match="give"):
        Chunker(tokens, overlap)


def test_the_fingerprint_depends_on_the_settings() -> None:
    prints = {Chunker().fingerprint, Chunker(128).fingerprint, Chunker(256, 16).fingerprint}
    assert len(prints) == 3
    assert Chunker(256, 0).fingerprint == Chunker().fingerprint


def test_the_first_sentence_stands_for_a_missing_title() -> None:
    text = "The Heron is a boat of Lund. " + " ".join(f"Knot {n} holds." for n in range(60))
    first, second, *_ = Chunker(max_tokens=40).split(Document("a", "", text))
    assert title_with_headings(first.title, first.text, first.places) == ""
    assert title_with_headings(second.title, second.text, second.places) == "The Heron is a boat of Lund."
    assert not any(passage.places for passage in Chunker(max_tokens=40).split(Document("a", "Boats", text)))
    assert not any(passage.places for passage in Chunker(max_tokens=40).split(Document("a", "", "word " * 90)))
    assert not Chunker(max_tokens=400).split(Document("a", "", text))[0].places
