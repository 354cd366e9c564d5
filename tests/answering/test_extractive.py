"""The extractive answerer: what a reader finds is quoted exactly, never invented, asserted only where it is likely."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.answering.confidence import Signals
from clew.answering.extractive import (
    LANGUAGE_NOTE,
    NO_MODEL_NOTE,
    READ_NOTE,
    UNLIKELY_NOTE,
    UNSURE_NOTE,
    ExtractiveAnswerer,
)
from clew.answering.languages import ENGLISH
from clew.answering.question_types import (
    classify_question,
    find_asked_verb,
    find_nationality,
    find_numbers,
    score_type_fit,
)
from clew.answering.rules import COMPARISON_NOTE
from clew.errors import InputError
from clew.models.reader.decoding import ReadSpan
from clew.models.reader.reader import Reading
from clew.models.reader.windows import ReaderText, strip_marks
from clew.types import Answer, Citation, Evidence, Mention, Passage, Path, Scored, SentenceChain

SHIP = "The Polar Fox is a wooden ship built in 1911 in Tromso. Its captain was Ragna Holm. It carried 14 sailors."
CAPTAIN = "Ragna Holm was a Norwegian captain born in Bergen on 3 May 1880. She later taught at Bergen Naval School."
BAKER = "Otto Lind was a Swedish baker born in 1902 in Malmo. His bread won three medals."
WHERE_BORN = "Where was the captain of the Polar Fox born?"


def passages(*texts: tuple[str, str], shift: int = 0) -> list[Passage]:
    return [Passage(f"p{i}", f"d{i}", title, text, shift, shift + len(text)) for i, (title, text) in enumerate(texts)]


def evidence(*texts: tuple[str, str], paths: tuple[Path, ...] = ()) -> Evidence:
    ranked = tuple(Scored(p, 1.0 / (1 + i)) for i, p in enumerate(passages(*texts)))
    return Evidence(ranked, tuple(Scored(path, 1.0) for path in paths))


TWO = evidence(("Polar Fox", SHIP), ("Ragna Holm", CAPTAIN))
THREE = evidence(("Polar Fox", SHIP), ("Ragna Holm", CAPTAIN), ("Otto Lind", BAKER))


def quotes(answer: Answer) -> list[str]:
    return [citation.quote for citation in answer.citations]


@dataclass(frozen=True)
class FixedReader:
    """A reader that finds given words with given probabilities, calibrated to the probability of the best."""

    found: tuple[tuple[str, float], ...]
    threshold: float = 0.2
    line: float = 0.8
    further: tuple[tuple[str, float], ...] = ()  # weights of other signals

    @property
    def manifest(self) -> dict[str, Any]:
        weights = dict.fromkeys((*Signals._fields, "bias"), 0.0) | {"best": 1.0} | dict(self.further)
        return {"calibration": {"weights": weights, "threshold": self.threshold, "line": self.line}}

    def read(self, question: str, texts: Sequence[str | ReaderText]) -> Reading:
        assert question.strip()
        spans = []
        for words, probability in self.found:
            held = ((at, text.text) for at, text in enumerate(texts) if isinstance(text, ReaderText))
            at, start = next(((at, text.index(words)) for at, text in held if words in text), (-1, -1))
            spans.append(ReadSpan(words, probability, at, start, start + len(words) if at >= 0 else -1))
        return Reading(tuple(spans), 0.0, ())


def fixed(*found: tuple[str, float]) -> ExtractiveAnswerer:
    return ExtractiveAnswerer(FixedReader(found))


def test_the_sentence_of_the_answer_is_quoted_first() -> None:
    answer = fixed(("Bergen", 0.9), ("Tromso", 0.05)).answer_one(WHERE_BORN, TWO)
    assert (answer.text, answer.weak) == ("Bergen", False)
    assert quotes(answer)[0] == "Ragna Holm was a Norwegian captain born in Bergen on 3 May 1880."
    assert {citation.document_id for citation in answer.citations} == {"d0", "d1"}
    assert [one.item for one in answer.candidates] == ["Bergen", "Tromso"]
    assert [one.score for one in answer.candidates] == pytest.approx([0.9, 0.05])
    read = "read together: 2 passages, 0% of their text; the answer is of passage 2, 'Ragna Holm'"
    assert answer.notes == (NO_MODEL_NOTE, f"{READ_NOTE} (probability 0.90)", read)
    assert answer.evidence is TWO


def test_what_is_less_likely_is_weak_and_what_is_unlikely_is_withheld() -> None:
    weak = fixed(("Bergen", 0.5)).answer_one(WHERE_BORN, TWO)
    assert (weak.text, weak.weak, weak.notes[1]) == ("Bergen", True, f"{UNSURE_NOTE} (probability 0.50)")
    withheld = fixed(("Bergen", 0.1)).answer_one(WHERE_BORN, TWO)
    assert (withheld.text, withheld.weak, withheld.candidates) == ("", True, ())
    assert withheld.notes[-1] == f"{UNLIKELY_NOTE} (probability 0.10 for 'Bergen')"
    assert withheld.citations


def test_words_of_the_question_answer_it_only_as_a_choice() -> None:
    spans = (("Polar Fox", 0.6), ("Tromso", 0.3))
    assert fixed(*spans).answer_one("Where was the Polar Fox built?", TWO).text == "Tromso"
    assert fixed(*spans).answer_one("Which is a wooden thing, the Polar Fox or Ragna Hansen?", TWO).text == "Polar Fox"


def test_yes_and_no_answer_questions_for_them_alone() -> None:
    spans = (("yes", 0.6), ("Tromso", 0.3), ("no", 0.1))
    assert fixed(*spans).answer_one("Was the Polar Fox built of wood?", TWO).text == "yes"
    assert fixed(*spans).answer_one("Where was the Polar Fox built?", TWO).text == "Tromso"


def test_of_the_two_dates_of_a_life_the_one_asked_for_is_the_answer() -> None:
    source = evidence(("Otto Lind", "Otto Lind (1 May 1902 – 2 June 1940) was a Swedish baker."))
    reader = fixed(("1 May 1902 – 2 June 1940", 0.9))
    for question, date in (("When was Otto Lind born?", "1 May 1902"), ("When did Otto Lind die?", "2 June 1940")):
        assert reader.answer_one(question, source).text == date


@dataclass(frozen=True)
class WidthReader(FixedReader):
    """A reader that finds "Malmo" in two texts, and in more of them what it is given."""

    def read(self, question: str, texts: Sequence[str | ReaderText]) -> Reading:
        if len(texts) > 2:
            return super().read(question, texts)
        return FixedReader((("Bergen", 0.6), ("Malmo", 0.3))).read(question, texts)


def test_the_best_two_passages_are_read_once_more_and_count_twice() -> None:
    reader = WidthReader((("Malmo", 0.5), ("Bergen", 0.3)), threshold=0.0, line=1.0)
    answer = ExtractiveAnswerer(reader).answer_one(WHERE_BORN, THREE)
    assert [one.item for one in answer.candidates] == ["Bergen", "Malmo"]
    assert [one.score for one in answer.candidates] == pytest.approx([(0.3 + 2 * 0.6) / 3, (0.5 + 2 * 0.3) / 3])


def test_of_the_best_answers_the_one_that_the_calibration_prefers_is_first() -> None:
    reader = FixedReader((("Bergen", 0.5), ("Tromso", 0.4)), 0.0, 1.0, (("opens", 5.0),))
    answer = ExtractiveAnswerer(reader).answer_one(WHERE_BORN, TWO)  # both stand in first sentences
    assert [one.item for one in answer.candidates] == ["Bergen", "Tromso"]
    reader = FixedReader((("Bergen", 0.5), ("Tromso", 0.4)), 0.0, 1.0, (("rank", -5.0),))
    answer = ExtractiveAnswerer(reader).answer_one(WHERE_BORN, TWO)
    assert [one.item for one in answer.candidates] == ["Tromso", "Bergen"]
    scores = [one.score for one in answer.candidates]
    assert scores == sorted(scores, reverse=True)


def test_candidates_do_not_overlap() -> None:
    spans = (("3 May 1880", 0.5), ("May 1880", 0.3), ("1911", 0.1))
    answer = fixed(*spans).answer_one("When did the captain retire?", TWO)
    assert [one.item for one in answer.candidates] == ["3 May 1880", "1911"]


def test_the_bundled_reader_reads_a_plain_statement() -> None:
    answer = ExtractiveAnswerer().answer_one("Who was the captain of the Polar Fox?", THREE)
    assert answer.text == "Ragna Holm"
    assert quotes(answer)[0] == "Its captain was Ragna Holm."


@pytest.mark.parametrize("text", ["Ünïcode 🚢 ship. 船はベルゲンで造られた。船長は木村さんです。 End 🚀 of it."])
def test_offsets_are_those_of_the_document(text: str) -> None:
    document = "一二三🙂 before. " + text + " after."
    start = document.index(text)
    passage = Passage("p", "d", "船 🚢", text, start, start + len(text))
    answer = ExtractiveAnswerer().answer_one("船長は木村さんですか? ship", Evidence((Scored(passage, 1.0),)))
    assert answer.citations
    for citation in answer.citations:
        assert document[citation.start : citation.end] == citation.quote
        assert (citation.document_id, citation.passage_id, citation.title) == ("d", "p", "船 🚢")
    assert "船長は木村さんです。" in quotes(answer)


WORDS = st.sampled_from(
    [
        *SHIP.split(),
        *WHERE_BORN.split(),
        *("and", "or", "who", "both", "first", "1880", "three", "船長", "🚢", "\u00a0"),
        *("straße", "İstanbul", '"quoted"', "'x'", "A.", "Which", "older:", ",", ";", "?", "!", "\n"),
    ]
)
TEXTS = st.lists(WORDS, max_size=25).map(" ".join) | st.text(max_size=40)


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=4), st.integers(0, 50))
def test_nothing_is_invented(question: str, texts: list[tuple[str, str]], shift: int) -> None:
    source = passages(*texts, shift=shift)
    result = Evidence(tuple(Scored(p, 1.0) for p in source))
    answer = ExtractiveAnswerer().answer_one(question, result)
    by_id = {passage.id: passage for passage in source}
    for citation in answer.citations:
        passage = by_id[citation.passage_id]
        assert passage.text[citation.start - passage.start : citation.end - passage.start] == citation.quote != ""
    assert len(set(answer.citations)) == len(answer.citations) <= 4
    read = [" ".join(strip_marks(p.text).split()) for p in source]  # an answer over a line's end has a space there
    own = {answer.text, *(candidate.item for candidate in answer.candidates)} - {"", "yes", "no"}
    assert all(any(item in text for text in read) for item in own)
    assert len({candidate.item for candidate in answer.candidates}) == len(answer.candidates)
    assert answer.notes[0] == NO_MODEL_NOTE
    assert answer.text or answer.weak
    assert ExtractiveAnswerer().answer([question], [result]) == [answer]


@pytest.mark.parametrize(
    ("question", "source", "note"),
    [
        ("", TWO, "the question is empty"),
        (" \n", TWO, "the question is empty"),
        ("?!...", TWO, "the question has no words"),
        (WHERE_BORN, Evidence(), "the evidence holds no passage with text"),
        (WHERE_BORN, evidence(("Polar Fox", " ")), "the evidence holds no passage with text"),
    ],
)
def test_no_question_or_no_text(question: str, source: Evidence, note: str) -> None:
    assert ExtractiveAnswerer().answer_one(question, source) == Answer(
        "", (), (), source, weak=True, notes=(NO_MODEL_NOTE, note)
    )


def test_missing_names_are_said() -> None:
    answer = fixed(("Bergen", 0.5)).answer_one("Which treaty ended the Boxer Rebellion in Peking?", TWO)
    assert answer.notes[1:3] == ("no passage mentions 'Boxer Rebellion'", "no passage mentions 'Peking'")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was born first, Ragna Holm or Otto Lind?", "Ragna Holm"),
        ("Who is younger, Ragna Holm or Otto Lind?", "Otto Lind"),
        ("Are Ragna Holm and Otto Lind of the same nationality?", "no"),
    ],
)
def test_comparisons_that_the_sentences_decide(question: str, answer: str) -> None:
    result = fixed().answer_one(question, THREE)
    assert result.text == answer
    assert result.notes[-1] == COMPARISON_NOTE
    assert {citation.title for citation in result.citations} >= {"Ragna Holm", "Otto Lind"}


def test_two_of_one_nationality() -> None:
    source = evidence(("Ragna Holm", CAPTAIN), ("Otto Lind", BAKER.replace("Swedish", "Norwegian")))
    assert fixed().answer_one("Do Ragna Holm and Otto Lind share the same nationality?", source).text == "yes"


def test_a_question_of_another_language_is_answered_weakly_by_its_best_sentence() -> None:
    source = evidence(("Fram", "Die Fram wurde 1892 von Colin Archer in Larvik gebaut."), ("", BAKER))
    answer = fixed(("Malmo", 0.99)).answer_one("Wer hat die Fram gebaut?", source)
    assert (answer.text, answer.weak) == ("Colin Archer", True)
    assert LANGUAGE_NOTE not in answer.notes
    assert "read as German" in answer.notes[1]


def test_the_same_passage_twice_is_quoted_once() -> None:
    twice = Evidence((*TWO.passages, *TWO.passages))
    reader = fixed(("Bergen", 0.9))
    assert reader.answer_one(WHERE_BORN, twice).citations == reader.answer_one(WHERE_BORN, TWO).citations


def test_questions_and_evidence_must_pair() -> None:
    with pytest.raises(InputError, match="questions: 2, pieces of evidence: 1"):
        ExtractiveAnswerer().answer(["a", "b"], [TWO])


def cite(passage: Passage, quote: str) -> Citation:
    start = passage.start + passage.text.index(quote)
    return Citation(passage.document_id, passage.id, passage.title, start, start + len(quote), quote)


def chained(*quotes: tuple[int, str]) -> Evidence:
    """Return the three passages with one chain of sentences."""
    found = passages(("Polar Fox", SHIP), ("Ragna Holm", CAPTAIN), ("Otto Lind", BAKER), shift=100)
    chain = SentenceChain(tuple(cite(found[number], quote) for number, quote in quotes), ("x",) * (len(quotes) - 1))
    return Evidence(tuple(Scored(p, 1.0) for p in found), chains=(Scored(chain, 1.0),))


FIRST_SENTENCE = "The Polar Fox is a wooden ship built in 1911 in Tromso."
BORN = "Ragna Holm was a Norwegian captain born in Bergen on 3 May 1880."
BERGEN_CHAINED = chained((0, FIRST_SENTENCE), (1, BORN))
FOUND = (("Malmo", 0.5), ("Bergen", 0.3), ("Tromso", 0.1), ("14", 0.1))


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ({}, "Malmo"),
        ({"in_best_chain": 3.0}, "Bergen"),
        ({"in_chain": 3.0, "rank": -3.0}, "Tromso"),
        ({"ends_chain": 3.0}, "Bergen"),
        ({"linked": 3.0}, "Bergen"),
        ({"rank": -9.0, "opens": -9.0}, "Tromso"),  # "14" stands in a later sentence of that passage, and is the fourth
    ],
)
def test_the_calibration_chooses_among_the_best_three_by_where_they_stand(weights: dict[str, float], text: str) -> None:
    reader = FixedReader(FOUND, 0.0, 1.0, tuple(weights.items()))
    assert ExtractiveAnswerer(reader).answer_one(WHERE_BORN, BERGEN_CHAINED).text == text


def test_signals_say_where_an_answer_stands() -> None:
    found = (("Bergen", 0.5), ("Bergen Naval School", 0.2))
    first, second = (s for _, s in ExtractiveAnswerer(FixedReader(found)).read_one(WHERE_BORN, BERGEN_CHAINED))
    assert first[Signals._fields.index("rank") :] == (1.0, 0.0, 1.0, 0.0, math.log(3), 1.0, 1.0, 1.0, 1.0)
    assert (second.opens, second.in_chain, second.in_best_chain, second.ends_chain) == (0.0, 0.0, 0.0, 0.0)
    assert [first.lead, second.lead] == pytest.approx([0.3, -0.3])


def test_the_chain_that_ends_in_the_answer_is_quoted_with_it() -> None:
    last = "She later taught at Bergen Naval School."
    evidence = chained((0, "Its captain was Ragna Holm."), (1, last))
    answer = fixed(("Bergen Naval School", 0.9)).answer_one("Where did the captain of the Polar Fox teach?", evidence)
    assert quotes(answer)[:2] == [last, "Its captain was Ragna Holm."]


@pytest.mark.parametrize(
    ("question", "kind", "noun"),
    [
        ("Who wrote it?", "person", ""),
        ("When was it?", "date", ""),
        ("In which year did it open?", "date", "year"),
        ("Where is it?", "place", ""),
        ("What city hosts it?", "place", "city"),
        ("Who is the captain of it?", "person", "captain"),
        ("How many are there?", "number", ""),
        ("How many sailors did it carry?", "number", "sailors"),
        ("Which company made the ship that sank when it left?", "name", "company"),
        ("What was the name of the river that floods?", "name", "river"),
        ("The man who built it was born in what year?", "date", "year"),
        ("In Oslo, who built it?", "person", ""),
        ("Were they both poets?", "yes or no", ""),
        ("Name the ship.", "", ""),
    ],
)
def test_answer_kinds_and_nouns(question: str, kind: str, noun: str) -> None:
    assert (classify_question(question).kind, classify_question(question).noun) == (kind, noun)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which is older: University of California, Berkeley or the Sorbonne?",
         ("University of California, Berkeley", "Sorbonne")),
        ("Who was born later, Ann Lee or Bo Dahl?", ("Ann Lee", "Bo Dahl")),
        ("Which is a shrub, Mimosa or Fern?", ("Mimosa", "Fern")),
        ("Which is higher, Mimosa or Fern?", ("Mimosa", "Fern")),
        ("Who died first, Ann Lee or Bo Dahl?", ("Ann Lee", "Bo Dahl")),
        ("Who wrote it?", ()),
    ],
)  # fmt: skip
def test_which_options_are_offered(question: str, options: tuple[str, ...]) -> None:
    assert classify_question(question).options == options


def test_a_long_question_is_classified_quickly() -> None:
    question = "in or the " * 20_000 + ", x"
    assert classify_question(question).options == ()


def test_type_fit() -> None:
    date, number = Mention("May 1880", "date"), Mention("14", "number")
    person, place = Mention("Ragna Holm"), Mention("Bank of Norway")
    town = Mention("Bergen")
    assert score_type_fit(town, "place") > score_type_fit(Mention("Bergen Naval School"), "place")
    best = {"date": date, "number": number, "person": person}
    for (kind, right), other in itertools.product(best.items(), (date, number, person, place)):
        assert other is right or score_type_fit(other, kind) < score_type_fit(right, kind)
    assert [score_type_fit(mention, "") for mention in (date, number, person)] == [0.0, 0.0, 0.0]


def test_numbers_years_and_nationalities() -> None:
    text = "In 1911 it had 1,200 tons, 14 men and seven dogs."
    assert [text[m.start : m.end] for m in find_numbers(text, 0, len(text))] == ["1,200", "14", "seven"]
    text = "Twenty-five men, sixteen dogs, sixty-one seals and ten hundred kroner."
    numbers = ["Twenty-five", "sixteen", "sixty-one", "ten", "hundred"]
    assert [text[m.start : m.end] for m in find_numbers(text, 0, len(text))] == numbers
    assert find_nationality("Ragna Holm was a retired Norwegian captain.") == "Norwegian"
    assert find_nationality("It rained.") == ""


@pytest.mark.parametrize(
    ("question", "verb"),
    [
        ("Who founded the school where the boat is kept?", "founded"),
        ("Who is the father of the man who directed Fram?", "directed"),
        ("By whom was the Fram built?", "built"),
        ("When was the town of the architect founded?", "founded"),
        ("Who was Nansen?", ""),
        ("What is the capital?", ""),
    ],
)
def test_the_main_verb_is_read_from_the_question(question: str, verb: str) -> None:
    assert find_asked_verb(question) == (ENGLISH.stem(verb) if verb else "")


def test_a_weak_answer_is_headed_by_its_likeliest_candidates() -> None:
    names = tuple(Scored(name, 0.1) for name in ("Bergen, Norway", "Bergen", "Tromso", "Malmo"))
    weak = Answer("Bergen, Norway", (), names, TWO, weak=True)
    assert weak.headline == "Not sure: perhaps Bergen, Norway or Tromso"
    assert Answer("Bergen", (), names[1:2], TWO, weak=True).headline == "Not sure: perhaps Bergen"
    assert Answer("Bergen", (), names, TWO).headline == "Bergen"
    assert Answer("", (), names, TWO, weak=True).headline == ""
    assert Answer("what a model wrote", (), (), TWO, weak=True).headline == "what a model wrote"
