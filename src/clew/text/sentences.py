"""Sentence splitting by rules, for scripts with and without spaces, abbreviations and lists, in linear time.

In text whose sentences begin in lower case, as in lower-cased corpora, transcripts and chats, a mark at the end of a
sentence is believed without a capital after it. A paragraph is taken for such where, after marks that may end a
sentence, lower case follows more than twice as often as a capital, its own first letter included.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from clew.text.rows import find_row_end


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Never at the end of a sentence: a name or a word follows.
_TITLES = _word_set(
    "mr mrs ms mx dr prof ste gen col capt cmdr lt maj sgt cpl pvt adm rev fr hon pres gov sen rep supt messrs mme "
    "mlle e.g i.e vs cf viz hr sra srta d.h z.b u.a bzw г-н г-жа им ул пр просп проф акад св см напр т.е т.к"
)
# End a sentence only if the next word commonly starts one: "by Acme Inc. The firm" against "by Acme Inc. of Ohio".
_INNER_ABBREVIATIONS = _word_set(
    "inc ltd corp co bros jr sr st esq etc al dept univ assn d.c a.m p.m ph.d b.c.e mt ft ave blvd rd jan feb mar apr "
    "jun jul aug sept sep oct nov dec г гг в вв др т.д т.п т.н руб тыс млн млрд usw approx"
)
# Do not end a sentence before a number: "No. 5", "c. 1900", "pp. 12".
_BEFORE_NUMBERS = _word_set("no nos nr c ca circa p pp vol vols ch chap sec art fig figs eq op стр с т рис №")
_SENTENCE_STARTERS = _word_set(
    "the a an in on at it its he she his her they their we our this that these those there then when while after "
    "before however but and although during since from by as for with if i you my who what where why how one two both "
    "many most some another later meanwhile today also он она они оно это этот эта в на по но как когда после его её их"
)

_FULL_STOPS = "。！？｡؟۔܀-܂।॥။።፧፨։។៕᠃᠉།༎᱾᱿꧉꯫"
"""Marks that end a sentence of a script of their own, whatever follows."""
_BOUNDARY = re.compile(
    rf"(?P<full>(?:[{_FULL_STOPS}]|(?<=[\u3040-\u30ff\u3400-\u9fff])[!?]++|(?<=[\u0370-\u03ff])[;\u037e](?=\s))++"
    r"[」』”’）》\"')\]]*+)"
    r"|(?P<end>[.!?…‽]++)(?P<closed>[\"'”’»)\]*_]*+)"
    r"|(?<=[\u0e00-\u0eff])(?P<space>[ \u00a0]++)(?=[\u0e00-\u0eff])"
    r"|(?P<line>(?:\r\n|[\n\r\u2028\u2029\v\f\x85])\s*+)"
)
_LINE_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029\v\f\x85]")
_OPENING_MARKS = "\"'“‘«„([{*_¿¡—–-/|"
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
# After a quotation that ends in a full stop, these continue the sentence around it: 「行く。」と言った。
_QUOTATION_CONTINUES = frozenset("とてがのにはをもで、，）」』")
_NEXT_WORD = re.compile(r"[\"'“‘«„(\[*_¿¡—–-]{0,8}(?P<word>\w{1,30}+)(?P<initial>\.)?")
_BLOCK_START = re.compile(r"[ \t]*(?:#{1,6}\s|[-*+•‣◦]\s|\(?[0-9]{1,9}[.)]\s|[|>]|```|~~~|={3,}|-{3,}|\*{3,}|_{3,})")
_LIST_NUMBER = re.compile(r"\s*\(?(?:[0-9]{1,9}|[A-Za-z]|[ivxIVX]{1,6})\Z")
_FIRST_LETTER = re.compile(r"[^\W\d_]")
_ROW = re.compile(r"[^\s:;\n][^:;\n]*: [^\n]+")
_CLOSING_QUOTATION, _PAUSES = ("'", '"', "”", "’", "»"), ("...", "..", "…")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_BLANK_LINE = re.compile(r"(?>\r\n|\n|\r)(?:[ \t]*+(?>\r\n|\n|\r))++[ \t]*+")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦|>]|\(?[0-9]{1,9}[.)])[ \t]")
_SENTENCE_END = re.compile(rf"[.!?…‽{_FULL_STOPS}][\"'”’»)\]*_」』）》]*(?:\[[0-9]{{1,4}}\])*\Z")
_LOOKBACK = 40
# A line of at least this many characters was probably wrapped to fit a page, so its sentence continues.
_MIN_WRAPPED_LINE = 50
# Thai and Lao have no full stop: a space after at least this many characters ends a sentence.
_MIN_UNMARKED_SENTENCE = 60
_UNCASED_RATIO = 2
_SHORT_TEXT = 2048  # characters: texts up to this length are cached
_MAX_HEADING = 80  # characters: a longer paragraph is no heading
MIN_SENTENCE_CHARACTERS, MAX_JOINED_CHARACTERS, MAX_PASSAGE_SENTENCES = 30, 300, 40


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of the sentences of a text, in order.

    The spans do not overlap, neither start nor end with white space, and together cover every other character. A blank
    line ends a sentence, and so does the line of a heading, list item, quotation or table; any other line break does
    unless the line is long or the next one starts in lower case, as in wrapped text. A row of a table is one sentence.
    """
    spans = []
    start = 0
    ends = _ends_of_short_text(text) if len(text) <= _SHORT_TEXT else _sentence_ends(text)
    for end in (*ends, len(text)):
        piece = text[start:end]
        if body := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            spans.append((first, first + len(body)))
        start = end
    return spans


def passage_sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences of a passage as an index holds them: none too short to say anything.

    One of fewer than `MIN_SENTENCE_CHARACTERS` joins the one before it, up to `MAX_JOINED_CHARACTERS` together, but for
    a row of a table (`ship: Fram; built: 1892`, a paragraph of its own), which neither joins another nor is joined; of
    more than `MAX_PASSAGE_SENTENCES` the last has all the rest. Headings `# Title` join the sentence after them.
    """
    spans: list[tuple[int, int]] = []
    is_after_row = False
    for start, end in _join_marked_headings(text, sentence_spans(text)):
        is_short = end - start < MIN_SENTENCE_CHARACTERS and text[start] != "#"
        is_row = is_short and _is_row(text, start, end)
        if spans and is_short and not (is_row or is_after_row) and end - spans[-1][0] <= MAX_JOINED_CHARACTERS:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
            is_after_row = is_row
    if len(spans) > MAX_PASSAGE_SENTENCES:
        spans[MAX_PASSAGE_SENTENCES - 1 :] = [(spans[MAX_PASSAGE_SENTENCES - 1][0], spans[-1][1])]
    return spans


def _join_marked_headings(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans, those of headings joined to the sentence after them, up to `MAX_JOINED_CHARACTERS`."""
    held: tuple[int, int] | None = None  # the headings above
    for start, end in spans:
        if held is not None and end - held[0] <= MAX_JOINED_CHARACTERS:
            joined = held[0], end
        else:
            if held is not None:
                yield held
            joined = start, end
        held = joined if _HEADING.match(text, start, end) else None
        if held is None:
            yield joined
    if held is not None:
        yield held


def without_headings(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span of a passage without the headings before and after its sentences, to quote it.

    A short heading is held with the sentence before it (`passage_sentence_spans`). Headings are lines `# Title`, and as
    converted files have them, short paragraphs of one line that do not end like a sentence, beside one that does: no
    rows of tables and items of lists. A span of headings alone stays.
    """
    start, end = _without_marked_headings(text, start, end)
    parts = _paragraphs(text, start, end)
    told = [number for number, part in enumerate(parts) if _ends_like_sentence(text, *part)]
    if not told:
        return start, end
    first, last = 0, len(parts) - 1
    while first < told[0] and _is_plain_heading(text, *parts[first]):
        first += 1
    while last > told[-1] and _is_plain_heading(text, *parts[last]):
        last -= 1
    return parts[first][0], parts[last][1]


def _without_marked_headings(text: str, start: int, end: int) -> tuple[int, int]:
    lines = text[start:end].splitlines(keepends=True)
    told = [number for number, line in enumerate(lines) if line.strip() and not _HEADING.match(line)]
    if not told:
        return start, end
    first = start + sum(map(len, lines[: told[0]]))
    return first, first + len("".join(lines[told[0] : told[-1] + 1]).rstrip())


def _paragraphs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of the parts of a span between blank lines."""
    breaks = [mark.span() for mark in _BLANK_LINE.finditer(text, start, end)]
    starts, ends = [start, *(after for _, after in breaks)], [*(before for before, _ in breaks), end]
    return [(first, first + len(text[first:last].rstrip())) for first, last in zip(starts, ends, strict=True)]


def _ends_like_sentence(text: str, start: int, end: int) -> bool:
    return _SENTENCE_END.search(text, max(start, end - _LOOKBACK), end) is not None


def _is_plain_heading(text: str, start: int, end: int) -> bool:
    """Return whether a part of a span is a paragraph of its own that may be a heading; it does not end a sentence."""
    if end - start > _MAX_HEADING or _LINE_BREAK.search(text, start, end):
        return False
    if _ROW.fullmatch(text, start, end) or _LIST_ITEM.match(text, start, end):
        return False
    before, after = text[max(0, start - _LOOKBACK) : start], text[end : end + _LOOKBACK]
    before, after = before[len(before.rstrip()) :], after[: len(after) - len(after.lstrip())]
    return _is_gap(before, is_edge=start == len(before)) and _is_gap(after, is_edge=end + len(after) == len(text))


def _is_gap(space: str, *, is_edge: bool) -> bool:
    """Return whether white space beside a part has a blank line, or reaches an edge of the text."""
    return is_edge or len(_LINE_BREAK.findall(space)) > 1


def _is_row(text: str, start: int, end: int) -> bool:
    """Return whether a span is a paragraph of names of columns and their values."""
    begins = start == 0 or text[max(0, start - 2) : start] == "\n\n"
    return begins and text[end : end + 2] in ("", "\n", "\n\n") and _ROW.fullmatch(text, start, end) is not None


# A passage is split when it is extracted, counted and put into a segment, after all others of its batch each time.
@lru_cache(maxsize=1 << 14)
def _ends_of_short_text(text: str) -> tuple[int, ...]:
    return tuple(_sentence_ends(text))


def _sentence_ends(text: str) -> list[int]:
    """Return where sentences end, ascending."""
    paragraphs = [_Paragraph(0)]
    line_start, block = 0, _find_block(text, 0)
    for mark in _BOUNDARY.finditer(text):
        paragraph = paragraphs[-1]
        if mark["line"] is not None:
            next_block = _find_block(text, mark.end())
            if block >= 0 or next_block >= 0 or _line_ends_sentence(text, line_start, mark):
                paragraph.ends.append(mark.start())
            if _is_blank_line(mark):
                paragraphs.append(_Paragraph(mark.end()))
            line_start, block = mark.end(), next_block
        elif mark.end() <= block:
            continue  # within a row
        elif mark["end"] is None:
            if _script_ends_sentence(text, max([line_start, *paragraph.ends[-1:]]), mark):
                paragraph.ends.append(mark.end())
        elif text[mark.end() : mark.end() + 1].isspace():  # the end of the text is one anyway
            begin = _skip_whitespace(text, mark.end())
            following = _NEXT_WORD.match(text, begin)
            word = following["word"] if following else ""
            is_near = len(_LINE_BREAK.findall(text, mark.end(), begin)) < 2
            if not word[:1].islower():
                if _ends_sentence(text, line_start, mark, following):
                    paragraph.ends.append(mark.end())
                    paragraph.capitals += is_near and word[:1].isupper()
            elif is_near and _ends_lower_case_sentence(text, line_start, mark, word):
                paragraph.lower_case_ends.append(mark.end())
    return [end for paragraph in paragraphs for end in paragraph.all_ends(text)]


def _script_ends_sentence(text: str, begin: int, mark: re.Match[str]) -> bool:
    """Return whether a sentence that begins at `begin` ends at a mark of its script, or at a space of Thai or Lao."""
    if mark["full"] is None:
        return mark.start() - begin >= _MIN_UNMARKED_SENTENCE
    return mark.group()[-1] not in "」』”’" or text[mark.end() : mark.end() + 1] not in _QUOTATION_CONTINUES


@dataclass(slots=True)
class _Paragraph:
    """The ends of sentences between two blank lines."""

    start: int
    ends: list[int] = field(default_factory=list)
    capitals: int = 0  # ends that a capital follows in this paragraph
    lower_case_ends: list[int] = field(default_factory=list)  # more ends, where sentences begin in lower case

    def all_ends(self, text: str) -> list[int]:
        if not self.lower_case_ends:
            return self.ends
        first = _FIRST_LETTER.search(text, self.start)  # there is one before the first of these ends or right after it
        letter = first.group() if first else ""
        lower_case = len(self.lower_case_ends) + letter.islower()
        if lower_case > _UNCASED_RATIO * (self.capitals + letter.isupper()):
            return sorted([*self.ends, *self.lower_case_ends])
        return self.ends


def _is_blank_line(mark: re.Match[str]) -> bool:
    return len(_LINE_BREAK.findall(mark["line"])) > 1


def _find_block(text: str, position: int) -> int:
    """Return where a block that begins a line ends, as far as no sentence can end in it: a row; -1 without a block."""
    row_end = find_row_end(text, position)
    return position if row_end < 0 and _BLOCK_START.match(text, _before_indent(text, position)) else row_end


def _before_indent(text: str, position: int) -> int:
    first = max(0, position - 8)
    return position - (position - first - len(text[first:position].rstrip(" \t")))


def _line_ends_sentence(text: str, line_start: int, mark: re.Match[str]) -> bool:
    if _is_blank_line(mark) or mark.end() == len(text):
        return True
    following = text[mark.end()]
    return not following.islower() and mark.start() - line_start < _MIN_WRAPPED_LINE


def _ends_sentence(text: str, line_start: int, mark: re.Match[str], following: re.Match[str] | None) -> bool:
    """Return whether a sentence ends at a mark that no word in lower case follows."""
    word = following["word"] if following else ""
    if following and following["initial"] and len(word) == 1:
        word = ""  # "J. A. Smith": this A does not start a sentence
    if mark["end"] != "." or (mark["closed"] and mark["closed"][0] in '"”»'):
        return True
    return _full_stop_ends_sentence(_text_before(text, line_start, mark), word)


def _ends_lower_case_sentence(text: str, line_start: int, mark: re.Match[str], word: str) -> bool:
    """Return whether a sentence may end at a mark before a word in lower case, where sentences begin so."""
    if mark["closed"][:1] in _CLOSING_QUOTATION or mark["end"] in _PAUSES:
        return False  # “really?” he asked; wait... what?
    return mark["end"] != "." or _full_stop_ends_sentence(_text_before(text, line_start, mark), word)


def _text_before(text: str, line_start: int, mark: re.Match[str]) -> str:
    return text[max(line_start, mark.start() - _LOOKBACK) : mark.start()]


def _skip_whitespace(text: str, position: int) -> int:
    if not text[position + 1 : position + 2].isspace():
        return position + 1
    stretch = text[position : position + 200]
    return position + len(stretch) - len(stretch.lstrip())


def _full_stop_ends_sentence(before: str, following: str) -> bool:
    if _LIST_NUMBER.fullmatch(before):
        return False
    word = before.rpartition("—")[2].rpartition(" ")[2].lstrip(_OPENING_MARKS)
    key = word.casefold()
    if key in _TITLES:
        return False
    if following[:1].isdecimal() and key in _BEFORE_NUMBERS:
        return False
    initial = len(word) == 1 and (word.isupper() or following[:1].islower())
    abbreviation = key in _INNER_ABBREVIATIONS or _INITIALS.fullmatch(word) is not None
    if initial or abbreviation:
        return following.casefold() in _SENTENCE_STARTERS
    return True
