"""Identifiers are found whole in any spelling, before others of the same parts, and by their parts."""

import numpy as np
import pytest

from clew.text.bm25 import BM25Index, count_terms
from clew.text.identifiers import find_identifiers, identifier_terms, question_terms
from clew.text.normalization import find_terms, key_hash, name_key, tokens

TEXTS = {
    "part": "Order AX-4000-12 from the store.",
    "part reversed": "Order AX-12-4000 from the store.",
    "part other": "Order AX-4000-21 from the store.",
    "part joined": "Order AX400012 from the store.",
    "camel": "Call getUserById in the handler.",
    "snake": "Call get_group_by_id in the handler.",
    "rule": "It breaks RULE-A002 of the house.",
    "version": "Fixed in 1.2.10 at last.",
    "version other": "Fixed in 1.21.0 at last.",
    "path": r"See \\conf\main.ini for it.",
    "path other": r"See \\main\conf.ini for it.",
    "isbn": "Its number is 978-3-16-148410-0 now.",
    "hash": "Reverted by a45063a029a5adb55556 now.",
    "hyphen": "The sign-off was late.",
    "no hyphen": "The signoff was early.",
    "amount": "It costs $1,250.50 a day.",
    "c++": "It is written in C++ by hand.",
    "c++20": "It is written in C++20 by hand.",
    "c#": "It is written in C# by hand.",
    "c": "It is written in C by hand.",
    ".net": "It is written for .NET by hand.",
    "net": "It is caught in a net by hand.",
    "at&t": "The line of AT&T is cut.",
}
INDEX = BM25Index.build(TEXTS.values())


def found(question: str) -> list[str]:
    positions, _ = INDEX.top(INDEX.query(question), len(TEXTS))
    return [list(TEXTS)[position] for position in positions]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("ax-4000-12", "part"), ("AX4000-12", "part"), ("ax 4000 12", "part"), ("AX-12-4000", "part reversed"),
        ("AX400012", "part joined"), ("getuserbyid", "camel"), ("get user by id", "camel"), ("user", "camel"),
        ("GetGroupById", "snake"), ("a002", "rule"), ("1.2.10", "version"), ("v1.21.0", "version other"),
        ("conf/main.ini", "path"), ("main.ini", "path"), ("conf.ini", "path other"), ("9783161484100", "isbn"),
        ("16-148410", "isbn"), ("a45063a0", "hash"), ("sign-off", "hyphen"), ("signoff", "no hyphen"),
        ("1250.50", "amount"), ("c++", "c++"), ("C++20", "c++20"), ("c#", "c#"), ("C", "c"), (".net", ".net"),
        ("att", "at&t"),
    ],
)  # fmt: skip
def test_the_text_of_an_identifier_is_first(question: str, wanted: str) -> None:
    assert found(question)[0] == wanted


def test_a_word_with_a_hyphen_and_one_without_find_each_other() -> None:
    assert set(found("sign-off")) == set(found("signoff")) == {"hyphen", "no hyphen"}


def test_function_words_in_mixed_capitals_are_no_terms() -> None:
    assert all(question_terms("WHich of thE-iN is McThe, and what IS aNd?"))


def test_text_without_identifiers_has_the_terms_of_its_words_alone() -> None:
    text = "In the 1990s Mr. McDonald sold DVDs, 3 km away; he didn't know that (he said). It was late."
    assert list(find_identifiers(text, tokens(text))) == []
    assert set(count_terms([text]).hashes.tolist()) == {key_hash(term) for term in find_terms(text)}


def test_identifiers_add_nothing_to_the_length_of_a_text() -> None:
    counts = count_terms(["the well-known AX-4000-12 of getUserById", "the well known ax 4000 12 of getuserbyid"])
    assert counts.lengths[0] == counts.lengths[1] == 6
    assert np.diff(counts.indptr)[0] > 6


def test_names_that_differ_by_a_sign_alone_are_different() -> None:
    assert len({name_key(name) for name in ("C", "C++", "C#", "F#")}) == 4
    assert name_key("X # Y") == "x y"


def test_a_long_run_of_parts_is_bounded() -> None:
    assert len(identifier_terms("a1-" * 10_000)) < 200
