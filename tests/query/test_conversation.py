"""Follow-up questions in English, made whole from the turns before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.query.conversation import Conversation, WholeQuestion, find_names

FRAM = ("Who designed the Fram?", "Colin Archer")
BORN = ("Where was Colin Archer born?", "Larvik")
CAIRD = ("Where is the boat James Caird kept?", "Dulwich College")
BUILT = ("When was the Belgica built?", "1884")


def talk(*turns: tuple[str, str]) -> Conversation:
    conversation = Conversation()
    for question, answer in turns:
        conversation.add(question, answer)
    return conversation


@pytest.mark.parametrize(
    ("turns", "question", "expected"),
    [
        ((FRAM,), "and who was its last owner?", "Who was Fram's last owner?"),
        ((FRAM,), "Where was he born?", "Where was Colin Archer born?"),
        ((FRAM,), "What was his profession?", "What was Colin Archer's profession?"),
        ((FRAM,), "Who sailed on it?", "Who sailed on Fram?"),
        ((FRAM, BORN), "When did he die?", "When did Colin Archer die?"),
        ((FRAM, BORN), "Who else lived there?", "Who else lived in Larvik?"),
        ((FRAM, BORN), "and when was it founded?", "When was Larvik founded?"),
        ((CAIRD,), "Who built it?", "Who built James Caird?"),
        ((CAIRD,), "Who built the same boat?", "Who built James Caird?"),
        ((CAIRD,), "Who taught at that place?", "Who taught at Dulwich College?"),
        ((BUILT,), "Which ships sailed then?", "Which ships sailed in 1884?"),
        ((BUILT,), "Who died in the same year?", "Who died in 1884?"),
        ((BUILT,), "Who commanded her?", "Who commanded Belgica?"),
        ((FRAM,), "and when?", "When was the Fram designed?"),
        ((BORN,), "When?", "When was Colin Archer born?"),
        ((BORN,), "What about Roald Amundsen?", "Where was Roald Amundsen born?"),
        ((BORN,), "and Roald Amundsen?", "Where was Roald Amundsen born?"),
        ((FRAM,), "How about the Belgica?", "Who designed the Belgica?"),
        ((FRAM,), "Who was the captain?", "Who was the captain of Fram?"),
        ((("Who leads the yard?", "Ada Lovelace"),), "Where does she live?", "Where does Ada Lovelace live?"),
        ((("Who are the Beatles?", ""),), "Where did they meet?", "Where did Beatles meet?"),
    ],
)
def test_a_question_is_made_whole(turns: tuple[tuple[str, str], ...], question: str, expected: str) -> None:
    whole = talk(*turns).resolve(question)
    assert whole.text == expected
    assert whole.references
    assert not whole.unresolved


@pytest.mark.parametrize(
    "question",
    [
        "Where was Roald Amundsen born?",
        "When did Nansen leave his ship?",
        "Is there a museum in Oslo?",
        "How long does it take?",
        "Was it in 1892 that Nansen sailed?",
        "Which is the ship that sank near Oslo?",
        "Wo wurde er geboren?",
        "他在哪里出生？",
        "",
        "why not",
    ],
)
def test_what_refers_to_nothing_stays_as_it_is(question: str) -> None:
    whole = talk(FRAM, BORN).resolve(question)
    assert whole.text == question
    assert not whole.references


def test_without_turns_and_without_a_referent_nothing_is_changed() -> None:
    assert Conversation().resolve("Where was he born?").text == "Where was he born?"
    whole = talk(BUILT).resolve("Which ships sailed there with him?")
    assert "him" in whole.text


def test_what_cannot_be_resolved_is_told() -> None:
    whole = talk(("When did it rain?", "1884")).resolve("Where was he born?")
    assert whole.text == "Where was he born?"
    assert whole.notes() == ("'he' refers to nothing that was asked before",)


@pytest.mark.parametrize("question", ["and where was Colin Archer born?", "But, so where was Colin Archer born?"])
def test_the_answer_of_a_question_with_an_opening_has_its_kind(question: str) -> None:
    conversation = talk(FRAM, (question, "Larvik"))
    answer = conversation.turns[-1].answer
    assert answer is not None
    assert answer.kind == "place"
    assert conversation.resolve("When did he die?").text == "When did Colin Archer die?"
    person = talk(("And who designed the Fram?", "Colin Archer")).turns[-1].answer
    assert person is not None
    assert person.kind == "person"


def test_he_never_takes_a_place() -> None:
    whole = talk(("and where is the museum?", "Larvik")).resolve("When did he die?")
    assert whole.text == "When did he die?"
    assert whole.unresolved == ("he",)


def test_a_text_is_no_answer_to_refer_to() -> None:
    conversation = talk(("Who was Nansen?", "He was an explorer. He was born in Norway."))
    assert conversation.turns[0].answer is None
    assert talk(("Where was Colin Archer born?", "Colin Archer was born in Larvik.")).turns[0].answer is None
    assert talk(("Who built it?", "J. Samuel White")).turns[0].answer is not None
    assert talk(("Did Nansen sail?", "Yes.")).turns[0].answer is None
    assert conversation.resolve("When was he born?").text == "When was Nansen born?"


def test_a_thing_takes_no_question_about_a_person() -> None:
    """It was "Where was the Gjøa born?"."""
    conversation = talk(("Who designed the Fram?", "Colin Archer"), ("Where was Colin Archer born?", "Larvik"))
    assert conversation.resolve("what about the Gjøa?").text == "Who designed the Gjøa?"
    assert conversation.resolve("what about Roald Amundsen?").text == "Where was Roald Amundsen born?"
    assert talk(("Where was Nansen born?", "Store Frøen")).resolve("and the Gjøa?").query


def test_a_merely_likely_answer_is_asked_for_and_not_taken() -> None:
    """The first of two likely names was taken as if it were the answer."""
    conversation = talk(("Who designed the Fram?", "Not sure: perhaps Colin Archer or Roald Amundsen"))
    whole = conversation.resolve("Where was he born?")
    assert whole.text == "Where was he born?"
    assert whole.query == (
        "'he' could mean Colin Archer or Roald Amundsen (the answer before is not sure): write the name, or ask in full"
    )


@pytest.mark.parametrize(
    ("first", "follow_up", "whole"),
    [
        ("Who led the Discovery expedition?", "and the Nimrod expedition?", "Who led the Nimrod expedition?"),
        ("Who led the Discovery expedition?", "and the Nimrod?", "Who led the Nimrod expedition?"),
        (
            "Who led the Discovery polar expedition?",
            "and Nimrod Polar Expedition?",
            "Who led the Nimrod Polar Expedition?",
        ),
        (
            "Who led the Discovery expeditions?",
            "and the Nimrod expedition?",
            "Who led the Nimrod expedition expeditions?",
        ),
        ("Who built the ship Fram?", "what about the ship Maud?", "Who built the ship Maud?"),
    ],
)
def test_a_noun_beside_both_names_stands_once(first: str, follow_up: str, whole: str) -> None:
    assert talk((first, "")).resolve(follow_up).text == whole


def test_a_person_asked_for_without_an_answer_is_not_the_one_of_an_earlier_turn() -> None:
    """`his wife` was taken for the wife of Colin Archer, of whom two questions before spoke."""
    conversation = talk(("Who designed the Fram?", "Colin Archer"), ("Who led the Discovery Expedition?", ""))
    assert conversation.resolve("and who was his wife?").query.startswith("'his' could mean Colin Archer")
    assert conversation.resolve("Colin Archer").text == "Who was Colin Archer's wife?"
    assert (
        not talk(("Who designed the Fram?", "Colin Archer"), ("Where is the Fram kept?", ""))
        .resolve("and who was his wife?")
        .query
    )


def test_few_turns_are_held() -> None:
    conversation = talk(*((f"Who was Person{number}?", "") for number in range(30)))
    assert len(conversation.turns) == 20
    assert conversation.resolve("Where was he born?").text == "Where was Person29 born?"


def test_names_of_an_index_are_found_in_lower_case() -> None:
    conversation = Conversation(lambda question: ["james caird"] if "james caird" in question else find_names(question))
    conversation.add("who built the james caird")
    assert conversation.resolve("where is it kept?").text == "Where is james caird kept?"


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=4), st.text(max_size=200))
def test_any_text_is_resolved_to_some_text(turns: list[tuple[str, str]], question: str) -> None:
    whole = talk(*turns).resolve(question)
    assert bool(whole.text) == bool(question)


@pytest.mark.parametrize("part", ["it ", "the same ", "and ", "that of ", "what about "])
def test_a_question_that_repeats_one_word_is_resolved_only_up_to_the_length_limit(part: str) -> None:
    conversation = talk(FRAM)
    long, short = part * 100_000, (part * 2_000)[:2_000]
    assert conversation.resolve(long) == WholeQuestion(long)
    resolved = " ".join(["Fram"] * 667) if part == "it " else short.strip()
    assert conversation.resolve(short).text.strip() == resolved
