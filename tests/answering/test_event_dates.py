"""Years of the events that comparisons ask for, and the sentences that prove them."""

import pytest

from clew.answering.event_dates import find_compared_event, find_event_year
from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.verdicts import dates_are_of_event, decide_option, decide_yes_or_no, decides_surely
from tests.answering.test_extractive import evidence
from tests.answering.test_verdicts import sentences_of

OTTO = ("Otto Lind", "Otto Lind (1 May 1902 – 2 June 1940) was a Swedish baker.")


@pytest.mark.parametrize(
    ("question", "text", "year"),
    [
        ("Who was born first?", "Vik Dahl (1871 – 1930) was a baker.", 1871),
        ("Who was born first?", "Vik Dahl (born 1871 in Os) was a baker.", 1871),
        ("Who was born first?", "Vik Dahl was a baker, born in Os on 3 May 1871.", 1871),
        ("Who is older?", "He was born in 1871.", 1871),
        ("Who was born first?", "Vik Dahl (reigned 1871 – 1930) was a king.", None),
        ("Who was born first?", "Vik Dahl died in 1930.", None),
        ("Who was born first?", "Vik Dahl won the prize of 1899.", None),
        ("Who was born first?", "A son was born in 1899 to the baker.", None),
        ("Who died first?", "Vik Dahl (1871 – 1930) was a baker.", 1930),
        ("Who died first?", "Vik Dahl won a prize in 1890 and died in 1930.", 1930),
        ("Which was founded first?", "Vik Dahl is a firm founded in 1901 and bought in 1950.", 1901),
        ("Which was founded first?", "Founded in 1901, Vik Dahl makes bread.", 1901),
        ("Which was founded first?", "Vik Dahl was bought in 1950.", None),
        ("Which was released first?", "Vik Dahl is a 1950 drama film.", 1950),
        ("Which film came out first?", "Vik Dahl was released in 1950.", 1950),
        ("Which was burned down first?", "Vik Dahl was built in 1901 and burned in 1920.", 1920),
    ],
)
def test_the_year_is_that_of_the_event(question: str, text: str, year: int | None) -> None:
    (sentence,) = sentences_of(("Vik Dahl", text))
    assert find_event_year(find_compared_event(question), sentence) == year


@pytest.mark.parametrize(
    "other", ["Nils Dahl died in 1890 in Os.", "Nils Dahl founded a school in 1890.", "Nils Dahl won a prize in 1890."]
)
def test_a_birth_is_not_compared_with_another_event(other: str) -> None:
    question = "Who was born first, Nils Dahl or Otto Lind?"
    options = decide_option(question, sentences_of(("Nils Dahl", other), OTTO))
    assert not options or not dates_are_of_event(question, options)
    answer = ExtractiveAnswerer().answer_one(question, evidence(("Nils Dahl", other), OTTO))
    assert answer.weak


def test_one_year_for_both_decides_nothing_surely() -> None:
    question = "Who was born first, Nils Dahl or Otto Lind?"
    options = decide_option(question, sentences_of(("Nils Dahl", "Nils Dahl was born in 1902."), OTTO))
    assert not dates_are_of_event(question, options)


def test_the_quotes_of_a_comparison_hold_what_is_compared() -> None:
    """A plain text opens with its title, a line of its own that proves nothing."""
    nils = ("Nils Dahl", "Nils Dahl\n\nHe was born in 1880 in Os, and was a Norwegian captain.")
    otto = ("Otto Lind", "Otto Lind\n\nHe was born in 1902, and was a Swedish baker.")
    answer = ExtractiveAnswerer().answer_one("Who was born first, Nils Dahl or Otto Lind?", evidence(nils, otto))
    assert (answer.text, answer.weak) == ("Nils Dahl", False)
    assert [("1880" in quote.quote, "1902" in quote.quote) for quote in answer.citations[:2]] == [
        (True, False),
        (False, True),
    ]
    assert [s.is_bare_title for s in sentences_of(nils)] == [True, False]
    answer = ExtractiveAnswerer().answer_one(
        "Are Nils Dahl and Otto Lind of the same nationality?", evidence(nils, otto)
    )
    assert answer.text == "no"
    assert [word in quote.quote for quote, word in zip(answer.citations, ("Norwegian", "Swedish"), strict=False)] == [
        True,
        True,
    ]


def test_a_common_district_is_no_common_country() -> None:
    vik = ("Vik", "Vik is a village in Fana Rural District, Midt Province, Norway.")
    amud = ("Amud", "Amud is a village in Darkush District, Idlib Province, Syria.")
    verdict = decide_yes_or_no("Are Vik and Amud located in the same country?", sentences_of(vik, amud))
    assert verdict is not None
    assert verdict[0] == "no"


def test_one_nationality_is_not_one_state() -> None:
    bands = (
        ("Grey Tide", "Grey Tide is an American band from Phoenix, Arizona."),
        ("Low Sun", "Low Sun is an American band from Tampa, Florida."),
    )
    verdict = decide_yes_or_no("Are both bands, Grey Tide and Low Sun, from the same US state?", sentences_of(*bands))
    assert verdict is None or verdict[0] == "no"


def test_yes_is_asserted_where_one_sentence_of_each_has_it_all() -> None:
    question = "Are both Nils Dahl and Otto Lind Swedish bakers?"
    both = sentences_of(("Nils Dahl", "Nils Dahl was a Swedish baker."), OTTO)
    apart = sentences_of(("Nils Dahl", "Nils Dahl was a Swedish captain. His father was a baker."), OTTO)
    for found, is_sure in ((both, True), (apart, False)):
        verdict = decide_yes_or_no(question, found)
        assert verdict is not None
        assert verdict[0] == "yes"
        assert decides_surely(question, verdict[1], verdict[0]) is is_sure


def test_a_title_alone_is_not_quoted() -> None:
    nils = ("Nils Dahl", "Nils Dahl\n\nHe was a Norwegian captain.")
    answer = ExtractiveAnswerer().answer_one("What was Nils Dahl?", evidence(nils, OTTO))
    assert answer.citations
    assert "Nils Dahl" not in [quote.quote for quote in answer.citations]
