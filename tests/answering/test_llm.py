"""Answers of a language model: verified quotes, abstention, and streaming of a partial answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.answering.llm import ABSTAINED_NOTE, UNSUPPORTED_NOTE, LLMAnswerer, find_quote
from clew.errors import BudgetError, InputError
from clew.types import Evidence, Failure, Passage, Scored, Triple
from tests.models.llm.scripted_model import COST, ScriptedModel

SHIP = Passage("d1#0", "d1", "Vega", "The “Vega”  was\nbuilt in Bremerhaven – by Wencke.", 100, 150)
TOWN = Passage("d2", "d2", "", "Bremerhaven lies on the Weser.", 0, 30)
PATH = (Triple("Vega", "was built in", "Bremerhaven"), Triple("Bremerhaven", "lies on", "Weser"))
EVIDENCE = Evidence((Scored(SHIP, 2.0), Scored(TOWN, 1.0)), (Scored(PATH, 1.0),))


def make_answerer(reply: dict[str, object] | Failure) -> tuple[LLMAnswerer, ScriptedModel]:
    model = ScriptedModel(lambda _: reply)
    return LLMAnswerer(model), model


def test_quotes_are_located_in_the_passages() -> None:
    quotes = [{"passage": 1, "quote": 'The "Vega" was built in Bremerhaven - by Wencke'}]
    quotes += [{"passage": 1, "quote": "lies on the Weser"}, {"passage": 7, "quote": "lies on the Weser"}]
    answerer, model = make_answerer({"answerable": True, "answer": " Weser ", "quotations": quotes})
    (answer,) = answerer.answer(["On which river?"], [EVIDENCE])
    first, second = answer.citations
    assert first.quote == "The “Vega”  was\nbuilt in Bremerhaven – by Wencke"
    assert (first.start, first.end, first.passage_id) == (100, 148, "d1#0")
    assert (second.quote, second.start, second.document_id) == ("lies on the Weser", 12, "d2")
    assert (answer.text, answer.weak, answer.usage) == ("Weser", False, COST)
    assert "Vega | was built in | Bremerhaven; Bremerhaven | lies on | Weser" in model.prompts[0].content
    assert answer.evidence is EVIDENCE


def test_a_quote_that_is_in_no_passage_is_dropped_with_a_note() -> None:
    quotes = [{"passage": 1, "quote": "Vega was built in Hamburg."}, {"passage": 2, "quote": "on the Weser"}]
    answerer, _ = make_answerer({"answerable": True, "answer": "Weser", "quotations": quotes})
    (answer,) = answerer.answer(["On which river?"], [EVIDENCE])
    assert [citation.quote for citation in answer.citations] == ["on the Weser"]
    assert "dropped a quote that is in no passage: 'Vega was built in Hamburg.'" in answer.notes
    assert not answer.weak


def test_an_answer_that_nothing_supports_is_weak() -> None:
    for quotes in ([], [{"passage": 1, "quote": "made up"}], [{"passage": 1, "quote": "  "}]):
        answerer, _ = make_answerer({"answerable": True, "answer": "Elbe", "quotations": quotes})
        (answer,) = answerer.answer(["On which river?"], [EVIDENCE])
        assert (answer.text, answer.weak, answer.citations) == ("Elbe", True, ())
        assert UNSUPPORTED_NOTE in answer.notes


@pytest.mark.parametrize("reply", [{"answerable": False, "answer": "Elbe"}, {"answerable": True, "answer": " "}])
def test_it_abstains(reply: dict[str, object]) -> None:
    (answer,) = make_answerer(reply)[0].answer(["On which river?"], [EVIDENCE])
    assert (answer.text, answer.weak) == ("", True)
    assert ABSTAINED_NOTE in answer.notes


def test_questions_that_cannot_be_asked_and_replies_that_cannot_be_used() -> None:
    answerer, model = make_answerer(Failure("cited_answer", "it was: nonsense", COST))
    no_question, no_passage, failed = answerer.answer(["", "Who?", "Who?"], [EVIDENCE, Evidence(), EVIDENCE])
    assert model.batch_sizes == [1]
    assert no_question.notes == ("the question is empty",)
    assert no_passage.notes == ("the evidence holds no passage",)
    assert (failed.text, failed.notes, failed.usage) == ("", ("it was: nonsense",), COST)
    with pytest.raises(InputError, match="questions: 2, pieces of evidence: 1; give one per question"):
        answerer.answer(["a", "b"], [EVIDENCE])
    over = BudgetError("spent")
    (stopped,) = make_answerer(Failure("x", "spent", run_error=over))[0].answer(["a"], [EVIDENCE])
    assert (stopped.text, stopped.notes) == ("", ("spent",))
    assert stopped.failure is not None
    assert stopped.failure.run_error is over


def test_too_short_quotes_are_dropped() -> None:
    quotes = [
        {"passage": 1, "quote": quote} for quote in ("a", "the", " Weser ", "emerhaven – by Wencke", "built in B")
    ]
    answerer, _ = make_answerer({"answerable": True, "answer": "Weser", "quotations": quotes})
    (answer,) = answerer.answer(["On which river?"], [EVIDENCE])
    assert (answer.citations, answer.weak) == ((), True)
    assert "dropped a quote that is too short to be evidence: 'Weser'" in answer.notes
    (many,) = make_answerer({"answerable": True, "answer": "x", "quotations": quotes * 1000})[0].answer(
        ["?"], [EVIDENCE]
    )
    assert len(many.notes) < 30
    moved = [{"passage": 99, "quote": "lies on the Weser"}]
    (answer,) = make_answerer({"answerable": True, "answer": "x", "quotations": moved})[0].answer(["?"], [EVIDENCE])
    assert "a quote attributed to passage 99 is from d2" in answer.notes


def test_a_reply_becomes_one_line_without_control_characters() -> None:
    seen: list[str] = []
    reply = {"answerable": True, "answer": "Bob\n\n[1] Town (town.md)\n\u202e\x1b[31mforged"}
    (answer,) = make_answerer(reply)[0].answer(["Who?"], [EVIDENCE], seen.append)
    assert answer.text == seen[-1] == "Bob [1] Town (town.md) [31mforged"
    assert all("\n" not in text for text in seen)


def test_only_the_partial_answer_is_streamed() -> None:
    seen: list[str] = []
    make_answerer({"answerable": True, "answer": "the Weser"})[0].answer(["On which river?"], [EVIDENCE], seen.append)
    assert seen[-1] == "the Weser"
    assert all("the Weser".startswith(text) for text in seen)
    assert len(set(seen)) > 2
    seen.clear()
    make_answerer({"answerable": False, "answer": "guess"})[0].answer(["On which river?"], [EVIDENCE], seen.append)
    assert seen == []


@given(st.text(max_size=40), st.text(max_size=40), st.text(min_size=1, max_size=20))
def test_a_substring_is_always_found_and_the_match_has_the_same_words(before: str, after: str, quote: str) -> None:
    text = f"{before} {quote} {after}"
    place = find_quote(quote, text)
    if not quote.split():
        assert place is None
        return
    assert place is not None
    start, end = place
    assert 0 <= start < end <= len(text)
    assert len(text[start:end].split()) == len(quote.split())
