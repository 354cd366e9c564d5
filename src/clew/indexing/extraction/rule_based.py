"""Extraction of entities and triples by rules: no model, no network, any script.

Mentions: capitalised spans (`University of Oslo`), quoted names, acronyms, dates, numbers with units, identifiers; and
in scripts without capitals the stretches between function words. Triples: within a sentence, (subject, the words before
the mention, mention); the subject is the name that opens the sentence, else the passage's title. Of a row of a table
the subject is its first cell that is no bare number, and the name of each other cell's column is the relation.

Source: none; the patterns are Clew's own. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clew.text.mentions import MAX_CELL_NAME, WORD, find_mentions
from clew.text.normalization import name_key
from clew.text.rows import RowCell, find_key, row_cells
from clew.text.sentences import sentence_spans
from clew.types import Extraction, Failure, Mention, Passage

RULES_VERSION = "rules-3"
MAX_RELATION_WORDS = 7
DEFAULT_RELATION = "mentions"
_BRACKETS = re.compile(r"[(（\[][^()（）\[\]]*[)）\]]")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class RuleExtractor:
    """Extracts by rules, each passage on its own, so that a result never depends on the rest of the corpus."""

    @property
    def fingerprint(self) -> str:
        """Version of the rules."""
        return RULES_VERSION

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return for each passage the mentions, in order and without overlaps, and the triples."""
        return [self._extract(passage) for passage in passages]

    def _extract(self, passage: Passage) -> Extraction:
        mentions: list[Mention] = []
        triples: list[tuple[str, str, str]] = []
        for start, end in sentence_spans(passage.text):
            sentence_mentions = find_mentions(passage.text, start, end)
            mentions.extend(sentence_mentions)
            triples.extend(relate_mentions(passage.text, (start, end), sentence_mentions, passage.title))
        return Extraction(tuple(mentions), tuple(dict.fromkeys(triples)))


def relate_mentions(
    text: str, sentence: tuple[int, int], mentions: Sequence[Mention], title: str
) -> list[tuple[str, str, str]]:
    """Return a triple for each mention of the sentence `text[start:end]` but its subject, which is the head."""
    if cells := row_cells(text, *sentence):
        return _relate_cells(text, cells, mentions)
    if not mentions:
        return []
    title_key = name_key(title)
    subject = _find_subject(text, sentence, mentions[0], title)
    subject_key = name_key(subject)
    triples: list[tuple[str, str, str]] = []
    previous, relation = sentence[0], DEFAULT_RELATION
    for mention in mentions:
        words = relation_words(text[previous : mention.start])
        relation = words or relation
        previous = mention.end
        key = name_key(mention.name)
        if key in (subject_key, title_key):
            relation = DEFAULT_RELATION
        elif subject:
            triples.append((subject, relation, mention.name))
        if not subject:
            subject, subject_key = mention.name, key
    return triples


def _relate_cells(text: str, cells: Sequence[RowCell], mentions: Sequence[Mention]) -> list[tuple[str, str, str]]:
    """Return the triples of a row: the names in a cell, else a short cell as it is, under the name of its column."""
    names = {cell: [m.name for m in mentions if cell.start <= m.start and m.end <= cell.end] for cell in cells}
    key = cells[find_key(text, cells)]
    subject = "".join(names[key][:1]) or text[key.start : key.end]
    return [
        (subject, " ".join(cell.column.split()[-MAX_RELATION_WORDS:]) or DEFAULT_RELATION, name)
        for cell in cells
        if cell is not key
        for name in names[cell] or [text[cell.start : cell.end]]
        if len(name) <= MAX_CELL_NAME and WORD.search(name) and name_key(name) != name_key(subject)
    ]


def relation_words(gap: str) -> str:
    """Return the last words of the text between two mentions, without brackets and leading conjunctions."""
    gap = _BRACKETS.sub(" ", gap)
    words = WORD.findall(gap)
    while words and words[0].lower() in ("and", "or", "but", "s", "the", "a", "an", "which", "who", "that"):
        words = words[1:]
    while words and words[-1].lower() in ("the", "a", "an"):
        words = words[:-1]
    if not words and gap and _CJK.search(gap):
        return gap.strip(" ,，、。；：")
    return " ".join(words[-MAX_RELATION_WORDS:])


def _find_subject(text: str, sentence: tuple[int, int], first: Mention, title: str) -> str:
    opening = text[sentence[0] : first.start].strip(" \t\n*#>-'\"“«").lower()
    if opening not in ("", "the", "a", "an") or first.kind in ("date", "number"):
        return title
    if not title or not _is_short_form(first.name, title):
        return first.name
    return title


def _is_short_form(name: str, title: str) -> bool:
    """Return whether all words of a name are in the title: `Lambert` for `Lambert, Margrave of Tuscany`."""
    words = name_key(title).split()
    return all(word in words for word in name_key(name).split())
