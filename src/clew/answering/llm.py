"""Answers written by a language model from the passages, with quotes that are verified against the passages' text.

An unverified quote is dropped with a note, an answer without a verified quote is marked as weak, and a model that finds
no answer in the passages abstains.
"""

import re
from collections.abc import Callable, Sequence
from typing import cast, final

from pydantic_core import from_json

from clew.answering.replies import check_lengths, empty_answer, failed_answer, source_note
from clew.models.llm.prompts import cited_answer
from clew.models.llm.prompts.cited_answer import CitedAnswer, Quotation
from clew.protocols import LanguageModel
from clew.text.display import to_single_line
from clew.types import Answer, Citation, Evidence, Failure, Passage, Reply

ABSTAINED_NOTE = "the model found no answer in the passages"
UNSUPPORTED_NOTE = "no quote supports the answer: check it against the passages"
_QUOTE_PREVIEW_LENGTH = 120
_MAX_QUOTES = 20
_MIN_QUOTE_LENGTH, _MIN_QUOTE_LENGTH_NON_ASCII = 8, 4
"""Minimum characters of a quote; lower outside ASCII, where a character may be a word."""
_CHARACTER_VARIANTS = dict.fromkeys("'’‘", "['’‘ʼ]") | dict.fromkeys('"“”', '["“”„]') | dict.fromkeys("-–", "[-‐‑–—]")


@final
class LLMAnswerer:
    """Answers with a language model and verified quotes."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def answer(
        self, questions: Sequence[str], evidence: Sequence[Evidence], on_text: Callable[[str], None] | None = None
    ) -> list[Answer]:
        """Return one answer per question (see `Answerer`); all prompts are sent in one call."""
        check_lengths(questions, evidence)
        answerable = [i for i, item in enumerate(evidence) if item.passages and questions[i].strip()]
        prompts = [
            cited_answer.build_prompt(
                questions[i], _unique_passages(evidence[i]), [path.item for path in evidence[i].paths]
            )
            for i in answerable
        ]
        replies = self._model.complete(prompts, None if on_text is None else _partial_answer_callback(on_text))
        results = dict(zip(answerable, replies, strict=True))
        return [
            self._answer_from_reply(item, results[i]) if i in results else _unanswerable(questions[i], item)
            for i, item in enumerate(evidence)
        ]

    def _answer_from_reply(self, evidence: Evidence, result: Reply | Failure) -> Answer:
        if isinstance(result, Failure):
            return failed_answer(evidence, result, result.usage)
        reply = cast("CitedAnswer", result.value)
        written = source_note(self._model.name, result)
        text = to_single_line(reply.answer)
        if not reply.answerable or not text:
            return empty_answer(evidence, (written, ABSTAINED_NOTE), result.usage)
        citations, dropped = _check_quotes(reply.quotations, _unique_passages(evidence))
        notes = (written, *dropped, *(() if citations else (UNSUPPORTED_NOTE,)))
        return Answer(text, citations, (), evidence, weak=not citations, notes=notes, usage=result.usage)


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return the offsets of the first match of a quote that does not cut a word, else None.

    Other white space, quotation marks and dashes match too.
    """
    words = quote.split()
    if not words:
        return None
    pattern = r"\s+".join("".join(_CHARACTER_VARIANTS.get(char, re.escape(char)) for char in word) for word in words)
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
    """Return citations of the quotes found in a passage, in the passage's words, and a note per rejected quote."""
    citations: dict[Citation, None] = {}
    dropped: list[str] = []
    for quotation in quotations[:_MAX_QUOTES]:
        quote = to_single_line(quotation.quote)
        if len(quote) < (_MIN_QUOTE_LENGTH if quote.isascii() else _MIN_QUOTE_LENGTH_NON_ASCII):
            dropped.append(f"dropped a quote that is too short to be evidence: {quote!r}")
            continue
        # The model may miscount the passages: the quoted words decide, its number only says where to look first.
        order = sorted(enumerate(passages, 1), key=lambda numbered: numbered[0] != quotation.passage)
        matches = ((number, passage, find_quote(quotation.quote, passage.text)) for number, passage in order)
        match = next(((number, passage, span) for number, passage, span in matches if span is not None), None)
        if match is None:
            dropped.append(f"dropped a quote that is in no passage: {quote[:_QUOTE_PREVIEW_LENGTH]!r}")
            continue
        number, passage, (start, end) = match
        if number != quotation.passage:
            dropped.append(f"a quote attributed to passage {quotation.passage} is from {passage.title or passage.id}")
        citations[passage.cite(start, end)] = None
    return tuple(citations), dropped


def _partial_answer_callback(on_text: Callable[[str], None]) -> Callable[[str], None]:
    """Return a callback that passes the answer field of an incomplete JSON reply on to `on_text`."""

    def parse_partial(text: str) -> None:
        start = text.find("{")
        if start < 0:
            return
        try:
            value = from_json(text[start:].encode(errors="replace"), allow_partial="trailing-strings")
        except ValueError:
            return  # not JSON, or not yet: the complete reply is validated later
        if isinstance(value, dict) and isinstance(value.get("answer"), str) and value.get("answerable", True) is True:
            on_text(to_single_line(value["answer"]))

    return parse_partial


def _unanswerable(question: str, evidence: Evidence) -> Answer:
    return empty_answer(evidence, ("the evidence holds no passage" if question.strip() else "the question is empty",))


def _unique_passages(evidence: Evidence) -> list[Passage]:
    return list({scored.item.id: scored.item for scored in evidence.passages}.values())
