"""Rule-based mention detection: names, dates, numbers, identifiers and quoted titles, in any script."""

import re
from collections import deque
from collections.abc import Sequence

from clew.text.casing import COMMON_WORDS
from clew.text.normalization import word_spans
from clew.text.rows import RowCell, find_key, row_cells
from clew.types import Mention

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_UNIT = (
    r"(?:%|°C|°F|km²|km2|km|metres?|meters?|miles?|feet|foot|ft|cm|mm|m|kg|tonnes?|tons?|lbs?|pounds?|knots|kn|mph|"
    r"km/h|hectares?|acres?|litres?|liters?|MW|kW|GB|MB|TB|million|billion|thousand)"
)
_DATES = (
    rf"\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{3,4}})?\b|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,\s*\d{{3,4}})?\b"
    rf"|{_MONTH},?\s+\d{{3,4}}\b|\d{{4}}-\d{{2}}-\d{{2}}|\b1[0-9]{{3}}s?\b|\b20[0-9]{{2}}s?\b"
    r"|\d{3,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?"
)
# Quantifiers are bounded and possessive, here and below: a page of "1,1,1," or "a.a.a." would otherwise take quadratic
# time.
_NUMBERS = (
    rf"[$€£¥]\s?\d[\d,.]*+(?:\s(?:million|billion))?|\b\d[\d,.]{{0,40}}+\s?{_UNIT}(?![\w])"
    r"|\b\d{1,3}(?:,\d{3}){1,20}+\b"
)
# An e-mail address, a URL, a path, a word such as `C++`, numbers of three parts or more, words of letters and digits.
_IDENTIFIERS = (
    r"[\w.+-]{1,64}+(?<=\w)@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+|\bhttps?://[^\s<>()\"']{1,200}+"
    r"|\b[A-Za-z]:\\[\w.\\-]{1,200}+|(?<![\w/.])/\w[\w.-]{0,60}+(?:/[\w.-]{1,60}+)+"
    r"|\b[A-Za-z]\w{0,20}+\+\+(?![\w+])|(?<!\w)[A-Z]#(?![\w#])|\b\d{1,9}(?:\.\d{1,9}){2,8}\b|\b\d{1,9}(?:-\d{1,9}){2,8}\b"
    r"|\b[a-z]{1,30}(?:[A-Z][a-z0-9]{0,30}){1,8}\b|\b(?=[\w./-]{0,80}\d)(?=[\w./-]{0,80}[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)+\b"
    r"|\b[A-Za-z]+_[A-Za-z0-9_]+\b|\b[A-Z]{2,}\d+\b"
)
_QUOTED = r"[“«„「『《〈]([^“”«»„「」『』《》〈〉\n]{2,80})[”»“」』》〉]|\"([^\"\n]{2,80})\""
_LITERALS = re.compile(
    rf"(?P<quoted>{_QUOTED})|(?P<date>{_DATES})|(?P<number>{_NUMBERS})|(?P<identifier>{_IDENTIFIERS})"
)
WORD = re.compile(r"[^\W_]+(?:['’\u0300-\u036f][^\W_]+)*")
# Without the letters of scripts that `_caseless_mentions` handles: `NHK` in `NHK放送協会`.
_CASED_WORD = re.compile(
    r"(?:(?![\u0590-\u08ff\u0900-\u0dff\u1000-\u10ff\u1200-\u137f\u3005-\u3007\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])"
    r"[^\W_])+(?:['’\u0300-\u036f][^\W_]+)*"
)
_JOINER = re.compile(r"(?:\s|-|–|\.\s?|['’]\s?)?\Z")
_CONNECTORS = frozenset(
    "of the de la le les du des von van der den di da do dos das del della al el bin ibn ben af av für und y e & for "  # noqa: SIM905
    "on at upon sur".split()
)
_POSSESSIVE = re.compile(r"['’]s?\Z")
# The text between two Chinese function characters is mostly a name or a noun.
_CJK_RUN = re.compile(r"[\u4e00-\u9fff々〆ヶ·・]+|[\u30a0-\u30ff·・]{2,}")
_CJK_FUNCTION = re.compile(
    "[的了是在和与及或于为以由从到把被让向对跟给而但则也都还又就才已曾将会能可要这那其此该他她它们我你个之所者着过并且因因所]"
)
_CASELESS_RUN = re.compile(r"[\u0590-\u08ff\u0900-\u0dff\u1000-\u109f\u10d0-\u10ff\u1200-\u137f\uac00-\ud7af]+")
_MIN_CASELESS_NAME = 3  # characters, marks of vowels included; two in Korean
_PARTICLE = re.compile(r"(?<=[\uac00-\ud7a3]{2})(?:에서|에게|까지|부터|으로|[은는이가을를의에로와과도만])\Z")
_CASELESS_FUNCTION_WORDS = frozenset(
    "هذا هذه ذلك التي الذي الذين على إلى كان كانت عند بعد قبل منذ حتى بين كما لكن غير هناك عام نعم "  # noqa: SIM905
    "است این برای بود شد شده ہیں میں اور تھا تھی تھے اسے کیا ایک یہ "
    "הוא היא הם של את על עם זה זאת אבל גם כל לא אחר האם היה היתה אותו אותה "
    "में है हैं और का की के को से ने पर यह वह था थी थे उसे इस उस जो कि भी तक लिए साथ एक नहीं किया गया क्या उसकी "
    "এই এটি এবং তিনি তার থেকে জন্য একটি ছিল করে এটা কি হয় অது இது அவர் அதை மற்றும் ஒரு என்று "
    "და არის იყო რომ ეს მას მისი ነው ነበር እና ላይ ውስጥ 그리고 그는 그녀는 있다 있는 이다 하는 한다".split()
)

MAX_CELL_NAME = 60
"""Characters of a cell that is one name, at most."""
_WORDS = re.compile(r"[.!?](?:\s|\Z)|(?:\S+\s+){7}\S")  # a sentence, or more words than a name has
_LIST = re.compile(r"[,;:]\s")
_LETTER = re.compile(r"[^\W\d_]")


def find_mentions(text: str, start: int, end: int) -> list[Mention]:
    """Return the mentions in `text[start:end]`, ordered, without overlaps; literals win over capitalised spans.

    Of a row of a table each short cell is one, and none reaches beyond its cell or into the names of columns.
    """
    cells = row_cells(text, start, end)
    if cells:
        key = find_key(text, cells)
        return [found for at, cell in enumerate(cells) for found in _cell_mentions(text, cell, is_key=at == key)]
    return _find_in_words(text, start, end)


def _cell_mentions(text: str, cell: RowCell, *, is_key: bool) -> list[Mention]:
    start, end = cell.start, cell.end
    is_name = end - start <= MAX_CELL_NAME and _LETTER.search(text, start, end) and not _WORDS.search(text, start, end)
    if not is_name or not (is_key or _LIST.search(text, start, end) is None):
        return _find_in_words(text, start, end)
    literal = _LITERALS.fullmatch(text, start, end)
    kind = literal.lastgroup if literal else None
    return [_as_mention(text, start, end) if kind in (None, "quoted") else Mention(text[start:end], kind, start, end)]


def _find_in_words(text: str, start: int, end: int) -> list[Mention]:
    literals = _find_literals(text, start, end)
    occupied = sorted((m.start, m.end) for m in literals)
    spans = [s for s in _capitalised_spans(text, start, end) if not _overlaps(s, occupied)]
    named = [_as_mention(text, s, e) for s, e in spans]
    free = _free_spans(start, end, sorted([*occupied, *spans]))
    caseless = [m for first, last in free for m in _caseless_mentions(text, first, last)]
    return sorted([*literals, *named, *caseless], key=lambda m: m.start)


def _find_literals(text: str, start: int, end: int) -> list[Mention]:
    mentions: list[Mention] = []
    for match in _LITERALS.finditer(text, start, end):
        kind = match.lastgroup or "identifier"
        first, last = match.span()
        if kind == "quoted":
            first, last = next(match.span(g) for g in range(2, 4) if match.group(g) is not None)
            if len(WORD.findall(text[first:last])) > 8 or not text[first:last].strip():
                continue
        name = text[first:last].rstrip(".,")
        mentions.append(Mention(name, kind, first, first + len(name)))
    return mentions


def _capitalised_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    run: tuple[int, int] | None = None
    reach, bridged = start, False  # end of the last word, and whether a connector is pending
    for word in (WORD if text.isascii() else _CASED_WORD).finditer(text, start, end):
        first, last = word.span()
        opens = text[first].isupper()
        if run is None:  # so it is at most words, whose case alone is read
            run, reach = (first, last) if opens else None, last
            continue
        surface, gap = word.group(), text[reach:first]
        capital = opens or (surface.isdigit() and not bridged and len(surface) < 4)
        if capital and _JOINER.match(gap):
            run, bridged = (run[0], last), False
        elif gap == " " and surface.lower() in _CONNECTORS:
            bridged = True
        else:
            spans.append(run)
            run, bridged = (first, last) if opens else None, False
        reach = last
    spans += [run] if run else []
    return [s for s in (_trim_span(text, *span, start) for span in spans) if s]


def _trim_span(text: str, first: int, last: int, sentence: int) -> tuple[int, int] | None:
    """Remove leading function words and a trailing possessive; return None for a single common word."""
    possessive = _POSSESSIVE.search(text, first, last)
    last = possessive.start() if possessive else last
    words = deque(WORD.finditer(text, first, last))
    while words and words[0].group().lower() in COMMON_WORDS and (len(words) == 1 or words[0].group().lower() != "new"):
        words.popleft()
    if not words:
        return None
    only = words[0].group()
    opens = not text[sentence : words[0].start()].strip(" \t\n*#>-'\"“«")
    if len(words) == 1 and (len(only) < 2 or (opens and len(only) < 4 and not only.isupper())):
        return None
    if len(words) == 1 and opens and _has_word(text, only.lower()):
        return None
    return words[0].start(), last


def _has_word(text: str, word: str) -> bool:
    """Return whether a word stands in a text where no letter, digit or underscore is next to it."""
    place = text.find(word)
    while place >= 0:
        around = text[max(place - 1, 0) : place] + text[place + len(word) : place + len(word) + 1]
        if not any(character.isalnum() or character == "_" for character in around):
            return True
        place = text.find(word, place + 1)
    return False


def _as_mention(text: str, first: int, last: int) -> Mention:
    name = text[first:last]
    acronym = name.isupper() and len(name) > 1 and " " not in name and name.isalpha()
    return Mention(name, "acronym" if acronym else "name", first, last)


def _caseless_mentions(text: str, start: int, end: int) -> list[Mention]:
    """Return names in scripts without capitals: Chinese or Japanese text between function characters, long words."""
    if text.isascii():
        return []
    mentions: list[Mention] = []
    for run in _CJK_RUN.finditer(text, start, end):
        position = run.start()
        for piece in _CJK_FUNCTION.split(run.group()):
            if 2 <= len(piece) <= 12:
                mentions.append(Mention(piece, "name", position, position + len(piece)))
            position += len(piece) + 1
    mentions.extend(Mention(text[a:b], "name", a, b) for a, b in _caseless_words(text, start, end))
    return mentions


def _caseless_words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of words that may be names; two or more that stand together more than once are one name."""
    spans: list[tuple[int, int]] = []
    words = word_spans(text[start:end])
    for run in (run for a, b in words for run in _CASELESS_RUN.finditer(text, start + a, start + b)):
        if run.group() in _CASELESS_FUNCTION_WORDS:
            continue
        word, first = _PARTICLE.sub("", run.group()), run.start()
        if len(word) < _MIN_CASELESS_NAME - ("가" <= word[0] <= "힣"):
            continue
        last, begin = first + len(word), spans[-1][0] if spans else first
        if spans and text[spans[-1][1] : first] == " " and text.count(text[begin:last]) > 1:
            spans[-1] = begin, last
        else:
            spans.append((first, last))
    return spans


def _free_spans(start: int, end: int, occupied: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    bounds = [start, *(bound for span in occupied for bound in span), end]
    return [(first, last) for first, last in zip(bounds[::2], bounds[1::2], strict=True) if first < last]


def _overlaps(span: tuple[int, int], occupied: Sequence[tuple[int, int]]) -> bool:
    return any(first < span[1] and span[0] < last for first, last in occupied)
