"""Follow-up questions over `examples/polar` and a small made corpus: each is made whole, or asks what it means."""

from functools import cache
from pathlib import Path

import pytest

from clew.query.conversation import Conversation
from clew.query.referents import Described, answer_referent, topic_referent

POLAR = Path(__file__).parents[2] / "examples" / "polar"
MADE = (
    Described("Marta Keller", "Marta Keller was a Swiss engineer. She was born in Aarwil, and her railway still runs."),
    Described("Lindenbahn", "The Lindenbahn is a mountain railway in the canton of Bern. It climbs 900 metres."),
    Described("Aarwil", "Aarwil is a village on the river Aar. It has 600 inhabitants."),
    Described("Brandt Works", "Brandt Works is a company in Thun that built carriages. It was sold in 1931."),
    Described("Urs Brandt", "Urs Brandt was a banker. He paid for the line, and his name is on its first engine."),
    Described("Steel Summits", "Steel Summits is a novel of 1925. It tells how the line was built."),
)
# A turn is a question with its answer; "~" before an answer: merely likely, several between "|".
FRAM = ("Who designed the Fram?", "Colin Archer")
BORN = ("Where was Colin Archer born?", "Larvik")
MAYBE = ("Who designed the Fram?", "~Colin Archer|Roald Amundsen")
VEGA = ("Which voyage was that of the Vega?", "~Vega expedition|Antarctic expedition")
GAUSS = ("Which ship carried the Gauss expedition?", "Gauss")
CAPTAIN = ("Who commanded the Endurance?", "Frank Worsley")
YEAR = ("Who commanded the Fram in 1911?", "")
SISTERS = ("Did the Gjøa sail with the Maud?", "")
MEN = ("Did Roald Amundsen meet Fridtjof Nansen?", "")
RAILWAY = ("Who designed the Lindenbahn?", "Marta Keller")
VILLAGE = ("Where was Marta Keller born?", "Aarwil")
FIRM = ("Which company built the carriages of the Lindenbahn?", "Brandt Works")
BANKER = ("Who paid Marta Keller?", "Urs Brandt")
PAIR = ("Who made the carriages?", "Jon and Eva Brandt")

WHOLE = [
    ((FRAM,), "Where was he born?", "Where was Colin Archer born?"),
    ((FRAM,), "What was his profession?", "What was Colin Archer's profession?"),
    ((FRAM,), "Who commanded her?", "Who commanded Fram?"),
    ((FRAM,), "When was it launched?", "When was Fram launched?"),
    ((FRAM,), "Who was its captain?", "Who was Fram's captain?"),
    ((FRAM,), "When was the ship launched?", "When was Fram launched?"),
    ((FRAM,), "Who was the captain?", "Who was the captain of Fram?"),
    ((FRAM,), "Who was the captain of it?", "Who was the captain of Fram?"),
    ((FRAM,), "and the captain?", "Who was the captain of Fram?"),
    ((FRAM,), "and its captain?", "Who was the captain of Fram?"),
    ((FRAM,), "and its last owner?", "Who was the last owner of Fram?"),
    ((FRAM, BORN), "and his captain?", "Who was Colin Archer's captain?"),
    ((VEGA,), "and who was its captain?", "Who was Vega's captain?"),
    ((FRAM, BORN), "Who was the captain?", "Who was the captain of Fram?"),
    ((FRAM, BORN), "Is it cold there?", "Is it cold in Larvik?"),
    ((FRAM, BORN), "When did he die?", "When did Colin Archer die?"),
    ((FRAM, BORN), "Who else lived there?", "Who else lived in Larvik?"),
    ((FRAM, BORN), "and when was it founded?", "When was Larvik founded?"),
    ((FRAM,), "and when?", "When was the Fram designed?"),
    ((FRAM,), "What about Roald Amundsen?", "Who designed Roald Amundsen?"),
    ((FRAM,), "What about the Belgica?", "Who designed the Belgica?"),
    ((BORN,), "and Roald Amundsen?", "Where was Roald Amundsen born?"),
    ((YEAR,), "and in 1912?", "Who commanded the Fram in 1912?"),
    ((CAPTAIN,), "and in 1915?", "Who commanded the Endurance in 1915?"),
    ((GAUSS,), "Who was the captain?", "Who was the captain of Gauss?"),
    ((CAPTAIN,), "Where was he born?", "Where was Frank Worsley born?"),
    ((CAPTAIN,), "What happened to that ship?", "What happened to Endurance?"),
    ((RAILWAY,), "Where was she born?", "Where was Marta Keller born?"),
    ((RAILWAY,), "What was her profession?", "What was Marta Keller's profession?"),
    ((RAILWAY,), "How high does it climb?", "How high does Lindenbahn climb?"),
    ((RAILWAY, VILLAGE), "How many people live there?", "How many people live in Aarwil?"),
    ((RAILWAY, VILLAGE), "Who else was born in that village?", "Who else was born in Aarwil?"),
    ((FIRM,), "When was the company sold?", "When was Brandt Works sold?"),
    ((BANKER,), "What was he?", "What was Urs Brandt?"),
    ((BANKER,), "Where did she live?", "Where did Marta Keller live?"),
    ((PAIR,), "Where did they live?", "Where did Jon and Eva Brandt live?"),
    ((("Who wrote Steel Summits?", ""),), "When was the novel printed?", "When was Steel Summits printed?"),
    ((BORN,), "When was Roald Amundsen born?", "When was Roald Amundsen born?"),
    ((FRAM,), "Which explorers said they reached the Pole?", "Which explorers said they reached the Pole?"),
    ((FRAM,), "Who reached the pole first?", "Who reached the pole first?"),
    ((BORN,), "Who discovered the continent?", "Who discovered the continent?"),
    ((FRAM,), "Is it cold in the Arctic?", "Is it cold in the Arctic?"),
]
ASKED = [
    ((MAYBE,), "Where was he born?", ("Colin Archer", "Roald Amundsen", "not sure")),
    ((MEN,), "Where was he born?", ("Roald Amundsen", "Fridtjof Nansen")),
    ((MEN,), "What about Robert Falcon Scott?", ("too little",)),
    ((SISTERS,), "Who built it?", ("Gjøa", "Maud")),
    ((SISTERS,), "Who was the captain?", ("Gjøa", "Maud")),
    ((FIRM,), "Who was the owner?", ("Brandt Works", "Lindenbahn")),
    ((FRAM,), "why?", ("'why?'", "ask in full")),
    ((FRAM,), "and?", ("'and?'", "ask in full")),
    ((FRAM,), "who?", ("'who?'", "ask in full")),
    ((BORN,), "and where?", ("'and where?'", "ask in full")),
    ((), "why?", ("'why?'", "ask in full")),
]
UNKNOWN = [
    ((FRAM,), "Is it cold there?", "there"),
    ((BORN,), "What happened then?", "then"),
    ((VILLAGE,), "Where did he live?", "he"),
    ((), "Where was he born?", "he"),
]


@cache
def passages() -> tuple[Described, ...]:
    """Return the passages of both corpora: the titles and first paragraphs of the files, and the made ones."""
    files = [path.read_text(encoding="utf-8").partition("\n") for path in sorted(POLAR.glob("*.md"))]
    return (*(Described(title.removeprefix("# "), text) for title, _, text in files), *MADE)


def talk(*turns: tuple[str, str]) -> Conversation:
    conversation = Conversation()
    for question, answer in turns:
        likely = answer[1:].split("|") if answer.startswith("~") else ()
        conversation.add(question, "" if likely else answer, passages(), likely)
    return conversation


@pytest.mark.parametrize(("turns", "question", "whole"), WHOLE, ids=lambda value: str(value)[-60:])
def test_a_follow_up_is_made_whole(turns: tuple[tuple[str, str], ...], question: str, whole: str) -> None:
    found = talk(*turns).resolve(question)
    assert (found.text, found.query, found.unresolved) == (whole, "", ())


@pytest.mark.parametrize(("turns", "question", "words"), ASKED, ids=lambda value: str(value)[-60:])
def test_what_is_not_clear_is_asked_in_one_line(
    turns: tuple[tuple[str, str], ...], question: str, words: tuple[str, ...]
) -> None:
    found = talk(*turns).resolve(question)
    assert found.text == question
    assert not found.references
    assert "\n" not in found.query
    for word in words:
        assert word in found.query


@pytest.mark.parametrize(("turns", "question", "word"), UNKNOWN, ids=lambda value: str(value)[-60:])
def test_what_refers_to_nothing_is_told(turns: tuple[tuple[str, str], ...], question: str, word: str) -> None:
    found = talk(*turns).resolve(question)
    assert (found.text, found.unresolved, found.query) == (question, (word,), "")


def test_the_name_that_is_written_completes_the_question() -> None:
    conversation = talk(MAYBE)
    assert conversation.resolve("Where was he born?").query
    assert conversation.resolve("roald amundsen").text == "Where was Roald Amundsen born?"
    assert conversation.resolve("roald amundsen").text == "roald amundsen"
    assert conversation.resolve("Where was he born?").query
    assert conversation.resolve("Who built the Maud?").text == "Who built the Maud?"


@pytest.mark.parametrize(
    ("name", "kind", "noun", "pronoun"),
    [
        ("Fram", "thing", "ship", ""),
        ("Roald Amundsen", "person", "explorer", "he"),
        ("Larvik", "", "", ""),
        ("Elephant Island", "place", "island", ""),
        ("Nimrod expedition", "thing", "expedition", ""),
        ("Marta Keller", "person", "engineer", "she"),
        ("Aarwil", "place", "village", ""),
        ("Brandt Works", "thing", "company", ""),
    ],
)
def test_passages_say_what_a_name_is(name: str, kind: str, noun: str, pronoun: str) -> None:
    for found in (
        topic_referent(f"Was {name} known?", name, passages()),
        answer_referent("Which of them is it?", name, passages()),
    ):
        assert (found.name, found.kind, found.noun, found.pronoun) == (name, kind, noun, pronoun)


GALLERY = (
    Described("The Tide", "The Tide is a painting of 1901 by Marta Keller. It hangs in Os."),
    Described("Old Bertha", "Old Bertha is a ship that was built in 1890. It lies in Vik."),
    Described("Marta Keller", "Marta Keller was a Swiss painter. She was born in Aarwil."),
)


@pytest.mark.parametrize(
    ("asked", "answer", "question", "whole"),
    [
        ("Who painted The Tide?", "Marta Keller", "Where does it hang?", "Where does The Tide hang?"),
        ("The Tide was painted by whom?", "Marta Keller", "Where does it hang?", "Where does The Tide hang?"),
        ("Where does Old Bertha lie?", "", "When was she built?", "When was Old Bertha built?"),
        ("Which painting did Marta Keller make?", "Tide", "Where does it hang?", "Where does The Tide hang?"),
        ("Which painting did Marta Keller make?", "The Tide", "Where was she born?", "Where was Marta Keller born?"),
        ("Did Marta Keller sail on Old Bertha?", "", "Where was she born?", "Where was Marta Keller born?"),
        ("Who saw Old Bertha?", "Marta Keller", "Where was she born?", "Where was Marta Keller born?"),
        ("Who painted The Tide?", "Marta Keller", "and Old Bertha?", "Who painted Old Bertha?"),
        ("Did The Old Bertha sink?", "", "When was it built?", "When was The Old Bertha built?"),
    ],
)
def test_names_keep_their_first_word_and_she_is_a_woman_first(
    asked: str, answer: str, question: str, whole: str
) -> None:
    conversation = Conversation()
    conversation.add(asked, answer, GALLERY)
    found = conversation.resolve(question)
    assert (found.text, found.query) == (whole, "")


def test_what_its_passage_calls_she_is_meant() -> None:
    conversation = Conversation()
    eight = Described("Old Bertha", "Old Bertha is an eight of 1974. She is kept in the shed.")
    conversation.add("Where is Old Bertha kept?", "", [eight])
    assert conversation.resolve("When was she built?").text == "When was Old Bertha built?"


def test_she_is_asked_back_where_no_passage_tells_what_a_name_is() -> None:
    conversation = Conversation()
    conversation.add("Where does Heron lie?", "", GALLERY)
    found = conversation.resolve("When was she built?")
    assert found.text == "When was she built?"
    assert "Heron" in found.query
    assert conversation.resolve("Heron").text == "When was Heron built?"
    conversation.add("Where does The Tide hang?", "", GALLERY)
    conversation.add("Where was Marta Keller born?", "Aarwil", GALLERY)
    assert conversation.resolve("When did she die?").text == "When did Marta Keller die?"
