"""What a sentence states in the words of a question of one step is asserted; what it says of others is not."""

import pytest

from clew.answering.extractive import STATEMENT_NOTE, ExtractiveAnswerer
from tests.answering.test_extractive import evidence, quotes

ROSSBY = "Rossby (ship)", "Rossby is a three-masted ship, launched in May 1892 and designed by the engineer Ole Lund."


def ask(question: str, *passages: tuple[str, str]) -> tuple[str, bool]:
    """Return the answer, and whether a statement decided it."""
    answer = ExtractiveAnswerer().answer_one(question, evidence(*passages))
    return answer.text, STATEMENT_NOTE in answer.notes and not answer.weak


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who designed the Rossby?", "Ole Lund"),
        ("When was the Rossby launched?", "May 1892"),
        ("In what year was the Rossby launched?", "1892"),
    ],
)
def test_several_statements_of_one_sentence(question: str, answer: str) -> None:
    assert ask(question, ROSSBY) == (answer, True)


@pytest.mark.parametrize(
    ("question", "title", "text", "answer"),
    [
        (
            "Who led the Vardal Expedition?",
            "Vardal Expedition",
            "The Vardal Expedition was led by Ida Berg.",
            "Ida Berg",
        ),
        ("Who founded Tarn College?", "Tarn College", "It was founded in 1619 by Ida Berg, an actor.", "Ida Berg"),
        ("Who founded Tarn College?", "Ida Berg", "Ida Berg founded Tarn College in 1619.", "Ida Berg"),
        ("Where was the Rossby built?", "Rossby", "Rossby was a ship built at Kiel for a company.", "Kiel"),
        ("Where was the Rossby built?", "Rossby", "Rossby was a ship built by Ida Berg at Kiel, in Holstein.", "Kiel"),
        ("Where was the Rossby built?", "Rossby", "It was built in 1892 by the engineer Ida Berg in Kiel.", "Kiel"),
        ("Who designed the Rossby?", "Rossby", "Rossby is a ship. The ship was designed by Ida Berg.", "Ida Berg"),
        ("Who wrote Tarn?", "Tarn", "Tarn is a Danish play (1890) written and staged by Ida Berg.", "Ida Berg"),
        ("Who built the Rossby?", "Rossby", "Rossby was built by the Danish engineer Ida Berg.", "Ida Berg"),
        ("Who designed the Rossby?", "Rossby", "Rossby was a ship designed in Italy by Ida Berg.", "Ida Berg"),
        ("When was Tarn released?", "Tarn", "Tarn was released in Norway on 3 May 1892.", "3 May 1892"),
        ("Who bought the Rossby in 1901?", "Rossby", "Rossby is a sloop. Ida Berg bought her in 1901.", "Ida Berg"),
        ("Where is the Rossby kept today?", "Rossby", "The Rossby is now kept at Tarn College.", "Tarn College"),
        ("Who was the mate of the Rossby?", "Rossby", "Rossby's mate was Ida Berg.", "Ida Berg"),
        ("Who was the mate of the Rossby?", "Rossby", "The mate of the Rossby was Ida Berg.", "Ida Berg"),
        ("Who is the captain of the Rossby?", "Crew", "Ida Berg is the captain of the Rossby.", "Ida Berg"),
        ("What is the capital of Tarn?", "Tarn", "The capital of Tarn is [[Vardal]].", "Vardal"),
    ],
)
def test_subject_and_object(question: str, title: str, text: str, answer: str) -> None:
    about = ("Tarn College", "Tarn College lies in the hills.")
    assert ask(question, (title, text), *([about] if title == "Ida Berg" else [])) == (answer, True)


@pytest.mark.parametrize(
    ("question", "title", "text"),
    [
        ("Who designed the Rossby?", "Rossby", "Rossby was a book about a ship designed by Ida Berg."),
        ("Who designed the Rossby?", "Rossby", "Rossby followed the Elsa, which was designed by Ida Berg."),
        ("Who designed the Rossby?", "Rossby", "Rossby was not designed by Ida Berg."),
        ("Who bought the Rossby in 1901?", "Rossby", "Rossby is a sloop. Ida Berg bought her in 1904."),
        ("Who bought the Rossby?", "Rossby", "Rossby met the Elsa, and Ida Berg bought her in 1904."),
        ("Who is the captain of the Rossby?", "Rossby", "The captain of the Rossby was Ida Berg."),
        ("Who was the mate of the Rossby?", "Rossby", "The mate of the Elsa was Ida Berg, as the Rossby knew."),
        ("Who was the mate of the Rossby?", "Rossby", "The mate of the Rossby was perhaps Ida Berg."),
        ("Who was the mate of the Rossby?", "Rossby", "The mate of the Rossby's sister was Ida Berg."),
        ("Who designed the Rossby?", "Rossby", "Rossby was designed by Ida Berg and Ole Lund."),
        ("Who designed the Rossby?", "Rossby", "Rossby was designed by Ida Berg, and her sister Ane."),
        ("Who designed the Rossby?", "Rossby", "Rossby was designed by the Berg brothers."),
        ("Who designed the Rossby?", "Rossby", "Rossby was co-designed by Ida Berg."),
        ("Who designed the Rossby?", "Rossby", "Rossby Two was designed by Ida Berg."),
        ("Who designed the Rossby?", "Rossby", "Rossby is a ship. The book was designed by Ida Berg."),
        ("When was Tarn released?", "Tarn", "Tarn was re-released on 3 May 1892."),
        ("Who designed the Rossby?", "Elsa", "Elsa was designed by Ida Berg. The Rossby was her sister."),
        ("Who was the captain of the designer of the Rossby?", "Rossby", "Rossby was designed by Ida Berg."),
    ],
)
def test_what_is_not_said_of_the_entity_is_not_asserted(question: str, title: str, text: str) -> None:
    assert not ask(question, (title, text))[1]


def test_different_statements_decide_nothing() -> None:
    other = "Rossby (museum)", "The Rossby was designed by Ida Berg."
    assert not ask("Who designed the Rossby?", ROSSBY, other)[1]


def test_the_statement_is_quoted_first() -> None:
    answer = ExtractiveAnswerer().answer_one("Who designed the Rossby?", evidence(("Elsa", "Elsa is a ship."), ROSSBY))
    assert quotes(answer)[0] == ROSSBY[1]
