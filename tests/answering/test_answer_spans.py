"""Spans that may answer a question: text of their sentence, in the forms that answers of data sets have."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.answering.answer_spans import SPAN_KINDS, find_answer_spans, find_candidates
from clew.answering.question_analysis import split_sentences
from clew.answering.question_types import QuestionType, can_answer
from clew.answering.sentence_selection import Sentence
from clew.text.mentions import find_mentions
from clew.types import Evidence, Passage, Scored


def sentences(text: str, title: str = "") -> list[Sentence]:
    passage = Passage("p", "d", title, text, 0, len(text))
    return split_sentences(Evidence((Scored(passage, 1.0),)), find_mentions)


@pytest.mark.parametrize(
    ("text", "span", "kind"),
    [
        ("She was born on 3 May 1880 there.", "3 May 1880", "date"),
        ("She was born on 3 May 1880 there.", "1880", "year"),
        ("She was born on 3 May 1880 there.", "3 May", "day"),
        ("He lived in Bergen, Norway, for years.", "Bergen, Norway", "joined"),
        ("He lived in Os, Bergen, Norway, then.", "Os, Bergen, Norway", "joined"),
        ("He ruled from 1986 to 2013 in peace.", "1986 to 2013", "joined"),
        ("He ruled from 1986 to 2013 in peace.", "from 1986 to 2013", "joined"),
        ('The film of Robert "Rob" Parissi was new.', 'Robert "Rob" Parissi', "joined"),
        ("It is near the University of Oslo there.", "Oslo", "part"),
        ("It is on the Fulda River in the north.", "Fulda", "part"),
        ("It rises 552 m above the sea.", "552", "part"),
        ("He played American football there.", "American football", "extended"),
        ("It carried 14 sailors in all.", "14 sailors", "extended"),
        ("He was a retired basketball player born in town.", "basketball player", "phrase"),
        ("He was a retired basketball player born in town.", "player", "phrase"),
    ],
)
def test_forms_of_answers(text: str, span: str, kind: str) -> None:
    (sentence,) = sentences(text)
    assert (span, kind) in {(text[s.start : s.end], s.kind) for s in find_answer_spans(sentence)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Erik Voss painted the harbour in 1901.", "Erik Voss"),
        ("In 1901 Erik Voss painted harbours.", "Erik Voss"),
        ("It was Erik Voss wrote that down.", "Erik Voss"),
        ("The Norwegian captain died in Bergen.", "Norwegian captain"),
    ],
)
def test_a_span_does_not_swallow_the_verb_after_a_name(text: str, name: str) -> None:
    (sentence,) = sentences(text)
    spans = {text[s.start : s.end] for s in find_answer_spans(sentence)}
    assert name in spans
    assert not [span for span in spans if span.startswith(name) and span != name]


def test_a_span_does_not_end_inside_a_word() -> None:
    (sentence,) = sentences("Er wurde von Karl Lindner gegründet.")
    assert "Karl Lindner gegr" not in {sentence.passage.text[s.start : s.end] for s in find_answer_spans(sentence)}


def test_a_title_counts_where_a_sentence_has_it() -> None:
    found = sentences("The Polar Fox is a ship. It sank in 1911.", "Polar Fox (ship)")
    titles = [c for c in find_candidates(found[1:], found) if c.span.kind == "title"]
    assert [(c.text, c.sentence, c.holder) for c in titles] == [("Polar Fox", found[1], found[0])]
    absent = sentences("It sank in 1911.", "Polar Fox (ship)")
    assert not [c for c in find_candidates(absent, absent) if c.span.kind == "title"]


WORDS = ["Oslo", ",", "and", "3 May 1880", '"x"', "14", "m", "of", "ship", "船長", "\n", "(", "$5 million"]
TEXTS = st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_spans_lie_in_their_sentence_and_are_distinct(text: str) -> None:
    for sentence in sentences(text, "Oslo"):
        spans = find_answer_spans(sentence)
        assert len({(s.start, s.end) for s in spans}) == len(spans)
        for span in spans:
            assert sentence.start <= span.start < span.end <= sentence.end
            assert text[span.start : span.end].strip()
            assert span.kind in SPAN_KINDS


def test_the_target_of_a_link_is_no_answer() -> None:
    (sentence,) = sentences("Help came from [Tom Crean](tom-crean.md) of the Terra Nova.")
    found = {sentence.text[span.start : span.end] for span in find_answer_spans(sentence)}
    assert "Tom Crean" in found
    assert not any("crean" in text or "md" in text for text in found)


@pytest.mark.parametrize(
    ("text", "is_place"),
    [("Bergen", True), ("Cape May", True), ("July", False), ("Royal Navy", False), ("Vega Expedition", False)],
)
def test_months_and_forces_are_no_places(text: str, is_place: bool) -> None:
    assert can_answer(text, "name", QuestionType("place")) == is_place
