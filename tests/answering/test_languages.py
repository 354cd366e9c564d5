"""Languages of questions: which one a question is in, what its question words ask for, and its stems."""

import pytest
from Stemmer import algorithms

from clew.answering.extractive import LANGUAGE_NOTE, ExtractiveAnswerer
from clew.answering.languages import ENGLISH, detect_language, other_languages
from clew.answering.missing_names import MISSING_PREFIX
from clew.answering.question_words import TABLES
from clew.types import Evidence
from tests.answering.test_extractive import evidence, quotes


@pytest.mark.parametrize(
    ("question", "language", "kind"),
    [
        ("Wo wurde der Ingenieur geboren, der die Fram baute?", "German", "place"),
        ("In welcher Stadt wurde Colin Archer geboren?", "German", "place"),
        ("Wie viele Schiffe hatte Scott?", "German", "number"),
        ("Wie heißt der Kapitän der Fram?", "German", "name"),
        ("Où est né l'architecte du navire Fram ?", "French", "place"),
        ("¿Quién construyó el Fram?", "Spanish", "person"),
        ("Chi ha costruito la Fram?", "Italian", "person"),
        ("Em que ano foi construído o navio Fram?", "Portuguese", "date"),
        ("Wie is de kapitein van de Fram?", "Dutch", "person"),
        ("Hur många fartyg hade Scott?", "Swedish", "number"),
        ("Hvor ble Fram bygget?", "Norwegian", "place"),
        ("Где родился конструктор корабля Фрам?", "Russian", "place"),
        ("Gdzie urodził się projektant statku Fram?", "Polish", "place"),
        ("谁设计了弗拉姆号？", "Chinese", "person"),
        ("弗拉姆号是哪一年建造的？", "Chinese", "date"),
        ("フラムを設計したのは誰ですか", "Japanese", "person"),
        ("Warum sank die Endurance?", "German", "explanation"),
    ],
)
def test_a_language_and_what_it_asks_for(question: str, language: str, kind: str) -> None:
    found = detect_language(question)
    assert found is not None
    assert (found.name, found.find_kind(question)[0]) == (language, kind)


@pytest.mark.parametrize(
    "question", ["Who built the Fram?", "WHO SKIPPERS THE SOLAN", "Fram designer", "", "Was it Nansen?"]
)
def test_english_and_bare_names_are_english(question: str) -> None:
    assert detect_language(question) is ENGLISH


@pytest.mark.parametrize(
    "question",
    [
        "Was Ernest Shackleton born in County Kildare?",
        "Was Nansen in Greenland?",
        "O Canada author?",
        "Die Hard director?",
        "Son of Ernest Shackleton?",
        "Are Fram and Gjoa in Oslo?",
        "Van Diemen discoveries?",
    ],
)
def test_words_that_english_shares_with_other_languages_are_english(question: str) -> None:
    assert detect_language(question) is ENGLISH


@pytest.mark.parametrize("question", ["Was kostet das Schiff?", "Was hat Nansen in Oslo gebaut und verkauft?"])
def test_what_in_german_is_german_by_its_other_words(question: str) -> None:
    found = detect_language(question)
    assert found is not None
    assert found.name == "German"


def test_another_language_is_said() -> None:
    question = "Ai đã thiết kế con tàu Fram?"
    assert detect_language(question) is None
    answer = ExtractiveAnswerer().answer_one(question, evidence(("Fram", "Fram was built by Colin Archer.")))
    assert LANGUAGE_NOTE in answer.notes
    assert answer.weak


def test_stems_are_those_of_snowball_and_agents_share_that_of_their_verb() -> None:
    assert {ENGLISH.stem(word) for word in ("gannet", "gannets")} == {"gannet"}
    assert ENGLISH.stem("director") == ENGLISH.stem("directed") == "direct"
    german, chinese = other_languages()["German"], other_languages()["Chinese"]
    assert german.stem("schiffe") == german.stem("schiff")
    assert chinese.stem("船") == "船"


def test_every_algorithm_exists_and_every_language_asks_for_persons_places_and_names() -> None:
    for name, table in TABLES.items():
        assert not table.algorithm or table.algorithm in algorithms(), name
        assert {"person", "date", "number", "name"} <= set(other_languages()[name].kinds.values()), name


def test_a_german_noun_is_no_missing_name() -> None:
    text = "Colin Archer baute die Fram. Er wurde 1832 in Larvik geboren."
    answer = ExtractiveAnswerer().answer_one(
        "Wo wurde der Ingenieur geboren, der die Fram baute?", evidence(("", text))
    )
    assert not any(note.startswith("no passage mentions") for note in answer.notes)
    assert "Larvik" in " ".join(quotes(answer))


def test_a_chinese_question_word_is_no_missing_name() -> None:
    answer = ExtractiveAnswerer().answer_one(
        "谁设计了弗拉姆号？", evidence(("", "弗拉姆号由科林·阿彻设计。他出生在拉尔维克。"))
    )
    assert not any(note.startswith("no passage mentions") for note in answer.notes)
    assert "科林·阿彻" in "".join(quotes(answer))


def test_a_question_in_capitals_and_a_plural_find_their_row() -> None:
    boat = evidence(("Boats", "Wen Li skippers the Solan. The Solan was built in Buckie in 1987."))
    answer = ExtractiveAnswerer().answer_one("WHO SKIPPERS THE SOLAN", boat)
    assert answer.text == "Wen Li"
    assert quotes(answer)[0] == "Wen Li skippers the Solan."
    table = evidence(("Sales", "| Puffin | 412 |\n| Gannet | 17 |"))
    answer = ExtractiveAnswerer().answer_one("How many Gannets were sold?", table)
    assert not any(note.startswith("no passage mentions") for note in answer.notes)


SHIPS = evidence(
    ("Gjøa", "The Gjøa was built in 1872 in Rosendal and sold to Roald Amundsen."),
    ("Roald Amundsen", "He was a Norwegian explorer. He came from Borge."),
    ("Risør", "Risør is a town. The Quest was built there by Olav Dahl."),
)


def test_quotes_come_by_shared_stems_and_ranks() -> None:
    found = SHIPS.passages
    answerer = ExtractiveAnswerer()
    for order in (found, found[::-1]):
        answer = answerer.answer_one("Wo wurde Roald Amundsen geboren?", Evidence(tuple(order)))
        titles = [citation.title for citation in answer.citations]
        # Two passages have the name in a sentence or their title: the one found first is quoted first.
        shares = [scored.item.title for scored in order if scored.item.title != "Risør"]
        assert titles[0] == shares[0]


def test_candidates_are_of_sentences_that_share_a_stem_with_the_question() -> None:
    answerer = ExtractiveAnswerer()
    answer = answerer.answer_one("Wer baute die Gjøa für Roald Amundsen?", SHIPS)
    assert answer.candidates
    assert not {"Olav Dahl", "Dahl", "Risør"} & {candidate.item for candidate in answer.candidates}
    assert answer.weak
    assert not any("probability" in note for note in answer.notes)  # it is calibrated on English questions


@pytest.mark.parametrize(
    "question",
    [
        "Combien des hommes de Roald Amundsen sont morts ?",
        "Quand est mort Roald Amundsen ?",
        "Dites-moi qui a construit le navire Gjøa",
        "Welche Schiffe führte Amundsen?",
        "Nenne den Kapitän der Gjøa",
        "¿Quién construyó el Gjøa?",
        "¿Quién fundó el Museo Gjøa?",
        "Dove è nato Roald Amundsen?",
        "Hvem bygget Gjøa?",
        "Где родился капитан Иванов?",  # the passages may write it in another case, or other letters
        "List the ships of Amundsen",
        "Tell me who built the Gjøa",
        "Please name the captain of Gjøa",
        "Give the year in which Amundsen died",
    ],
)
def test_a_word_that_is_no_name_is_not_said_to_be_missing(question: str) -> None:
    answer = ExtractiveAnswerer().answer_one(question, SHIPS)
    assert not any(note.startswith(MISSING_PREFIX) for note in answer.notes)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is Zaphod Beeblebrox?", "Zaphod Beeblebrox"),
        ("Qui est Zaphod Beeblebrox ?", "Zaphod Beeblebrox"),
        ("Wann starb Zaphod Beeblebrox?", "Zaphod Beeblebrox"),
        ("When did Roald Beeblebrox die?", "Beeblebrox"),
    ],
)
def test_a_missing_name_is_said(question: str, name: str) -> None:
    assert f"{MISSING_PREFIX} {name!r}" in ExtractiveAnswerer().answer_one(question, SHIPS).notes


def test_a_name_of_another_passage_of_the_index_is_not_said_to_be_missing() -> None:
    asked = "When did Zaphod Beeblebrox meet Ford Prefect?"
    known = {"zaphod", "beeblebrox"}
    answerer = ExtractiveAnswerer(has_words=lambda keys: [key in known for key in keys])
    notes = answerer.answer_one(asked, SHIPS).notes
    assert [note for note in notes if note.startswith(MISSING_PREFIX)] == [f"{MISSING_PREFIX} 'Ford Prefect'"]
