"""Comparisons of two titles: yes or no, and the first or last of two options, or nothing where facts lack."""

import pytest

from clew.answering.question_analysis import split_sentences
from clew.answering.sentence_selection import Sentence
from clew.answering.verdicts import (
    dates_are_of_event,
    decide_option,
    decide_yes_or_no,
    decides_surely,
    find_compared,
)
from clew.text.mentions import find_mentions
from clew.types import Evidence, Passage, Scored

TEXTS = (
    ("Ragna Holm", "Ragna Holm (3 May 1880 – 9 June 1950) was a Norwegian captain. She lived in Bergen."),
    ("Otto Lind", "Otto Lind (1 May 1902 – 2 June 1940) was a Swedish baker. He won medals."),
    ("Nils Dahl", "Nils Dahl (born 1920) is a Norwegian captain and author."),
    ("Vik", "Vik is a village in Sogn Rural District, Vestland Province, Norway."),
    ("Os", "Os is a village in Fana Rural District, Midt Province, Norway."),
    ("Red Sea Film", "Red Sea Film is a 1950 film directed by Ragna Holm."),
    ("Blue Sea Film", "Blue Sea Film is a 1940 film directed by Otto Lind."),
)


def sentences() -> list[Sentence]:
    return sentences_of(*TEXTS)


def sentences_of(*texts: tuple[str, str]) -> list[Sentence]:
    passages = [Passage(f"p{i}", f"d{i}", title, text, 0, len(text)) for i, (title, text) in enumerate(texts)]
    return split_sentences(Evidence(tuple(Scored(p, 1.0) for p in passages)), find_mentions)


def test_menus_are_no_sentences_to_quote() -> None:
    menu = "".join(f"* [{name}](https://a.example/{name})\n" for name in ("Home", "Careers", "Shop"))
    body = (
        "The ferry was launched in 1952. It carries cars, bicycles and people across the sound all day, but on Sundays."
    )
    found = [one.text for one in sentences_of(("Ferry", f"{menu}\n{body} See [the map](https://a.example/map)."))]
    assert found == [*body.replace(". ", ".\n").split("\n"), "See [the map](https://a.example/map)."]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Are Ragna Holm and Otto Lind of the same nationality?", "no"),
        ("Are Ragna Holm and Nils Dahl of the same nationality?", "yes"),
        ("Are Vik and Os both located in the same country?", "yes"),
        ("Are both Ragna Holm and Nils Dahl Norwegian captains?", "yes"),
        ("Are both Ragna Holm and Otto Lind Norwegian captains?", "no"),
        ("Are the directors of Red Sea Film and Blue Sea Film from the same country?", "no"),
        ("Are Ragna Holm and the captain Nils Dahl both Norwegian?", "yes"),
        ("Does Vik share a country with Os?", "yes"),
    ],
)
def test_yes_or_no(question: str, answer: str) -> None:
    verdict = decide_yes_or_no(question, sentences())
    assert verdict is not None
    assert verdict[0] == answer
    assert len(verdict[1]) == 2


@pytest.mark.parametrize(
    ("question", "is_sure"),
    [
        ("Are Ragna Holm and Nils Dahl of the same nationality?", True),
        ("Are Vik and Os both located in the same country?", True),
        ("Are the directors of Red Sea Film and Blue Sea Film from the same country?", True),
        ("Were Ragna Holm and Nils Dahl born in the same year?", False),
        ("Were Ragna Holm and Nils Dahl paid by the same firm?", False),
        ("Are both Ragna Holm and Nils Dahl Norwegian captains?", True),
        ("Were both Ragna Holm and Nils Dahl Norwegian captains in 1920?", False),
    ],
)
def test_what_no_sentence_says_is_not_sure(question: str, *, is_sure: bool) -> None:
    verdict = decide_yes_or_no(question, sentences())
    assert verdict is not None
    assert decides_surely(question, verdict[1]) is is_sure


def test_a_sentence_with_a_doubt_decides_nothing_surely() -> None:
    question = "Are both Ragna Holm and Nils Dahl Norwegian captains?"
    doubted = sentences_of(("Ragna Holm", "Ragna Holm was never a Norwegian captain."), TEXTS[2])
    verdict = decide_yes_or_no(question, doubted)
    assert verdict is not None
    assert not decides_surely(question, verdict[1])


@pytest.mark.parametrize(
    ("question", "is_sure"),
    [
        ("Who was born first, Ragna Holm or Otto Lind?", True),
        ("Who died first, Ragna Holm or Otto Lind?", True),
        ("Who lived longer, Ragna Holm or Otto Lind?", True),
        ("Who retired first, Ragna Holm or Otto Lind?", False),
        ("Which was released first, Red Sea Film or Blue Sea Film?", True),
        ("Which was burned first, Red Sea Film or Blue Sea Film?", False),
        ("Which was found first, Red Sea Film or Blue Sea Film?", False),
    ],
)
def test_dates_are_of_what_is_compared(question: str, *, is_sure: bool) -> None:
    options = decide_option(question, sentences())
    assert options
    assert dates_are_of_event(question, options) is is_sure


@pytest.mark.parametrize(
    "question", ["Is Ragna Holm a captain?", "Was Ragna Holm or Otto Lind born first?", "Is it?", ""]
)
def test_no_verdict_on_other_questions(question: str) -> None:
    assert decide_yes_or_no(question, sentences()) is None


@pytest.mark.parametrize(
    "question",
    [
        "Was Ragna Holm the director of Red Sea Film?",
        "Was Otto Lind the director of Red Sea Film?",
        "Is Red Sea Film by Ragna Holm?",
        "Is Vik located in Os?",
        "Did Ragna Holm and her crew reach Vik?",
        "Was the director of Red Sea Film, Ragna Holm, Norwegian?",
    ],
)
def test_a_relation_of_one_entity_to_another_is_no_comparison(question: str) -> None:
    assert decide_yes_or_no(question, sentences()) is None


@pytest.mark.parametrize(
    "question",
    [
        "Are both Ragna Holm and Nils Dahl not Norwegian captains?",
        "Aren't both Ragna Holm and Nils Dahl Norwegian captains?",
        "Aren’t Ragna Holm and Nils Dahl of the same nationality?",
        "Were neither Ragna Holm nor Nils Dahl captains?",
        "Are Ragna Holm and Otto Lind never of the same nationality?",
    ],
)
def test_a_denial_is_not_decided(question: str) -> None:
    assert decide_yes_or_no(question, sentences()) is None


@pytest.mark.parametrize(
    "question", ["Did both Ragna Holm and Otto Lind own a yacht?", "Are both Ragna Holm and Nils Dahl authors?"]
)
def test_a_word_that_the_passages_lack_makes_no_no(question: str) -> None:
    assert decide_yes_or_no(question, sentences()) is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Was Ragna Holm or Otto Lind born first?", "Ragna Holm"),
        ("Who was born later, Ragna Holm or Otto Lind?", "Otto Lind"),
        ("Who died first, Ragna Holm or Otto Lind?", "Otto Lind"),
        ("Which film has the director born first, Red Sea Film or Blue Sea Film?", "Red Sea Film"),
        ("Which film came out first, Red Sea Film or Blue Sea Film?", "Blue Sea Film"),
        ("Which film came out first, Red SEA film or Blue Sea Film?", "Blue Sea Film"),
        ("Who lived longer, Otto Lind or Ragna Holm?", "Ragna Holm"),
    ],
)
def test_options(question: str, answer: str) -> None:
    ranked = decide_option(question, sentences())
    assert ranked[0].name == answer
    assert len(ranked) == 2
    for option in ranked:
        assert any(option.name in sentence.text for sentence in option.sentences)


@pytest.mark.parametrize(
    "question",
    [
        "Who died first, Ragna Holm or Nils Dahl?",
        "Who is taller, Ragna Holm or Otto Lind?",
        "Who is a baker, Ragna Holm or Otto Lind?",
        "Who is Ragna Holm?",
        "Who was not born first, Ragna Holm or Otto Lind?",
        "Who was younger when he died, Ragna Holm or Otto Lind?",
    ],
)
def test_options_are_left_open_without_facts(question: str) -> None:
    assert decide_option(question, sentences()) == []


def test_the_longer_title_is_the_entity() -> None:
    found = find_compared("Is Red Sea Film by Ragna Holm?", sentences())
    assert [entity.name for entity in found] == ["Red Sea Film", "Ragna Holm"]


def test_a_title_inside_a_longer_name_is_another_entity() -> None:
    assert decide_option("Who was born first, Otto Lind or Per Nils Dahl?", sentences()) == []
    assert [one.name for one in find_compared("Were Otto Lind and the Nils Dahl of Vik bakers?", sentences())] == [
        "Otto Lind",
        "Nils Dahl",
        "Vik",
    ]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("Who was born first: Nils Dahl, Otto Lind or Ragna Holm?", ["Ragna Holm", "Otto Lind", "Nils Dahl"]),
        ("Who was born last: Nils Dahl, Otto Lind or Ragna Holm?", ["Nils Dahl", "Otto Lind", "Ragna Holm"]),
    ],
)
def test_all_options_of_a_list_are_compared(question: str, order: list[str]) -> None:
    assert [option.name for option in decide_option(question, sentences())] == order


def test_towns_say_nothing_of_countries() -> None:
    question = "Are Ida Berg and Per Moe from the same country?"
    one = ("Ida Berg", "Ida Berg is a Danish baker.")
    assert decide_yes_or_no(question, sentences_of(one, ("Per Moe", "Per Moe was born in Aarhus, Denmark."))) is None
    towns = sentences_of(("Ida Berg", "Ida Berg was born in Lyon."), ("Per Moe", "Per Moe writes in Paris."))
    verdict = decide_yes_or_no(question, towns)
    assert verdict is not None
    assert not decides_surely(question, verdict[1], verdict[0])
