"""Snippets: the part of a passage that speaks to a question, as people read it, with the words that match marked.

    score(sentence) = sum of w(t) over the question's terms t in it + 1.5 [it is quoted] + 0.5 n

with w(t) = 0.25 for terms of the passage's title, which its sentences leave out and its heading repeats, else 1, and n
names of the evidence's paths that stand in it beside the title. The sentence with the highest score is shown, the first
of equal ones, and those after it as far as there is room.

Source: none. Differs from the source: nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from clew.rendering.markup import plain_line, plain_text
from clew.text.display import to_single_line
from clew.text.identifiers import MARKED, find_identifiers, identifier_terms, question_terms
from clew.text.normalization import name_key, terms_of_words, token_keys, tokens
from clew.text.sentences import sentence_spans
from clew.types import Evidence, Passage

_WIDTH = 300  # characters
_TITLE_WORTH, _QUOTE_WORTH, _NAME_WORTH = 0.25, 1.5, 0.5
_MIN_NAME = 3  # characters of a name that is marked
_FIRST_WORDS = 6  # of a sentence, by which it is found
_CUT = " ..."


@final
@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a passage on one line, and the spans (start, end) of it that match, ascending and apart."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    start: int | None = None  # offset in the passage of the sentence that matches best; None where it is not known


@final
class SnippetMaker:
    """Makes the snippets of the passages of some evidence for a question; "" for no question."""

    def __init__(self, question: str, evidence: Evidence) -> None:
        self._terms = {term for term in terms_of_words(token_keys(question)) if term}
        self._identifiers = {term for term in question_terms(question) if term[0] in MARKED}
        self._quotes: dict[str, list[str]] = {}
        for chain in evidence.chains:
            for sentence in chain.item.sentences:
                self._quotes.setdefault(sentence.passage_id, []).append(plain_line(sentence.quote))
        self._names: dict[str, list[str]] = {}
        for path in evidence.paths:
            for triple in path.item:
                for passage in triple.passages:
                    self._names.setdefault(passage, []).extend((triple.head, triple.tail))

    def make(self, passage: Passage, width: int = _WIDTH) -> Snippet:
        """Return the snippet of a passage, of at most `width` characters and what says that it is cut."""
        text = plain_text(passage.text)
        sentences = [to_single_line(text[start:end]) for start, end in sentence_spans(text)]
        own = name_key(passage.title)
        if len(sentences) > 1 and name_key(sentences[0]) == own:
            del sentences[0]  # the heading, which stands above the snippet
        if not sentences:
            return Snippet("")
        names = [name for name in dict.fromkeys(self._names.get(passage.id, ())) if name_key(name) != own]
        scores = [self._score(sentence, passage, names) for sentence in sentences]
        best = scores.index(max(scores))
        start = _find_sentence(passage.text, sentences[best])
        while best and len(" ".join(sentences[best - 1 :])) <= width:  # there is room for what stands before it
            best -= 1
        shown = self._cut(" ".join(sentences[best:]), width)
        if best:
            shown = f"... {shown}"
        return Snippet(shown, self._mark(shown, names), start)

    def _score(self, sentence: str, passage: Passage, names: Sequence[str]) -> float:
        title = set(terms_of_words(token_keys(passage.title)))
        found = self._terms.intersection(terms_of_words(token_keys(sentence)))
        score = sum(_TITLE_WORTH if term in title else 1.0 for term in found)
        written = find_identifiers(sentence, tokens(sentence))
        score += len(self._identifiers.intersection(term for *_, one in written for term in identifier_terms(one)))
        if any(quote and (quote in sentence or sentence in quote) for quote in self._quotes.get(passage.id, ())):
            score += _QUOTE_WORTH
        return score + _NAME_WORTH * sum(len(name) >= _MIN_NAME and name in sentence for name in names)

    def _cut(self, text: str, width: int) -> str:
        """Return the beginning of a text; where the first match is beyond it, what is around that match."""
        if len(text) <= width:
            return text
        start = 0
        first = next((span[0] for span in self._matches(text)), 0)
        if first > width * 2 // 3:
            start = text.rfind(" ", 0, first - width // 3) + 1
        shown = text[start : start + width]
        if start + width < len(text):
            shown = (shown.rsplit(" ", 1)[0] if " " in shown else shown).rstrip() + _CUT
        return f"... {shown}" if start else shown

    def _matches(self, text: str) -> Iterable[tuple[int, int]]:
        words = tokens(text)
        terms = terms_of_words([word.key for word in words])
        return ((word.start, word.end) for word, term in zip(words, terms, strict=True) if term in self._terms)

    def _mark(self, shown: str, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
        places = ((shown.find(name), name) for name in names if len(name) >= _MIN_NAME)
        spans = [*self._matches(shown), *((place, place + len(name)) for place, name in places if place >= 0)]
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return tuple(merged)


def _find_sentence(text: str, sentence: str) -> int | None:
    """Return where a sentence begins in a text that may have marks between its words."""
    words = re.findall(r"\w+", sentence)[:_FIRST_WORDS]
    found = re.search(r"\W{1,20}".join(map(re.escape, words)), text)
    return found.start() if words and found else None
