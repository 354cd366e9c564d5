"""Splitting of documents into passages at the strongest break that fits, with exact character offsets, by `semchunk`.

`semchunk` is given a prepared text of the same length, so offsets stay valid: white space is simplified, since it
recurses once for each distinct run of it; full stops of scripts without spaces become Latin ones, the only ones it
knows; a run of letters without any break is cut after a fixed number of characters, since it would split it letter by
letter.
Source: the `semchunk` library. Differs from the source: the three preparations above.
"""

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, cast

from clew.errors import InputError
from clew.indexing.passage_times import TIMES_VERSION, find_document_time, find_stated_times
from clew.text.display import format_count
from clew.text.page_text import blank_unread
from clew.text.places import cut_places
from clew.text.sentences import sentence_spans
from clew.types import Document, Passage, Place, PlaceStart

_CHARACTERS_PER_TOKEN = 16
_MAX_OPENING = 150  # characters of a first sentence that stands for a title
_UNREAD_PER_TOKEN = 64
_UNSPACED_SCRIPTS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_UNREAD = "\ue000"  # for private use: neither a word nor white space
_TOKEN = re.compile(rf"[{_UNSPACED_SCRIPTS}]|[^\W{_UNSPACED_SCRIPTS}]+")
_LINE_BREAK = re.compile(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_OTHER_SPACE = re.compile(r"[^\S\n ]")
_LONG_SPACE_RUN = re.compile(r"\n{16,}| {16,}")
_LATIN_STOPS = str.maketrans("。｡！？；，、：؟۔।॥،؛", "....;,,:....,;")
_NON_LATIN_STOP = re.compile("[。｡！？；，、：؟۔।॥،؛]")


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text, the unit of passage limits; fast, and independent of any model.

    A word counts 1, a letter of a script without spaces 1, punctuation and white space 0; a text counts at least 1 for
    each 16 characters begun, so that encoded data, emoji and rows of dots have a size too. What of a page is not read
    counts 1 for `_UNREAD_PER_TOKEN` characters.
    """
    unread = text.count(_UNREAD)
    return (
        max(len(_TOKEN.findall(text)), -(-(len(text) - unread) // _CHARACTERS_PER_TOKEN)) + unread // _UNREAD_PER_TOKEN
    )


@dataclass(frozen=True, slots=True)
class Chunker:
    """Splits a document into passages."""

    max_tokens: int = 256  # maximum tokens of a passage (see `count_tokens`), at least 1
    overlap: int = 0  # maximum tokens shared by neighbouring passages, from 0 to `max_tokens - 1`
    time_field: str = ""  # field of the metadata that holds a document's time; "" for those that usually do

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"a passage of {format_count(self.max_tokens, 'token')} cannot be made; give at least 1")
        if not 0 <= self.overlap < self.max_tokens:
            wanted = f"give 0 to {self.max_tokens - 1} for {self.max_tokens}"
            raise InputError(f"an overlap of {format_count(self.overlap, 'token')} cannot be made; {wanted}")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Chunker":
        """Return the chunker of an index's settings; numbers that it does not take are an InputError."""
        limits = int(settings["passage_tokens"]), int(settings["passage_overlap"])
        return cls(*limits, str(settings.get("time_field", "")))

    @property
    def fingerprint(self) -> str:
        """Identifier that changes whenever the passages of some document would change."""
        times = f"{TIMES_VERSION}:time={self.time_field}"
        return f"chunker-4:semchunk-{version('semchunk')}:tokens={self.max_tokens}:overlap={self.overlap}:{times}"

    def split(self, document: Document) -> list[Passage]:
        """Return the passages of a document in order, each with `text == document.text[start:end]`.

        A document within the limit is one passage with the document's id; otherwise the ids are `id#1`, `id#2` and so
        on. Passages neither start nor end with white space. Without overlap they contain every other character exactly
        once. A document of only white space has no passage.
        """
        start, end = _strip_span(document.text, 0, len(document.text))
        if start == end:
            return []
        time = find_document_time(document, self.time_field)
        whole = Passage(
            id=document.id,
            document_id=document.id,
            title=document.title,
            text=document.text[start:end],
            start=start,
            end=end,
            metadata={**document.origin, **document.metadata},
            time=time,
        )
        read = blank_unread(document.text, _UNREAD)
        if count_tokens(read[start:end]) <= self.max_tokens:
            (own,) = cut_places(document.places, document.text, [(start, end)])
            return [replace(whole, places=own, times=find_stated_times(read[start:end], time))]
        spans = self._join_unread(read, list(self._passage_spans(document.text, read, start, end)))
        places = cut_places(document.places or _opening_place(document, read), document.text, spans)
        return [
            replace(
                whole,
                id=f"{document.id}#{number}",
                text=document.text[first:last],
                start=first,
                end=last,
                places=own,
                times=find_stated_times(read[first:last], time),
            )
            for number, ((first, last), own) in enumerate(zip(spans, places, strict=True), 1)
        ]

    def _join_unread(self, read: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the spans, those of which nothing is read joined to a neighbour where both are not too long."""
        joined: list[tuple[int, int]] = []
        is_after_unread = False
        for first, last in spans:
            is_unread = not read[first:last].strip(_UNREAD + string.whitespace)
            is_short = joined and last - joined[-1][0] <= self.max_tokens * _UNREAD_PER_TOKEN
            if is_short and (is_unread or is_after_unread):
                joined[-1] = joined[-1][0], last
                is_after_unread = is_unread and is_after_unread
            else:
                joined.append((first, last))
                is_after_unread = is_unread
        return joined

    def _passage_spans(self, text: str, read: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        from semchunk.semchunk import chunk

        for piece_start, piece_end in _cut_long_runs(read, start, end, self.max_tokens * _CHARACTERS_PER_TOKEN):
            piece = _simplify(read[piece_start:piece_end])
            # The token counter is not memoised: semchunk's cache of counts is global and never emptied.
            overlap = self.overlap or None
            chunks = chunk(piece, self.max_tokens, count_tokens, memoize=False, offsets=True, overlap=overlap)
            for first, last in cast("tuple[list[str], list[tuple[int, int]]]", chunks)[1]:
                first, last = _strip_span(text, piece_start + first, piece_start + last)
                if first < last:
                    yield first, last


def _opening_place(document: Document, read: str) -> tuple[PlaceStart, ...]:
    """Return the place of a whole text without a title: its first sentence stands for its heading, if it is short."""
    if document.title:
        return ()
    opening = read[: 2 * _MAX_OPENING].replace(_UNREAD, " ")
    start, end = next(iter(sentence_spans(opening)), (0, 0))
    sentence = " ".join(opening[start:end].split())
    return (PlaceStart(0, Place(heading=sentence)),) if 0 < len(sentence) <= _MAX_OPENING else ()


def _strip_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Move both ends inwards past white space; they are equal if there is nothing else."""
    piece = text[start:end].rstrip()
    return start + len(piece) - len(piece.lstrip()), start + len(piece)


def _cut_long_runs(text: str, start: int, end: int, max_run: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive pieces [start, end), cut only within runs of letters longer than `max_run`."""
    # Possessive: a run is scanned once, whether it is long enough or not.
    for run in re.finditer(rf"\w{{{max_run}}}(?=\w)", text[start:end]):
        yield start, run.end()
        start = run.end()
    yield start, end


def _simplify(text: str) -> str:
    text = _OTHER_SPACE.sub(" ", _LINE_BREAK.sub("\n", text))
    text = _LONG_SPACE_RUN.sub(_break_run, text)
    return _NON_LATIN_STOP.sub(lambda stop: stop.group().translate(_LATIN_STOPS), text)


def _break_run(run: re.Match[str]) -> str:
    """Insert a stronger break after each 15 characters of a run, which leaves few distinct lengths of runs."""
    length = run.end() - run.start()
    unit = "\n" * 15 + " " if run.group()[0] == "\n" else " " * 15 + "\t"
    return (unit * (length // 16 + 1))[:length]
