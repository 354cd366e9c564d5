"""Questions of one step about a named entity: its own passage answers them, and no rival's."""

import pytest

from clew.answering.extractive import LIFE_NOTE, NO_SPAN_NOTE, RANKED_NOTE, ExtractiveAnswerer
from clew.answering.named_subject import find_life_date, find_subject, prefer_subject
from clew.answering.selection import open_extractive_answerer
from clew.answering.span_ranker import RankedSpan, answer_candidates
from clew.models.encoders.registry import open_encoder
from clew.types import Evidence, Passage, Scored

PEOPLE = (
    ("Erik Sandvei", "1883", "1965", "an Arctic geologist who drew the maps of the Lark expedition"),
    ("Frida Sandmo", "1885", "1962", "a photographer who was on the ice with Erik Sandvei"),
    ("Otto Kvam", "3 May 1871", "9 June 1912", "a sailor who died in a storm"),
    ("Lise de Wahl", "1901", "1988", "a pilot born in Malmo"),
    ("Jon Tveit", "1874", "1922", "an explorer who died in January 1922"),
)
LARK = "The Lark expedition of 1901 to 1903 set out from Bergen. Jon Tveit had led it before he bought the Heron."
HERON = "The Heron expedition of 1902 to 1904 was led by Otto Kvam. It met the Lark expedition in 1903."


def gather(*texts: tuple[str, str]) -> Evidence:
    passages = [Passage(f"p{i}", f"d{i}", title, text, 0, len(text)) for i, (title, text) in enumerate(texts)]
    return Evidence(tuple(Scored(passage, 1 / (1 + i)) for i, passage in enumerate(passages)))


def write_life(name: str, birth: str, death: str, rest: str) -> tuple[str, str]:
    return name, f"{name} ({birth}–{death}) was {rest}. In 1908 the museum of Bergen bought two pictures."


def rotate(first: int) -> Evidence:
    """Return the passages about all, with a rival's first."""
    lives = [write_life(*one) for one in PEOPLE]
    return gather(*lives[first:], *lives[:first])


@pytest.fixture(scope="module")
def ranker() -> ExtractiveAnswerer:
    """Return the answerer with the shipped weights."""
    answerer = open_extractive_answerer(open_encoder("bundled"))
    assert RANKED_NOTE in answerer.answer_one("Who led the Heron expedition?", gather(("Heron", HERON))).notes[-1]
    return answerer


@pytest.mark.parametrize("place", range(len(PEOPLE)))
def test_life_dates_are_those_of_the_named_person(ranker: ExtractiveAnswerer, place: int) -> None:
    name, birth, death, _ = PEOPLE[place]
    evidence = rotate((place + 1) % len(PEOPLE))
    asked = {
        f"When was {name} born?": birth, f"When did {name} die?": death,
        f"In what year did {name} die?": death[-4:], f"What is the date of birth of {name}?": birth,
        f"When was {name.split()[-1]} born?": birth,
    }  # fmt: skip
    for question, date in asked.items():
        answer = ranker.answer_one(question, evidence)
        assert (answer.text, answer.weak, answer.notes[-1]) == (date, False, LIFE_NOTE), question
        assert answer.citations[0].quote.startswith(f"{name} (")


@pytest.mark.parametrize(
    ("opening", "birth", "death"),
    [
        ("Erik Sandvei (born 1950)", "1950", ""),
        ("Erik Sandvei (1950–)", "1950", ""),
        ("Erik Sandvei (died 1965)", "", "1965"),
        ("Sir Erik Sandvei Holm (1883 – 1965)", "1883", "1965"),
        ("Erik Sandvei (Erik Moe; 3 May 1883, Bergen – 4 June 1965, Oslo)", "3 May 1883", "4 June 1965"),
        ("Erik Sandvei (c. 1883–1965)", "", ""),
        ("Erik Sandvei (reigned 1883–1901)", "", ""),
        ("Erik Sandvei (1883?–1965)", "", ""),
        ("Erik Sandvei (1883)", "", ""),
        ("Erik Sandvei (1883, 1885)", "", ""),
        ("Frida Sandmo (1885–1962)", "", ""),
        ("Erik Sandvei met Frida Sandmo (1885–1962)", "", ""),
    ],
)
def test_only_clear_brackets_after_the_name_give_dates(opening: str, birth: str, death: str) -> None:
    evidence = gather(("Erik Sandvei", f"{opening} was a Norwegian geologist."))
    found = []
    for question in ("When was Erik Sandvei born?", "When did Erik Sandvei die?"):
        analysis = ExtractiveAnswerer().analyze(question, evidence)
        assert analysis is not None
        life = find_life_date(analysis)
        found.append(life.text if life else "")
    assert found == [birth, death]


@pytest.mark.parametrize(
    "question",
    [
        "When was the father of Erik Sandvei born?",
        "Where was Erik Sandvei born?",
        "When was Erik Sandvei Junior born?",
        "When was Bergen founded?",
        "When did Erik Sandvei sell two pictures?",
        "Quand est né Erik Sandvei ?",
    ],
)
def test_other_questions_have_no_life_date(question: str) -> None:
    analysis = ExtractiveAnswerer().analyze(question, rotate(0))
    assert analysis is not None
    assert find_life_date(analysis) is None


def test_passages_that_differ_decide_nothing() -> None:
    texts = (write_life(*PEOPLE[0]), write_life("Erik Sandvei", "1890", "1970", "a baker"))
    analysis = ExtractiveAnswerer().analyze("When was Erik Sandvei born?", gather(*texts))
    assert analysis is not None
    assert find_life_date(analysis) is None


def test_no_date_of_a_rival_answers_for_one_whose_passage_has_none(ranker: ExtractiveAnswerer) -> None:
    silent = ("Mads Holm", "Mads Holm was a trader in wine. In 1908 he met Jon Tveit (1874–1922) in Bergen.")
    evidence = gather(write_life(*PEOPLE[4]), write_life(*PEOPLE[2]), silent)
    for question in ("When was Mads Holm born?", "When did Mads Holm die?"):
        answer = ranker.answer_one(question, evidence)
        assert (answer.text, answer.weak, answer.notes[-1]) == ("", True, NO_SPAN_NOTE)


def test_a_rivals_leader_is_not_the_answer(ranker: ExtractiveAnswerer) -> None:
    evidence = gather(("Heron expedition", HERON.split(" It met")[0]), ("Lark expedition", LARK))
    answer = ranker.answer_one("Who led the Lark expedition?", evidence)
    assert "Otto Kvam" not in answer.text
    assert ranker.answer_one("Who led the Heron expedition?", evidence).text == "Otto Kvam"


def test_what_is_said_of_another_is_not_asserted_of_a_name_without_a_passage() -> None:
    analysis = ExtractiveAnswerer().analyze("Who led the Plover Expedition?", gather(("Lark expedition", LARK)))
    assert analysis is not None
    ranked = [RankedSpan(one, 0.9) for one in answer_candidates(analysis)]
    assert ranked
    assert prefer_subject(ranked, analysis) == (ranked, False)


def test_spans_about_the_subject_come_first_and_a_rivals_alone_is_not_asserted() -> None:
    rival = "Heron expedition", HERON.split(" It met")[0]
    for texts, is_known in (
        ((rival, ("Lark expedition", LARK)), True),
        ((rival, ("Lark expedition", "It set out in 1901.")), False),
    ):
        analysis = ExtractiveAnswerer().analyze("Who led the Lark expedition?", gather(*texts))
        assert analysis is not None
        found = answer_candidates(analysis)
        ranked = [RankedSpan(one, 0.9 if one.text == "Otto Kvam" else 0.01) for one in found]
        ranked.sort(key=lambda one: -one.probability)
        assert ranked[0].candidate.text == "Otto Kvam"
        ordered, may_assert = prefer_subject(ranked, analysis)
        assert may_assert == is_known
        places = [one.candidate.sentence.passage.id for one in ordered]
        assert places == sorted(places, reverse=True)
        assert sorted(map(id, ordered)) == sorted(map(id, ranked))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who led the Lark expedition?", {"lark expedition"}),
        ("Who led the Lark?", {"lark", "lark expedition"}),
        ("Who led the expedition that met the Lark expedition?", None),
        ("When was the leader of the Lark expedition born?", None),
        ("Who led the Swan expedition?", {"swan", "swan expedition"}),
        ("Who built the ship Swan of the North?", {"swan of the north", "ship swan of the north"}),
        ("When was 42 released?", None),
        ("Where was the captain of the Swan born?", None),
        ("Who led?", None),
    ],
)
def test_what_questions_of_one_step_name(question: str, names: set[str] | None) -> None:
    texts = gather(("Heron expedition", HERON), ("Lark expedition", LARK))
    analysis = ExtractiveAnswerer().analyze(question, texts)
    assert analysis is not None
    subject = find_subject(analysis)
    assert (None if subject is None else set(subject.names)) == names
    is_titled = subject is not None and "lark expedition" in subject.names
    assert (frozenset() if subject is None else subject.passages) == ({"p1"} if is_titled else set())
