"""Spans of sentences that may answer a question: names and their parts, dates, numbers with units, phrases, titles.

Source: own rules, from the answers that the mentions alone missed on training questions of HotpotQA, 2Wiki and MuSiQue.
Differs from the source: nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from clew.answering.question_types import NAME_NOUNS, extract_year, find_clock_times, find_unmentioned_numbers
from clew.answering.sentence_selection import Sentence
from clew.text.casing import COMMON_WORDS
from clew.text.mentions import WORD
from clew.text.normalization import name_key, strip_parentheses
from clew.types import Mention

SPAN_KINDS = (
    "name", "acronym", "quoted", "identifier", "date", "number", "year", "day", "part", "joined", "extended", "phrase",
    "title",
)  # fmt: skip
MAX_PHRASE_WORDS = 4
_DAY = re.compile(r"\d{1,2}\s[A-Z][a-z]+|[A-Z][a-z]+\s\d{1,2}(?!\d)")
_LIST_GAP = re.compile(r",\s|\s(?:and|&)\s")
_RANGE_GAP = re.compile(r"\s?[–-]\s?|\s(?:to|until|and)\s")
_RANGE_START = re.compile(r"\b(?:from|between)\s\Z")
_BARE_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_INNER_CONNECTOR = re.compile(r"\s(?:[a-z]+\s)+")
_LINK_TARGET = re.compile(r"\]\([^()\s]*\)")
_NEXT_WORDS = re.compile(r"(?:\s|-)([a-z]{3,})(?!\w)(?:\s([a-z]{3,})(?!\w))?")
# A name does not go on over the verb after it: "Erik Voss painted". No answer of the training questions has one.
_VERB = re.compile(
    r"[a-z]+ed|wrote|led|built|made|became|won|ran|held|drew|sang|took|gave|went|left|saw|met|said|says"
    r"|brought|bought|sold|sent|taught"
    r"|found|fought|fell|began|came|chose|drove|flew|grew|kept|knew|lost|rode|rose|sailed|spent|spoke|stole|stood|swam|thought"
    r"|threw|told|wore|writes|paints|lives|leads|works|plays|sings|makes|owns|runs"
)
# They end a noun phrase, as past participles do: "basketball player born in".
_PHRASE_ENDS = frozenset({"born", "known", "won", "made", "written", "including", "featuring", "starring", "became"})


class AnswerSpan(NamedTuple):
    """A span `start`-`end` of a passage's text, and what kind of text it is (`SPAN_KINDS`)."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class SpanCandidate:
    """A candidate answer: a span, the sentence with the evidence for it, and the one that holds its text."""

    span: AnswerSpan
    sentence: Sentence  # where the answer was found
    holder: Sentence  # where its text stands: of a title another sentence of the same passage

    @property
    def text(self) -> str:
        """The answer, as written."""
        return self.holder.passage.text[self.span.start : self.span.end]


def find_answer_spans(sentence: Sentence) -> list[AnswerSpan]:
    """Return the distinct spans of a sentence that may answer a question, in the order of their kinds.

    The target of a Markdown link, such as `[Fram](fram.md)`, is no text, and nothing goes over it.
    """
    text = sentence.passage.text
    times = find_clock_times(text, sentence.start, sentence.end)
    named = [m for m in sentence.mentions if not any(m.start < t.end and t.start < m.end for t in times)]
    numbers = find_unmentioned_numbers(text, sentence.start, sentence.end, [*named, *times])
    mentions = sorted((*named, *times, *numbers), key=lambda m: m.start)
    spans: dict[tuple[int, int], AnswerSpan] = {}
    targets = [match.span() for match in _LINK_TARGET.finditer(text, sentence.start, sentence.end)]
    candidates = (
        *(AnswerSpan(m.start, m.end, m.kind if m.kind in SPAN_KINDS else "name") for m in mentions),
        *(part for mention in mentions for part in _parts(text, mention)),
        *_join_neighbours(text, mentions),
        *(longer for mention in mentions for longer in _add_next_words(text, mention, sentence.end)),
        *_phrases(text, sentence),
    )
    for span in candidates:
        is_target = any(start < span.end and span.start < end for start, end in targets)
        if span.start < span.end and text[span.start : span.end].strip() and not is_target:
            spans.setdefault((span.start, span.end), span)
    return list(spans.values())


def find_candidates(chosen: Sequence[Sentence], sentences: Sequence[Sentence]) -> list[SpanCandidate]:
    """Return the candidates of the chosen ones of all sentences: their spans, and the titles of their passages.

    A title counts only where a sentence of the passage has it word for word.
    """
    holders: dict[str, tuple[AnswerSpan, Sentence] | None] = {}
    candidates = []
    for sentence in chosen:
        candidates += [SpanCandidate(span, sentence, sentence) for span in find_answer_spans(sentence)]
        passage = sentence.passage
        if passage.id not in holders:
            holders[passage.id] = _find_title([s for s in sentences if s.passage.id == passage.id])
        if (held := holders[passage.id]) is not None:
            candidates.append(SpanCandidate(held[0], sentence, held[1]))
    return candidates


def _find_title(sentences: Sequence[Sentence]) -> tuple[AnswerSpan, Sentence] | None:
    title = strip_parentheses(sentences[0].passage.title).strip()
    for sentence in sentences if name_key(title) else ():
        at = sentence.passage.text.find(title, sentence.start, sentence.end)
        if at >= 0:
            return AnswerSpan(at, at + len(title), "title"), sentence
    return None


def _parts(text: str, mention: Mention) -> Iterator[AnswerSpan]:
    """Yield the year and the day of a date, a number without its unit, and parts of a name.

    These are the parts around its connectors, all but its first word, and all but a last word such as "River".
    """
    if mention.kind == "date":
        year = extract_year(mention)
        yield AnswerSpan(year.start, year.end, "year")
        if year.start > mention.start and (day := _DAY.search(text, mention.start, mention.end)):
            yield AnswerSpan(*day.span(), "day")
    elif mention.kind == "name":
        joints = list(_INNER_CONNECTOR.finditer(text, mention.start, mention.end))
        if joints:
            yield AnswerSpan(mention.start, joints[0].start(), "part")
            yield AnswerSpan(joints[-1].end(), mention.end, "part")
        words = list(WORD.finditer(text, mention.start, mention.end))
        if len(words) > 1:
            yield AnswerSpan(words[1].start(), mention.end, "part")
            if words[-1].group().lower() in NAME_NOUNS:
                yield AnswerSpan(mention.start, words[-2].end(), "part")
    elif mention.kind == "number" and (bare := _BARE_NUMBER.match(text, mention.start, mention.end)):
        yield AnswerSpan(*bare.span(), "part")


def _join_neighbours(text: str, mentions: Sequence[Mention]) -> Iterator[AnswerSpan]:
    """Yield neighbours of a list ("Bergen, Norway"), names around a nickname, and ranges of dates with their "from"."""
    reach: tuple[int, int] | None = None  # of the two before, if a comma joins them
    for before, after in pairwise(mentions):
        gap, dates = text[before.end : after.start], before.kind == after.kind == "date"
        pair = (before.start, after.end)
        if dates and _RANGE_GAP.fullmatch(gap):
            yield AnswerSpan(*pair, "joined")
            if opening := _RANGE_START.search(text[max(0, before.start - 8) : before.start]):
                yield AnswerSpan(before.start - len(opening.group()), after.end, "joined")
        elif not dates and _LIST_GAP.fullmatch(gap):
            yield AnswerSpan(*pair, "joined")
            if reach is not None and reach[1] == before.end:
                yield AnswerSpan(reach[0], after.end, "joined")
            reach = pair
    for first, nickname, last in zip(mentions, mentions[1:], mentions[2:], strict=False):
        around = text[first.end : nickname.start], text[nickname.end : last.start]
        if nickname.kind == "quoted" and len(around[0]) == len(around[1]) == 2 and (around[0] + around[1]).strip():
            yield AnswerSpan(first.start, last.end, "joined")


def _add_next_words(text: str, mention: Mention, end: int) -> Iterator[AnswerSpan]:
    """Yield a name or number with the one or two lower-case words after it: "American football", "14 sailors"."""
    if mention.kind not in ("name", "acronym", "number"):
        return
    match = _NEXT_WORDS.match(text, mention.end, end)
    if match is None:
        return
    for group in (1, 2):
        word = match[group]
        if not word or word in COMMON_WORDS or (mention.kind != "number" and _VERB.fullmatch(word)):
            return
        yield AnswerSpan(mention.start, match.end(group), "extended")


def _phrases(text: str, sentence: Sentence) -> Iterator[AnswerSpan]:
    """Yield the ends of runs of lower-case words that are no function words: "player", "basketball player"."""
    run: list[tuple[int, int]] = []
    for word in WORD.finditer(text, sentence.start, sentence.end):
        surface = word.group()
        fits = surface.islower() and len(surface) > 2 and surface not in COMMON_WORDS
        fits = fits and surface not in _PHRASE_ENDS and not surface.endswith(("ed", "ly"))
        if not fits or (run and text[run[-1][1] : word.start()] not in (" ", "-")):
            yield from _run_ends(run)
            run = []
        if fits:
            run.append(word.span())
    yield from _run_ends(run)


def _run_ends(run: Sequence[tuple[int, int]]) -> Iterator[AnswerSpan]:
    for first in run[-MAX_PHRASE_WORDS:]:
        yield AnswerSpan(first[0], run[-1][1], "phrase")
