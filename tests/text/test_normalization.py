"""Folding, tokens with their places, and keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.normalization import fold, key_hash, name_key, strip_parentheses, tokens

ANY = st.text(st.characters())  # lone surrogates too


@given(ANY)
def test_tokens_are_places_in_the_text_in_order(text: str) -> None:
    place = 0
    for token in tokens(text):
        assert place <= token.start < token.end <= len(text)
        assert token.key == fold(text[token.start : token.end])
        place = token.end


@given(ANY)
def test_every_letter_and_digit_is_in_a_token(text: str) -> None:
    held = {place for token in tokens(text) for place in range(token.start, token.end)}
    assert all(place in held for place, letter in enumerate(text) if letter.isalnum())


@given(ANY)
def test_folding_again_changes_nothing_for_a_key(text: str) -> None:
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
def test_different_names_do_not(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@pytest.mark.parametrize(("name", "key"), [("", ""), ("   ", ""), ("The", "the"), ("The The", "the"), ("?!", "?!")])
def test_names_with_little_in_them(name: str, key: str) -> None:
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
        ("한국어 말", ["한국어", "말"]),
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
def test_without_parentheses(title: str, shorter: str) -> None:
    assert strip_parentheses(title) == shorter
