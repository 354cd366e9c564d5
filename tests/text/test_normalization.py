"""Folding, tokens with their spans, and name keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.normalization import fold, key_hash, name_key, strip_parentheses, tokens, word_runs
from clew.text.token_arrays import key_hashes

ANY = st.text(st.characters())  # lone surrogates too


@given(ANY)
def test_token_spans_are_ordered_and_match_the_text(text: str) -> None:
    end = 0
    for token in tokens(text):
        assert end <= token.start < token.end <= len(text)
        assert token.key == fold(text[token.start : token.end])
        end = token.end


@given(ANY, st.integers(1, 4))
def test_runs_are_all_words_that_stand_side_by_side(text: str, most: int) -> None:
    words = tokens(text)
    runs, keys = word_runs(words, most)
    bounds = [(first, last) for first in range(len(words)) for last in range(first + 1, len(words) + 1)]
    assert runs == [(first, last) for first, last in bounds if last - first <= most]
    assert keys == [" ".join(word.key for word in words[first:last]) for first, last in runs]


@given(st.lists(ANY), st.integers(0, 2**64 - 1))
def test_hashes_of_keys_are_those_of_each(keys: list[str], salt: int) -> None:
    assert key_hashes(keys, salt).tolist() == [key_hash(key, salt) for key in keys]


@given(ANY)
def test_every_letter_and_digit_is_in_a_token(text: str) -> None:
    covered = {position for token in tokens(text) for position in range(token.start, token.end)}
    assert all(position in covered for position, letter in enumerate(text) if letter.isalnum())


@given(ANY)
def test_name_key_is_idempotent(text: str) -> None:
    key = name_key(text)
    assert name_key(text) == key
    assert bool(key) == bool(fold(text).strip())
    assert 0 <= key_hash(key) < 2**64


@pytest.mark.parametrize(
    "spellings",
    [
        ("Fram", "FRAM", "fram", "  Fram ", "“Fram”", "Fram."),
        ("The Fram", "Fram", "a Fram", "AN Fram"),
        ("São Paulo", "Sao Paulo", "SA\u0303O PAULO", "são-paulo"),
        ("Kvitøya", "KVITØYA"),
        ("Straße", "STRASSE", "strasse"),
        ("Ｆｒａｍ", "Fram"),
        ("ﬁeld", "field"),
        ("Карлскруна", "КАРЛСКРУНА"),
        ("卡尔斯克鲁纳", "卡尔斯克鲁纳。"),
        ("O'Brien", "O’Brien", "O Brien"),
        ("Smith & Sons", "Smith Sons"),
        ("👍🏽", "👍🏽 "),
    ],
)
def test_spellings_of_one_name_share_a_key(spellings: tuple[str, ...]) -> None:
    assert len({name_key(spelling) for spelling in spellings}) == 1
    assert len({key_hash(name_key(spelling)) for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fram", "Gram"),
        ("й", "и"),  # a letter of its own, not an accent
        ("ёлка", "елка"),
        ("が", "か"),
        ("किला", "कला"),  # a vowel sign
        ("The", "A"),  # articles alone are names
        ("🚢", "⛵"),
        ("C", "C 4"),
        ("1893", "1894"),
    ],
)
def test_different_names_have_different_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@pytest.mark.parametrize(("name", "key"), [("", ""), ("   ", ""), ("The", "the"), ("The The", "the"), ("?!", "?!")])
def test_keys_of_degenerate_names(name: str, key: str) -> None:
    assert name_key(name) == key


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Fram's 1893 voyage", ["the", "fram", "s", "1893", "voyage"]),
        ("snake_case", ["snake", "case"]),
        ("東京大学 2020年", ["東", "京", "大", "学", "2020", "年"]),
        ("ロンドン", ["ロ", "ン", "ド", "ン"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ภาษา", ["ภ", "า", "ษ", "า"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("한국어 말", ["한", "국", "어", "말"]),
        ("من بنى", ["من", "بنى"]),
        ("🚢", []),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert [token.key for token in tokens(text)] == words


@pytest.mark.parametrize(
    ("title", "shorter"),
    [
        ("Fram (ship)", "Fram"),
        ("Fram （船）", "Fram"),
        ("Fram (ship) ", "Fram"),
        ("Fram (ship, 1892) (film)", "Fram (ship, 1892)"),
        ("(What's the Story) Morning Glory", "(What's the Story) Morning Glory"),
        ("(ship)", "(ship)"),
        ("Fram", "Fram"),
        ("", ""),
    ],
)
def test_strip_parentheses(title: str, shorter: str) -> None:
    assert strip_parentheses(title) == shorter
