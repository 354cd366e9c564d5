"""Windows of tokens: a question and the sentences of some texts that a reader sees together.

A window is `[CLS] question [SEP] title : sentences [SEP] title : sentences [SEP] ...`, texts in the order given. What
does not fit is left out by sentences: preferred ones stay first, then the first sentence of each text, then those that
share rare words with the question. Headings, targets of links and marks of Markdown are not read. Of the rows of a
table those stay of whose cells the question names most; an answer is within one cell, and a short one is whole.

Source: own rules. Differs from the source: nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from clew.arrays import LongArray
from clew.text.mentions import MAX_CELL_NAME
from clew.text.normalization import name_key
from clew.text.rows import RowCell, row_cells
from clew.text.sentences import sentence_spans
from clew.types import Evidence

MAX_TOKENS = 448
"""Tokens of a window, the special ones included."""
MAX_QUESTION_TOKENS, MAX_TITLE_TOKENS = 96, 24
READ_PASSAGES = 5
"""Passages of a search that a reader is given, when it answers and when it learns."""
_MAX_SENTENCE_TOKENS = 160  # of a longer sentence the rest is a sentence of its own
_MAX_CHARACTERS = 20_000  # of a text that are looked at
# [[target| and ]], the [ of a link and its ](target), and * or _ around words
_MARKS = re.compile(
    r"\[\[(?:[^\[\]|\n]{0,200}\|)?|\]\]|\[(?=[^\[\]\n]{1,200}\]\()|\]\((?:[^()\n]|\([^()\n]{0,100}\)){0,300}\)"
    r"|(?<![\w*_])[*_]{1,3}(?=\w)|(?<=[\w.,;!?)])[*_]{1,3}(?![\w*_])"
)
_MAX_GAP = 2  # characters between the tokens of a stretch
_LATER_TEXT, _MAX_LATER = 0.05, 20  # what a text loses for each one before it, of so many
_FIRST_SENTENCE = 1.5  # what the first sentence of a text counts, in words that half the sentences have not


@dataclass(frozen=True, slots=True)
class ReaderText:
    """A text to read, with its title and the places of sentences that are to be read first."""

    title: str
    text: str
    preferred: tuple[tuple[int, int], ...] = ()  # start and end of each, in characters


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The tokens of a question and of texts, and the place of each token in its text."""

    ids: LongArray  # (L,)
    types: LongArray  # (L,) 0 for the question, 1 for the texts
    text: LongArray  # (L,) position of the text that a token is of; -1 for the question, titles and special tokens
    sentence: LongArray  # (L,) number of the sentence or cell that a token is of; -1 for none, and names of columns
    starts: LongArray  # (L,) first character in the text, 0 where there is none
    ends: LongArray  # (L,)
    whole: LongArray  # (L,) 1 for a token of a short cell, which answers as a whole or not at all

    def stretches(self) -> tuple[tuple[int, int, int], ...]:
        """Return text, start and end of each stretch of neighbouring tokens, in their order."""
        found: list[tuple[int, int, int]] = []
        for text, start, end in zip(self.text.tolist(), self.starts.tolist(), self.ends.tolist(), strict=True):
            if text >= 0 and found and found[-1][0] == text and start - found[-1][2] <= _MAX_GAP:
                found[-1] = (text, found[-1][1], end)
            elif text >= 0:
                found.append((text, start, end))
        return tuple(found)


@dataclass(slots=True)
class _Sentence:
    text: int
    ids: list[int]
    starts: list[int]
    ends: list[int]
    parts: list[int]  # of each token: the number of its cell in a row, -1 for none; else 0
    whole: list[int]
    is_first: bool
    is_preferred: bool
    table: str | None = None  # the name of a row's first column; None where it is no row
    named: int = 0  # letters of the cells of a row that the question names
    score: float = 0.0


@dataclass(slots=True)
class _Layout:
    ids: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)

    def add(self, ids: Sequence[int]) -> None:
        """Add tokens that are of no sentence."""
        nothing = [0] * len(ids)
        self._add(ids, -1, [-1] * len(ids), nothing, nothing, nothing)

    def add_sentence(self, sentence: _Sentence) -> None:
        first = 1 + max(self.sentences, default=-1)
        numbers = [part if part < 0 else first + part for part in sentence.parts]
        self._add(sentence.ids, sentence.text, numbers, sentence.starts, sentence.ends, sentence.whole)

    def _add(self, ids: Sequence[int], text: int, *columns: Sequence[int]) -> None:
        self.ids += ids
        self.texts += [text] * len(ids)
        for own, values in zip((self.sentences, self.starts, self.ends, self.whole), columns, strict=True):
            own += values


@final
class WindowMaker:
    """Makes windows with the tokenizer of a BERT model, a `tokenizers.Tokenizer` without padding and truncation."""

    def __init__(self, tokenizer: Any, max_tokens: int = MAX_TOKENS) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._begin, self._end = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))

    def make(self, question: str, texts: Sequence[ReaderText]) -> Window:
        """Return the window of a question and of n texts, of which the sentences that fit it least are left out."""
        question_ids = self._tokenizer.encode(question, add_special_tokens=False).ids[:MAX_QUESTION_TOKENS]
        titles = [self._read_title(text.title) for text in texts]
        question_key = f" {name_key(question)} "
        sentences = _drop_other_rows(
            [sentence for at, text in enumerate(texts) for sentence in self._read_sentences(at, text, question_key)]
        )
        used = 2 + len(question_ids) + sum(len(title) + 1 for title in titles)
        if used + sum(len(sentence.ids) for sentence in sentences) > self._max_tokens:
            sentences = _select(sentences, question_ids, titles, self._max_tokens - 2 - len(question_ids))
        layout = _Layout()
        layout.add([self._begin, *question_ids, self._end])
        question_length = len(layout.ids)
        by_text: dict[int, list[_Sentence]] = {}
        for sentence in sentences:
            by_text.setdefault(sentence.text, []).append(sentence)
        for at, own in by_text.items():
            layout.add(titles[at])
            for sentence in own:
                layout.add_sentence(sentence)
            layout.add([self._end])
        types = [0] * question_length + [1] * (len(layout.ids) - question_length)
        columns = (layout.ids, types, layout.texts, layout.sentences, layout.starts, layout.ends, layout.whole)
        return Window(*(np.array(values, dtype=np.int64) for values in columns))

    def _read_title(self, title: str) -> list[int]:
        """Return the tokens of a title with a colon; [] without one."""
        found: list[int] = self._tokenizer.encode(f"{title}:", add_special_tokens=False).ids if title else []
        return found[:MAX_TITLE_TOKENS]

    def _read_sentences(self, at: int, text: ReaderText, question_key: str) -> list[_Sentence]:
        content = text.text[:_MAX_CHARACTERS]
        encoding = self._tokenizer.encode(content, add_special_tokens=False)
        ids, offsets = np.array(encoding.ids), np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        for mark in _MARKS.finditer(content):
            first, last = np.searchsorted(offsets[:, 0], mark.span()).tolist()
            ids[first:last] = -1
        ids, offsets = ids[ids >= 0].tolist(), offsets[ids >= 0]
        found: list[_Sentence] = []
        for start, end in sentence_spans(content):
            if content.startswith("#", start):
                continue  # a heading answers nothing
            first, last = np.searchsorted(offsets[:, 0], (start, end)).tolist()
            is_preferred = any(start < b and a < end for a, b in text.preferred)
            cells = row_cells(content, start, end)
            table, named = cells[0].column if cells else None, _count_named(content, cells, question_key)
            for begin in range(first, last, _MAX_SENTENCE_TOKENS):
                part = slice(begin, min(begin + _MAX_SENTENCE_TOKENS, last))
                starts, ends = offsets[part].T.tolist()
                parts, whole = _find_parts(starts, cells)
                found.append(
                    _Sentence(at, ids[part], starts, ends, parts, whole, not found, is_preferred, table, named)
                )
        return found


def _find_parts(starts: Sequence[int], cells: Sequence[RowCell]) -> tuple[list[int], list[int]]:
    """Return of each token of a sentence the number of its cell, and whether that one is short."""
    if not cells:
        return [0] * len(starts), [0] * len(starts)
    parts = [next((n for n, cell in enumerate(cells) if cell.start <= start < cell.end), -1) for start in starts]
    short = [cell.end - cell.start <= MAX_CELL_NAME for cell in cells]
    return parts, [int(part >= 0 and short[part]) for part in parts]


def _count_named(text: str, cells: Sequence[RowCell], question_key: str) -> int:
    keys = {name_key(text[cell.start : cell.end]) for cell in cells if cell.end - cell.start <= MAX_CELL_NAME}
    return sum(len(key) for key in keys if f" {key} " in question_key)


def _drop_other_rows(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    """Return the sentences without the rows of a table of which the question names less than of another row of it."""
    most: dict[str | None, int] = {}
    for one in sentences:
        most[one.table] = max(one.named, most.get(one.table, 0))
    return [one for one in sentences if one.table is None or one.named == most[one.table]]


def strip_marks(text: str, start: int = 0, end: int | None = None) -> str:
    """Return `text[start:end]` without its marks of emphasis and of links in Markdown, and without links' targets."""
    end = len(text) if end is None else end
    pieces, place = [], start
    for mark in _MARKS.finditer(text, start):
        if mark.start() >= end:
            break
        pieces.append(text[place : mark.start()])
        place = mark.end()
    return "".join([*pieces, text[place:end]])


def evidence_texts(evidence: Evidence) -> list[ReaderText]:
    """Return the passages of evidence as texts to read, the sentences of its chains preferred."""
    preferred: dict[str, list[tuple[int, int]]] = {}
    for chain in evidence.chains:
        for quote in chain.item.sentences:
            preferred.setdefault(quote.passage_id, []).append((quote.start, quote.end))
    texts = []
    for scored in evidence.passages:
        passage = scored.item
        spans = tuple((a - passage.start, b - passage.start) for a, b in preferred.get(passage.id, ()))
        texts.append(ReaderText(passage.title, passage.text, spans))
    return texts


def _select(
    sentences: Sequence[_Sentence], question_ids: Sequence[int], titles: Sequence[Sequence[int]], room: int
) -> list[_Sentence]:
    """Return the sentences to read within `room` tokens, in their order; the title of each text counts once."""
    counts = Counter(token for sentence in sentences for token in set(sentence.ids))
    rarity = {token: math.log(len(sentences) / counts[token]) for token in set(question_ids) if counts[token]}
    for sentence in sentences:
        known = {*sentence.ids, *titles[sentence.text]}
        sentence.score = sum(weight for token, weight in rarity.items() if token in known)
        sentence.score += _FIRST_SENTENCE * sentence.is_first - _LATER_TEXT * min(sentence.text, _MAX_LATER)
    order = sorted(range(len(sentences)), key=lambda at: (not sentences[at].is_preferred, -sentences[at].score, at))
    chosen: set[int] = set()
    begun: set[int] = set()
    for at in order:
        sentence = sentences[at]
        size = len(sentence.ids) + (0 if sentence.text in begun else len(titles[sentence.text]) + 1)
        if size <= room:
            room -= size
            chosen.add(at)
            begun.add(sentence.text)
    return [sentences[at] for at in sorted(chosen)]
