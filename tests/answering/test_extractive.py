"""The extractive answerer: exact quotations, no invented text, a warning for weak evidence, deterministic."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.answering.extractive import (
    CANDIDATE_NOTE,
    COMPARISON_NOTE,
    MISSING_NAME_NOTE,
    NO_MODEL_NOTE,
    OFF_TOPIC_NOTE,
    UNDECIDED_NOTE,
    ExtractiveAnswerer,
)
from clew.answering.languages import ENGLISH
from clew.answering.question_types import (
    classify_question,
    extract_year,
    find_asked_verb,
    find_first_year,
    find_nationality,
    find_numbers,
    score_type_fit,
)
from clew.errors import InputError
from clew.models.encoders.hashing import HashingEncoder, NoEncoder
from clew.types import Answer, Citation, Evidence, Mention, Passage, Path, Scored, SentenceChain, Triple

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
ENCODERS = (None, NoEncoder(), HashingEncoder())


def quotes(answer: Answer) -> list[str]:
    return [citation.quote for citation in answer.citations]


@pytest.mark.parametrize("encoder", ENCODERS, ids=("none", "no encoder", "hashing"))
def test_a_chain_of_two_passages_is_quoted_and_its_end_is_the_answer(encoder: HashingEncoder | None) -> None:
    answer = ExtractiveAnswerer(encoder).answer_one(WHERE_BORN, TWO)
    assert answer.text == "Bergen"
    assert answer.candidates[0].item == "Bergen"
    assert {citation.document_id for citation in answer.citations} == {"d0", "d1"}
    assert "Its captain was Ragna Holm." in quotes(answer)
    assert quotes(answer)[0].startswith("Ragna Holm was a Norwegian captain born in Bergen")
    assert answer.weak  # the rules alone assert no name
    assert answer.notes == (NO_MODEL_NOTE, CANDIDATE_NOTE)
    assert answer.evidence is TWO


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


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=4), st.sampled_from(ENCODERS), st.integers(0, 50))
def test_nothing_is_invented(
    question: str, texts: list[tuple[str, str]], encoder: HashingEncoder | None, shift: int
) -> None:
    source = passages(*texts, shift=shift)
    result = Evidence(tuple(Scored(p, 1.0) for p in source))
    answer = ExtractiveAnswerer(encoder, max_encoded=3).answer_one(question, result)
    by_id = {passage.id: passage for passage in source}
    for citation in answer.citations:
        passage = by_id[citation.passage_id]
        assert passage.text[citation.start - passage.start : citation.end - passage.start] == citation.quote != ""
    assert len(set(answer.citations)) == len(answer.citations) <= 4
    assert answer.text in ("", "yes", "no") or any(answer.text in quote for quote in quotes(answer))
    assert all(candidate.item and any(candidate.item in p.text for p in source) for candidate in answer.candidates)
    assert len({candidate.item for candidate in answer.candidates}) == len(answer.candidates)
    assert answer.notes[0] == NO_MODEL_NOTE
    assert answer.text or answer.weak
    assert ExtractiveAnswerer(encoder, max_encoded=3).answer([question], [result]) == [answer]


def test_candidates_come_best_first() -> None:
    scores = [candidate.score for candidate in ExtractiveAnswerer().answer_one(WHERE_BORN, THREE).candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) > 2


@pytest.mark.parametrize("encoder", [None, HashingEncoder()], ids=("none", "hashing"))
def test_evidence_about_something_else_is_weak(encoder: HashingEncoder | None) -> None:
    answer = ExtractiveAnswerer(encoder).answer_one("Which treaty ended the Boxer Rebellion in Peking?", TWO)
    assert answer.weak
    assert answer.text == ""
    assert answer.candidates == ()
    assert answer.notes == (
        NO_MODEL_NOTE,
        "no passage mentions 'Boxer Rebellion'",
        "no passage mentions 'Peking'",
        OFF_TOPIC_NOTE,
    )


def test_a_missing_name_leaves_no_answer_even_when_the_rest_is_found() -> None:
    answer = ExtractiveAnswerer().answer_one("Which wooden ship was built in Tromso for Amundsen?", TWO)
    assert answer.weak
    assert answer.text == ""
    assert answer.citations
    assert answer.notes[-1] == MISSING_NAME_NOTE
    assert "no passage mentions 'Amundsen'" in answer.notes


@pytest.mark.parametrize(
    ("question", "source", "note"),
    [
        ("", TWO, "the question is empty"),
        (" \n", TWO, "the question is empty"),
        (WHERE_BORN, Evidence(), "the evidence holds no passage with text"),
        (WHERE_BORN, evidence(("Polar Fox", " ")), "the evidence holds no passage with text"),
    ],
)
def test_no_question_or_no_text(question: str, source: Evidence, note: str) -> None:
    assert ExtractiveAnswerer().answer_one(question, source) == Answer(
        "", (), (), source, weak=True, notes=(NO_MODEL_NOTE, note)
    )


def test_a_question_of_function_words_is_weak() -> None:
    assert ExtractiveAnswerer().answer_one("who is it?", TWO).weak


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was the captain of the Polar Fox?", "Ragna Holm"),
        ("When was the captain of the Polar Fox born?", "3 May 1880"),
        ("In what year was the captain of the Polar Fox born?", "1880"),
        ("How many sailors did the Polar Fox carry?", "14"),
        ("How many medals did the bread of Otto Lind win?", "three"),
    ],
)
def test_the_kind_of_answer_follows_the_question(question: str, answer: str) -> None:
    assert ExtractiveAnswerer().answer_one(question, THREE).text == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was born first, Ragna Holm or Otto Lind?", "Ragna Holm"),
        ("Who is younger, Ragna Holm or Otto Lind?", "Otto Lind"),
        ("Which of the two was a baker, Ragna Holm or Otto Lind?", "Otto Lind"),
        ("Are Ragna Holm and Otto Lind of the same nationality?", "no"),
    ],
)
def test_comparisons_that_the_sentences_decide(question: str, answer: str) -> None:
    result = ExtractiveAnswerer().answer_one(question, THREE)
    assert result.text == answer
    assert result.notes[-1] == COMPARISON_NOTE
    assert {citation.title for citation in result.citations} >= {"Ragna Holm", "Otto Lind"}


def test_two_of_one_nationality() -> None:
    source = evidence(("Ragna Holm", CAPTAIN), ("Otto Lind", BAKER.replace("Swedish", "Norwegian")))
    assert (
        ExtractiveAnswerer().answer_one("Do Ragna Holm and Otto Lind share the same nationality?", source).text == "yes"
    )


@pytest.mark.parametrize(
    "question", ["Who is taller, Ragna Holm or Otto Lind?", "Who died first, Ragna Holm or Otto Lind?"]
)
def test_a_comparison_without_its_facts_is_left_open(question: str) -> None:
    answer = ExtractiveAnswerer().answer_one(question, THREE)
    assert answer.notes[-1] == UNDECIDED_NOTE
    assert (answer.text, answer.weak) == ("", True)
    assert {candidate.item for candidate in answer.candidates} == {"Ragna Holm", "Otto Lind"}


def test_yes_or_no_without_its_facts_is_left_open() -> None:
    answer = ExtractiveAnswerer().answer_one("Was the Polar Fox a wooden ship?", TWO)
    assert (answer.text, answer.weak) == ("", True)
    assert answer.notes[-1] == UNDECIDED_NOTE


def test_the_end_of_a_path_is_preferred() -> None:
    text = "Ragna Holm met Ivar Moe in Bergen. Ragna Holm met Nils Dahl in Bergen."
    question = "Who did Ragna Holm meet in Bergen?"
    assert ExtractiveAnswerer().answer_one(question, evidence(("Meetings", text))).text == "Ivar Moe"
    path = (Triple("Bergen", "home of", "Ragna Holm"), Triple("Ragna Holm", "met", "Nils Dahl"))
    answer = ExtractiveAnswerer().answer_one(question, evidence(("Meetings", text), paths=(path,)))
    assert answer.text == "Nils Dahl"
    assert quotes(answer)[0] == "Ragna Holm met Nils Dahl in Bergen."


def test_an_answer_outside_the_chosen_sentences_is_quoted_too() -> None:
    text = (
        " ".join(f"Ragna Holm met in Bergen a guest for reason {'abcde'[i]}." for i in range(5))
        + " The guest Nils Dahl came."
    )
    path = (Triple("Ragna Holm", "met", "Nils Dahl"),)
    answer = ExtractiveAnswerer().answer_one(
        "Who is the guest of Ragna Holm in Bergen?", evidence(("", text), paths=(path,))
    )
    assert answer.text == "Nils Dahl"
    assert quotes(answer)[0] == "The guest Nils Dahl came."
    assert all(quote.startswith("Ragna Holm met") for quote in quotes(answer)[1:])
    assert len(quotes(answer)) == 4


def test_the_same_passage_twice_is_quoted_once() -> None:
    twice = Evidence((*TWO.passages, *TWO.passages))
    assert (
        ExtractiveAnswerer().answer_one(WHERE_BORN, twice).citations
        == ExtractiveAnswerer().answer_one(WHERE_BORN, TWO).citations
    )


def test_a_mention_without_a_place_is_no_candidate() -> None:
    def placeless(text: str, start: int, end: int) -> list[Mention]:
        return [] if text == WHERE_BORN else [Mention("Atlantis"), Mention("Outside", "name", end, end + 7)]

    answer = ExtractiveAnswerer(name_finder=placeless).answer_one(WHERE_BORN, TWO)
    assert (answer.text, answer.weak, answer.candidates) == ("", True, ())
    assert answer.citations


def test_questions_and_evidence_must_pair() -> None:
    with pytest.raises(InputError, match="questions: 2, pieces of evidence: 1"):
        ExtractiveAnswerer().answer(["a", "b"], [TWO])
    with pytest.raises(InputError, match="max_encoded is 0"):
        ExtractiveAnswerer(max_encoded=0)


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
    ("question", "options", "comparison"),
    [
        ("Which is older: University of California, Berkeley or the Sorbonne?",
         ("University of California, Berkeley", "Sorbonne"), "earlier"),
        ("Who was born later, Ann Lee or Bo Dahl?", ("Ann Lee", "Bo Dahl"), "later"),
        ("Which is a shrub, Mimosa or Fern?", ("Mimosa", "Fern"), "description"),
        ("Which is higher, Mimosa or Fern?", ("Mimosa", "Fern"), "undecidable"),
        ("Who died first, Ann Lee or Bo Dahl?", ("Ann Lee", "Bo Dahl"), "undecidable"),
        ("Who wrote it?", (), ""),
    ],
)  # fmt: skip
def test_which_options_are_offered(question: str, options: tuple[str, ...], comparison: str) -> None:
    assert (classify_question(question).options, classify_question(question).comparison) == (options, comparison)


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
    year = extract_year(Mention("3 May 1880", "date", 10, 20))
    assert (year.name, year.start, year.end) == ("1880", 16, 20)
    assert extract_year(Mention("3 May", "date", 1, 6)) == Mention("3 May", "date", 1, 6)
    assert find_first_year("12,1999 then 1850 and 1700") == 1850
    assert find_first_year("none") is None
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


def test_the_sentence_with_the_asked_verb_gives_the_answer() -> None:
    text = "The school is in London. Visitors come to the school from South Georgia. It was founded by Edward Alleyn."
    source = evidence(("Dulwich College", text))
    assert ExtractiveAnswerer().answer_one("Who founded the school Dulwich College?", source).text == "Edward Alleyn"


def cite(passage: Passage, quote: str) -> Citation:
    start = passage.start + passage.text.index(quote)
    return Citation(passage.document_id, passage.id, passage.title, start, start + len(quote), quote)


def chained(*quotes: tuple[int, str]) -> Evidence:
    """Return the three passages with one chain of sentences."""
    found = passages(("Polar Fox", SHIP), ("Ragna Holm", CAPTAIN), ("Otto Lind", BAKER), shift=100)
    chain = SentenceChain(tuple(cite(found[number], quote) for number, quote in quotes), ("x",) * (len(quotes) - 1))
    return Evidence(tuple(Scored(p, 1.0) for p in found), chains=(Scored(chain, 1.0),))


@pytest.mark.parametrize("encoder", ENCODERS, ids=("none", "no encoder", "hashing"))
def test_the_sentence_of_the_answer_and_those_of_the_best_chain_are_quoted(encoder: HashingEncoder | None) -> None:
    last = "She later taught at Bergen Naval School."
    evidence = chained((0, "Its captain was Ragna Holm."), (1, last))
    answer = ExtractiveAnswerer(encoder).answer_one("Where did the captain of the Polar Fox teach?", evidence)
    assert set(quotes(answer)[:3]) >= {"Its captain was Ragna Holm.", last}
    assert answer.text in quotes(answer)[0]


def test_a_chain_of_longer_quotations_gives_their_best_sentences() -> None:
    evidence = chained((0, SHIP), (1, CAPTAIN))
    answer = ExtractiveAnswerer().answer_one("Where did the captain of the Polar Fox teach?", evidence)
    assert {q in SHIP for q in quotes(answer)[:2]} == {True, False}
    assert all(any(q in text for text in (SHIP, CAPTAIN, BAKER)) for q in quotes(answer))


def test_a_name_in_the_last_sentence_of_a_chain_is_preferred() -> None:
    question = "Where was the captain or the baker born?"
    ends = ((2, BAKER.split(". ")[0] + "."), (1, CAPTAIN.split(". ")[0] + "."))
    answers = [ExtractiveAnswerer().answer_one(question, chained((0, "It carried 14 sailors."), end)) for end in ends]
    assert [answer.candidates[0].item for answer in answers] == ["Otto Lind", "Ragna Holm"]


def test_a_weak_answer_is_headed_by_its_likeliest_candidates() -> None:
    names = tuple(Scored(name, 0.1) for name in ("Bergen, Norway", "Bergen", "Tromso", "Malmo"))
    weak = Answer("Bergen, Norway", (), names, TWO, weak=True)
    assert weak.headline == "Not sure: perhaps Bergen, Norway or Tromso"
    assert Answer("Bergen", (), names[1:2], TWO, weak=True).headline == "Not sure: perhaps Bergen"
    assert Answer("Bergen", (), names, TWO).headline == "Bergen"
    assert Answer("", (), names, TWO, weak=True).headline == ""
    assert Answer("what a model wrote", (), (), TWO, weak=True).headline == "what a model wrote"
