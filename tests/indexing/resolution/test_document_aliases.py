"""Short names in a document against hand-made examples, and acronyms against a search over all alignments."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.extraction.rule_based import RuleExtractor
from clew.indexing.resolution.document_aliases import LONG_FORM, REFERENCE, add_document_aliases
from clew.types import Extraction, Failure, Mention, Passage

FUNCTION_WORDS = ("of", "the", "and", "for", "in")


def make_passages(*texts: str, title: str = "", document: str = "d") -> list[Passage]:
    return [Passage(f"{document}#{n}", document, title, text, 0, len(text)) for n, text in enumerate(texts, 1)]


def resolve(passages: Sequence[Passage]) -> list[Extraction]:
    results = add_document_aliases(passages, RuleExtractor().extract(passages))
    assert all(isinstance(result, Extraction) for result in results)
    return [result for result in results if isinstance(result, Extraction)]


def aliases(*texts: str, title: str = "") -> list[dict[str, str]]:
    return [dict(result.aliases) for result in resolve(make_passages(*texts, title=title))]


def test_an_acronym_stands_for_its_long_form_behind_the_passage_that_defines_it() -> None:
    found = aliases(
        "WHO was not known before.",
        "The World Health Organization (WHO) was founded in 1948. The WHO grew.",
        "In 1980 WHO declared that smallpox was gone.",
    )
    assert found == [{}, {}, {"WHO": "World Health Organization"}]


def test_a_long_form_in_lower_case_becomes_a_name_where_it_stands() -> None:
    text = "Doctors use magnetic resonance imaging (MRI) here."
    first, second = resolve(make_passages(text, "Every hospital has an MRI today."))
    (long_form,) = [m for m in first.mentions if m.kind == LONG_FORM]
    assert text[long_form.start : long_form.end] == long_form.name == "magnetic resonance imaging"
    assert dict(second.aliases) == {"MRI": "magnetic resonance imaging"}


@pytest.mark.parametrize(
    ("definition", "use", "expected"),
    [
        ('Acme Shipping (hereinafter "Acme") sells ships.', "Then Acme left.", {"Acme": "Acme Shipping"}),
        ('Acme Shipping ("the Carrier") sells ships.', "Then the Carrier left.", {"Carrier": "Acme Shipping"}),
        ("Acme Shipping, hereinafter called “Acme”, sells.", "Then Acme left.", {"Acme": "Acme Shipping"}),
        ("The National Oceanic and Atmospheric Administration (NOAA) sent it.", "So NOAA knew.",
         {"NOAA": "National Oceanic and Atmospheric Administration"}),
        ("He used the GNU Privacy Guard (GnuPG).", "Then GnuPG asked.", {"GnuPG": "GNU Privacy Guard"}),
        ("The Blue Whale Trust (WHO) was founded.", "Then WHO left.", {}),
        ("The Kestrel Bridge (ABC) was opened.", "Then ABC left.", {}),
        ("The Kestrel Bridge (KB) and the Kiel Bank (KB) were opened.", "Then KB left.", {}),
        ("The British Broadcasting Corporation (in London) grew.", "London grew.", {}),
    ],
)  # fmt: skip
def test_names_in_brackets(definition: str, use: str, expected: dict[str, str]) -> None:
    assert aliases(definition, use)[1] == expected


CURIE = "Marie Curie was born in Warsaw. She found radium."


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (CURIE, "Curie won two prizes.", {"Curie": "Marie Curie"}),
        (CURIE, "The discoveries of Curie's group were many.", {"Curie": "Marie Curie"}),
        ("Dr. Ludwig van Beethoven (1770–1827) lived here.", "Then Beethoven wrote.",
         {"Beethoven": "Dr. Ludwig van Beethoven"}),
        (f"{CURIE} Pierre Curie was born in Paris, and he helped.", "Curie won two prizes.", {}),
        ("Real Madrid won again. He scored.", "Then Madrid won.", {}),
        ("Jack London wrote books. He left.", "He lived in London. London grew.", {}),
        ("Source Code is what he wrote.", "The Code is long, and a code is short.", {}),
        ("The Kestrel Bridge is long.", "Then Bridge fell.", {}),
        ("Marie Curie found radium.", "Curie won two prizes.", {}),  # nothing tells that it is a person
    ],
)  # fmt: skip
def test_surnames(first: str, second: str, expected: dict[str, str]) -> None:
    assert aliases(first, second)[1] == expected


def test_a_surname_before_its_full_name_stays_what_it_is() -> None:
    assert aliases("Curie won.", CURIE, "Curie won.") == [{}, {}, {"Curie": "Marie Curie"}]


def test_the_full_name_may_be_the_title() -> None:
    assert aliases("She found radium. Then Curie won.", title="Marie Curie (physicist)") == [{"Curie": "Marie Curie"}]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Orkla Shipping Ltd was sold.", "In 1990 the company moved.", {"the company": "Orkla Shipping Ltd"}),
        ("The University of Oslo is old.", "Then the university grew.", {"the university": "University of Oslo"}),
        ("Pearl Tide is a Norwegian rock band from Bergen.", "The band toured.", {"The band": "Pearl Tide"}),
        ("Pearl Tide is a school teacher.", "The school was closed.", {}),
        ("Acme Ltd and Beta Ltd met.", "Then the company grew.", {}),
        ("Acme Ltd was sold.", "Then the company of his brother grew.", {}),
        ("The Team of the Year was chosen.", "Then the team left.", {}),
    ],
)
def test_nouns_stand_for_the_only_thing_of_their_kind(first: str, second: str, expected: dict[str, str]) -> None:
    results = resolve(make_passages(first, second))
    assert dict(results[1].aliases) == expected
    references = [m for m in results[1].mentions if m.kind == REFERENCE]
    assert [second[m.start : m.end] for m in references] == [m.name for m in references] == list(expected)


def test_a_document_with_a_title_speaks_of_that() -> None:
    texts = ("Philadelphia was far from New York City.", "Then the city grew.")
    assert aliases(*texts, title="Philadelphia")[1] == {}
    assert aliases(*texts, title="notes-1999")[1] == {"the city": "New York City"}  # as of a file


def test_documents_are_apart() -> None:
    passages = [
        *make_passages(CURIE, "Curie won.", document="a"),
        *make_passages("Curie won.", document="b"),
        *make_passages("Eve Curie was born in Paris. She wrote.", "Curie won.", document="c"),
    ]
    found = [dict(result.aliases) for result in resolve(passages)]
    assert found == [{}, {"Curie": "Marie Curie"}, {}, {}, {"Curie": "Eve Curie"}]


def test_mentions_stay_and_a_second_call_changes_nothing() -> None:
    passages = make_passages(
        "The World Health Organization (WHO) met. We use deep water sonar (DWS) and Orkla Ltd.",
        "Then WHO and DWS left, and the company stayed.",
    )
    before = RuleExtractor().extract(passages)
    once = resolve(passages)
    assert add_document_aliases(passages, once) == once
    for old, new in zip(before, once, strict=True):
        assert isinstance(old, Extraction)
        assert [m for m in new.mentions if m.kind not in (REFERENCE, LONG_FORM)] == list(old.mentions)
        assert new.triples == old.triples
        assert list(new.mentions) == sorted(new.mentions, key=lambda m: m.start)


def test_a_failed_passage_stays_failed_and_its_text_still_defines() -> None:
    passages = make_passages("The World Health Organization (WHO) met.", "Then WHO left.")
    failure = Failure(passages[0].id, "no reply")
    results = add_document_aliases(passages, [failure, *RuleExtractor().extract(passages[1:])])
    assert results[0] == failure
    assert isinstance(results[1], Extraction)
    assert dict(results[1].aliases) == {"WHO": "World Health Organization"}


def test_names_without_places_have_aliases() -> None:
    passages = make_passages("Marie Curie was born in Warsaw. She won.", "Curie left.")
    stated = [Extraction((Mention("Marie Curie"),)), Extraction((), (("Curie", "left", "Warsaw"),))]
    results = add_document_aliases(passages, stated)
    assert isinstance(results[1], Extraction)
    assert dict(results[1].aliases) == {}  # without its place, nothing near the full name can be read


def is_alignment(words: Sequence[str], letters: str) -> bool:
    """Return whether letters are made of words: each gives its first letter and others in order, or is left out."""
    if not words:
        return not letters
    word, rest = words[0], words[1:]
    if word in FUNCTION_WORDS and is_alignment(rest, letters):
        return True
    return any(
        letters[:size][:1] == word[:1] and is_subsequence(letters[:size], word) and is_alignment(rest, letters[size:])
        for size in range(1, len(letters) + 1)
    )


def is_subsequence(letters: str, word: str) -> bool:
    characters = iter(word)
    return all(letter in characters for letter in letters)


def expected_long_form(words: Sequence[str], short: str) -> str | None:
    """Return the shortest run of last words, of two at least, that align with a short form and begin with one."""
    letters = short.lower()
    for size in range(1, len(words) + 1):
        run = words[-size:]
        first, rest = run[0], run[1:]
        begins = any(
            first[0] == letters[0] and is_subsequence(letters[:n], first) and is_alignment(rest, letters[n:])
            for n in range(1, len(letters) + 1)
        )
        if begins:
            return " ".join(run) if size > 1 else None
    return None


@given(
    st.lists(st.sampled_from((*FUNCTION_WORDS, "abbey", "bank", "cab", "abacus", "crab", "bazaar")), max_size=6),
    st.text("ABCZ", min_size=2, max_size=5),
)
def test_acronyms_equal_a_search_over_all_alignments(words: list[str], short: str) -> None:
    text = f"Yes; {' '.join(words)} ({short}) is here."
    result = resolve(make_passages(text, f"So the {short} is it."))[1]
    expected = expected_long_form(words[-min(len(short) + 5, 2 * len(short)) :], short) if words else None
    found = dict(result.aliases).get(short)
    assert found == (None if expected is None else expected), (text, found, expected)
