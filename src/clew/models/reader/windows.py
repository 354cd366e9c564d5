"""Windows of tokens: a question and the sentences of some texts that a reader sees together.

A window is `[CLS] question [SEP] title : sentences [SEP] title : sentences [SEP] ...`, texts in the order given. What
does not fit is left out by sentences: preferred ones stay first, then the first sentence of each text, then those that
share rare words with the question. Headings stand before the sentence below them and answer nothing; menus, targets of
links and marks of Markdown are not read. Of the rows of a table those stay of whose cells the question names most,
spelt as sentences, "owner of widget-7 is team-9."; an answer is within one cell, and a short one is whole.

Source: own rules. Differs from the source: nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, final

import numpy as np

from clew.arrays import LongArray
from clew.text.mentions import MAX_CELL_NAME
from clew.text.normalization import name_key
from clew.text.page_text import blank_unread
from clew.text.rows import RowCell, find_key, row_cells
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
_PART = np.array([0, 1, 0, 0, 0])  # the column of a token's sentence or cell
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
    text: LongArray  # (L,) position of the text that a token is of; -1 for the question, titles, names of columns etc.
    sentence: LongArray  # (L,) number of the sentence or cell that a token is of; -1 where there is none
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
    tokens: LongArray  # (m, 5) id, number of the cell or 0 or -1 for added words, first and last character, whole
    is_first: bool
    is_preferred: bool
    table: str | None = None  # the name of a row's first column; None where it is no row
    named: int = 0  # letters of the cells of a row that the question names
    score: float = 0.0


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
        if used + sum(len(sentence.tokens) for sentence in sentences) > self._max_tokens:
            sentences = _select(sentences, question_ids, titles, self._max_tokens - 2 - len(question_ids))
        parts = [_extra_tokens([self._begin, *question_ids, self._end])]
        sources, count = [np.full(len(parts[0]), -1)], 0
        for at, own in groupby(sentences, key=lambda sentence: sentence.text):
            parts.append(_extra_tokens(titles[at]))
            for sentence in own:
                parts.append(sentence.tokens + count * (sentence.tokens[:, 1:2] >= 0) * _PART)
                count += 1 + int(sentence.tokens[:, 1].max(initial=-1))
            parts.append(_extra_tokens([self._end]))
            sources.append(np.full(sum(map(len, parts)) - sum(map(len, sources)), at))
        ids, sentence_numbers, starts, ends, whole = np.concatenate(parts).T
        source = np.concatenate(sources)
        of_text = np.where(sentence_numbers < 0, -1, source)
        return Window(ids, (source >= 0).astype(np.int64), of_text, sentence_numbers, starts, ends, whole)

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
        headings: list[str] = []  # above the next sentence
        for start, end in sentence_spans(blank_unread(content)):
            if content.startswith("#", start):  # it answers nothing
                words = content[start:end].lstrip("#").strip()
                headings += [words] if words != text.title else []
                continue
            is_preferred = any(start < b and a < end for a, b in text.preferred)
            cells = row_cells(content, start, end)
            table, named = cells[0].column if cells else None, _count_named(content, cells, question_key)
            tokens = self._spell_row(content, cells, ids, offsets) if cells else _cut_tokens(ids, offsets, start, end)
            if headings:
                tokens = np.concatenate([_extra_tokens(self._read_title(": ".join(headings))), tokens])
                headings = []
            for begin in range(0, len(tokens), _MAX_SENTENCE_TOKENS):
                part = tokens[begin : begin + _MAX_SENTENCE_TOKENS]
                found.append(_Sentence(at, part, not found, is_preferred, table, named))
        return found

    def _spell_row(self, text: str, cells: Sequence[RowCell], ids: Sequence[int], offsets: LongArray) -> LongArray:
        """Return the tokens of a row as sentences: each cell after words on its column and what the row is of."""
        parts, key = list[LongArray](), cells[find_key(text, cells)]
        name = text[key.start : min(key.end, key.start + MAX_CELL_NAME)]
        for number, cell in enumerate(cells):
            words = f"{cell.column} of {name} is" if cell.column and cell is not key else f"{cell.column}:"
            opening, end = (self._tokenizer.encode(one, add_special_tokens=False).ids for one in (words, "."))
            is_short = cell.end - cell.start <= MAX_CELL_NAME
            parts += [
                _extra_tokens(opening),
                _cut_tokens(ids, offsets, cell.start, cell.end, number, is_short),
                _extra_tokens(end),
            ]
        return np.concatenate(parts)


def _cut_tokens(
    ids: Sequence[int], offsets: LongArray, start: int, end: int, part: int = 0, is_whole: bool = False
) -> LongArray:
    """Return the tokens (m, 5) of a stretch of a text, from those of all of it."""
    first, last = np.searchsorted(offsets[:, 0], (start, end)).tolist()
    own, count = offsets[first:last], last - first
    return np.column_stack([ids[first:last], np.full(count, part), own, np.full(count, int(is_whole))]).astype(np.int64)


def _extra_tokens(ids: Sequence[int]) -> LongArray:
    """Return the tokens (m, 5) of words that are not of a text."""
    return np.array([(token, -1, 0, 0, 0) for token in ids], dtype=np.int64).reshape(-1, 5)


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
    counts = Counter(token for sentence in sentences for token in set(sentence.tokens[:, 0].tolist()))
    rarity = {token: math.log(len(sentences) / counts[token]) for token in set(question_ids) if counts[token]}
    for sentence in sentences:
        known = {*sentence.tokens[:, 0].tolist(), *titles[sentence.text]}
        sentence.score = sum(weight for token, weight in rarity.items() if token in known)
        sentence.score += _FIRST_SENTENCE * sentence.is_first - _LATER_TEXT * min(sentence.text, _MAX_LATER)
    order = sorted(range(len(sentences)), key=lambda at: (not sentences[at].is_preferred, -sentences[at].score, at))
    chosen: set[int] = set()
    begun: set[int] = set()
    for at in order:
        sentence = sentences[at]
        size = len(sentence.tokens) + (0 if sentence.text in begun else len(titles[sentence.text]) + 1)
        if size <= room:
            room -= size
            chosen.add(at)
            begun.add(sentence.text)
    return [sentences[at] for at in sorted(chosen)]
