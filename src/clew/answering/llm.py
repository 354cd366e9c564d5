"""Answers that a language model writes from the passages, with quotes that are checked against their text.

A quote that does not stand in its passage is dropped and said so; an answer that no quote supports is marked as weak; a
model that finds no answer in the passages abstains.
"""

import re
from collections.abc import Callable, Sequence
from typing import cast, final

from pydantic_core import from_json

from clew.errors import InputError
from clew.models.llm.prompts import cited_answer
from clew.models.llm.prompts.cited_answer import CitedAnswer, Quotation
from clew.protocols import LanguageModel
from clew.text.sanitize import to_single_line
from clew.types import Answer, Citation, Evidence, Failure, Passage, Reply

ABSTAINED_NOTE = "the model finds no answer in the passages"
UNSUPPORTED_NOTE = "no quote supports the answer: check it against the passages"
_QUOTE_PREVIEW_LENGTH = 120
_MAX_QUOTES = 20
_MIN_QUOTE_LENGTH, _MIN_QUOTE_LENGTH_NON_ASCII = 8, 4
"""Letters of a quote that can prove something; fewer in scripts where a letter is a word."""
_CHARACTER_VARIANTS = {
    "'": "['’‘ʼ]",
    "’": "['’‘ʼ]",
    "‘": "['’‘ʼ]",
    '"': '["“”„]',
    "“": '["“”„]',
    "”": '["“”„]',
    "-": "[-‐‑–—]",
    "–": "[-‐‑–—]",
}


@final
class LLMAnswerer:
    """Asks a language model.

    Args:
        model: Any.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def answer(
        self,
        questions: Sequence[str],
        evidence: Sequence[Evidence],
        on_text: Callable[[str], None] | None = None,
    ) -> list[Answer]:
        """Return one answer a question (see `Answerer`); all are asked for at once."""
        if len(questions) != len(evidence):
            raise InputError(f"{len(questions)} questions, {len(evidence)} pieces of evidence; give one a question")
        asked = [bool(question.strip() and found.passages) for question, found in zip(questions, evidence, strict=True)]
        prompts = [
            cited_answer.build_prompt(question, _unique_passages(found), [path.item for path in found.paths])
            for question, found, ask in zip(questions, evidence, asked, strict=True)
            if ask
        ]
        grow = None if on_text is None else _partial_answer_callback(on_text)
        results = iter(self._model.complete(prompts, grow))
        return [
            self._answer_from_reply(found, next(results)) if ask else _empty_answer(question, found)
            for question, found, ask in zip(questions, evidence, asked, strict=True)
        ]

    def _answer_from_reply(self, evidence: Evidence, result: Reply | Failure) -> Answer:
        if isinstance(result, Failure):
            notes = (result.reason,)
            return Answer("", (), (), evidence, weak=True, notes=notes, usage=result.usage, failure=result)
        reply = cast("CitedAnswer", result.value)
        written = f"written by {self._model.name}{', from the cache' if result.cached else ''}"
        text = to_single_line(reply.answer)
        if not reply.answerable or not text:
            return Answer("", (), (), evidence, weak=True, notes=(written, ABSTAINED_NOTE), usage=result.usage)
        citations, dropped = _check_quotes(reply.quotations, _unique_passages(evidence))
        notes = (written, *dropped, *(() if citations else (UNSUPPORTED_NOTE,)))
        return Answer(text, citations, (), evidence, weak=not citations, notes=notes, usage=result.usage)


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return where a quote stands in a text; white space and the shape of quotation marks and dashes may differ."""
    words = quote.split()
    if not words:
        return None
    pattern = r"\s+".join(
        "".join(_CHARACTER_VARIANTS.get(letter, re.escape(letter)) for letter in word) for word in words
    )
    for found in re.finditer(pattern, text):
        if not (_cuts_word(text, found.start()) or _cuts_word(text, found.end())):
            return found.start(), found.end()
    return None


def _cuts_word(text: str, place: int) -> bool:
    around = text[max(place - 1, 0) : place + 1]
    return 0 < place < len(text) and around.isalnum() and around.isascii()


def _check_quotes(
    quotations: Sequence[Quotation], passages: Sequence[Passage]
) -> tuple[tuple[Citation, ...], list[str]]:
    """Return the quotes that stand in a passage, as the passage has them, and a note for each that does not."""
    citations: dict[Citation, None] = {}
    dropped: list[str] = []
    for quotation in quotations[:_MAX_QUOTES]:
        quote = to_single_line(quotation.quote)
        if len(quote) < (_MIN_QUOTE_LENGTH if quote.isascii() else _MIN_QUOTE_LENGTH_NON_ASCII):
            dropped.append(f"dropped a quote that is too short to prove anything: {quote!r}")
            continue
        # A model that miscounts the passages still quotes a real one: the words decide.
        order = sorted(enumerate(passages, 1), key=lambda numbered: numbered[0] != quotation.passage)
        places = ((passage, find_quote(quotation.quote, passage.text)) for _, passage in order)
        passage, place = next(((p, place) for p, place in places if place is not None), (None, None))
        if passage is None or place is None:
            dropped.append(f"dropped a quote that stands in no passage: {quote[:_QUOTE_PREVIEW_LENGTH]!r}")
            continue
        if passage is not order[0][1] or order[0][0] != quotation.passage:
            dropped.append(f"a quote ascribed to passage {quotation.passage} stands in {passage.title or passage.id}")
        start, end = place
        where = (passage.start + start, passage.start + end)
        citations[Citation(passage.document_id, passage.id, passage.title, *where, passage.text[start:end])] = None
    return tuple(citations), dropped


def _partial_answer_callback(on_text: Callable[[str], None]) -> Callable[[str], None]:
    """Return what shows the answer inside a reply that is not whole yet."""

    def grow(text: str) -> None:
        start = text.find("{")
        if start < 0:
            return
        try:
            value = from_json(text[start:].encode(errors="replace"), allow_partial="trailing-strings")
        except ValueError:
            return  # not JSON, or not yet: the whole reply is judged when it is there
        if isinstance(value, dict) and isinstance(value.get("answer"), str) and value.get("answerable", True) is True:
            on_text(to_single_line(value["answer"]))

    return grow


def _empty_answer(question: str, evidence: Evidence) -> Answer:
    lack = "the evidence holds no passage" if question.strip() else "the question is empty"
    return Answer("", (), (), evidence, weak=True, notes=(lack,))


def _unique_passages(evidence: Evidence) -> list[Passage]:
    return list({scored.item.id: scored.item for scored in evidence.passages}.values())
