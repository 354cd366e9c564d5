"""Structure of Markdown texts: headings, links, aliases, tables; all patterns take linear time (50 MB lines).

Front matter of Markdown: the YAML between two lines `---` at the very start, by PyYAML.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import accumulate
from math import isfinite
from typing import Any, NamedTuple

from clew.indexing.sources.tables import row_text


class Heading(NamedTuple):
    """A heading of a text."""

    offset: int
    level: int  # from 1
    text: str  # without markup


_MAX_HEADING_CHARACTERS = 500
_MAX_ALIAS_LINE_CHARACTERS = 2000

_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)([^\n]*+)$", re.M)
_HEADING = re.compile(
    r"^ {0,3}(?P<marks>\#{1,6}+)(?:[ \t]++(?P<atx>[^\n]*+))?+\r?$"
    r"|^ {0,3}(?P<setext>[^\s\#>|=`~*+-][^\n]*+)\n {0,3}(?P<line>={2,}+|-{2,}+)[ \t]*+\r?$",
    re.M,
)
_WORDS = re.compile(r"[^\W\d_]{2,}[^\w]+(?:\w+[^\w]+){0,9}?[^\W\d_]{2,}")
_TABLE = re.compile(
    r"^[ \t]*+(?P<header>(?=[^\n]*\|)[^\n]++)\n(?P<marks>(?=[^\n]*-)(?=[^\n]*\|)[ \t|:-]++\r?)\n"
    r"(?P<rows>(?:[ \t]*+(?!\#|>|```|~~~)(?=[^\n]*\|)[^\n]++(?:\n|\Z))++)",
    re.M,
)
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_LINE_TAG = re.compile(r"[ \t]*<br ?/?>[ \t]*", re.I)
_CLOSING_MARKS = re.compile(r"(?:^|(?<=[ \t]))#++[ \t]*+$")
_ANCHOR = re.compile(r"[ \t]*\{#[^{}\n]{0,200}\}$")
_INLINE_LINK = re.compile(r"!?\[([^\[\]\n]{0,1000})\]\([^()\n]{0,2000}(?:\([^()\n]{0,2000}\))?\)")
_EMPHASIS = re.compile(r"(?<!\w)([*_]{1,3})(?=\S)([^*_\n]{1,1000})(?<=\S)\1(?!\w)")

_LINK_TOKEN = re.compile(
    r"\\[^\w\s]"
    r"|(?P<ticks>`{1,50}+)(?:[^`\n]|(?<!`)(?!(?P=ticks)(?!`))`{1,50}+){1,1000}+(?P=ticks)(?!`)"
    r"|\[\[(?P<wiki>[^\[\]|\n]{1,500}+)(?:\|[^\[\]\n]{0,500}+)?\]\]"
    r"|(?P<open>!?\[)"
    r"|\]\([ \t]{0,8}+(?:<(?P<angle>[^<>\n]{0,2000}+)>"
    r"|(?P<bare>[^\s()<>]{0,2000}+(?:\([^\s()]{0,2000}+\)[^\s()]{0,2000}+){0,20}+))"
    r"(?:\s{1,8}+(?:\"[^\"\n]{0,1000}+\"|'[^'\n]{0,1000}+'|\([^()\n]{0,1000}+\)))?\s{0,8}+\)"
    r"|(?P<close>\])"
    r"|<(?P<auto>https?://[^\s<>]{1,2000}+)>"
    r"|<a\s[^<>]{0,1000}?\bhref\s?=\s?(?:\"(?P<double>[^\"<>\n]{0,2000}+)\"|'(?P<single>[^'<>\n]{0,2000}+)')",
    re.I,
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,500}+\]:[ \t]{1,8}+<?+(?P<target>[^\s<>]{1,2000}+)", re.M)
_ALIAS_LINE = re.compile(r"aliases[ \t]*:(.*)", re.I)


def find_headings(text: str) -> Iterator[Heading]:
    """Yield the headings of a text without front matter, in order (500 characters at most; none of code)."""
    for match in _matches_outside_code(_HEADING, text):
        if match["marks"]:
            level, inner = len(match["marks"]), _CLOSING_MARKS.sub("", (match["atx"] or "").strip())
        else:
            level, inner = 1 if match["line"][0] == "=" else 2, match["setext"]
        if len(inner) <= _MAX_HEADING_CHARACTERS and (heading := strip_markup(inner)):
            yield Heading(match.start(), level, heading)


def main_heading(headings: Iterable[Heading]) -> str:
    """Return the first heading of level 1 of two words or more, else the first one of level 1; "" without any."""
    texts = [heading.text for heading in headings if heading.level == 1]
    return next((text for text in texts if _WORDS.search(text)), next(iter(texts), ""))


class TextPart(NamedTuple):
    """A part of a text from an offset on: a row of a table under the names of its columns, or what is around tables."""

    start: int
    end: int
    text: str


def write_rows(text: str) -> Iterator[TextPart]:
    """Yield the parts of a Markdown text, each row of its tables as a paragraph `ship: Fram; built: 1892`."""
    done = 0
    for table in _matches_outside_code(_TABLE, text):
        header, marks = (_read_cells(table[name]) for name in ("header", "marks"))
        if len(header) != len(marks) or table.start() < done:
            continue
        before = text[done : table.start()]
        if before:
            yield TextPart(done, table.start(), before if before.endswith("\n\n") else f"{before}\n")
        done = table.start("rows")
        for line in table["rows"].splitlines(keepends=True):
            row = row_text(header, _read_cells(line))
            done += len(line)
            if row:
                yield TextPart(done - len(line), done, f"{row}\n\n")
        done = next((at for at in range(done, len(text)) if text[at] not in "\r\n"), len(text))
    if done < len(text) or not done:
        yield TextPart(done, len(text), text[done:])


def _read_cells(line: str) -> list[str]:
    """Return the cells of a row of a table, without markup."""
    inner = line.strip().removeprefix("|")
    inner = inner if inner.endswith("\\|") else inner.removesuffix("|")
    return [strip_markup(_LINE_TAG.sub(", ", cell)) for cell in _CELL_BORDER.split(inner)]


def find_links(text: str) -> tuple[str, ...]:
    """Return the distinct link targets of a Markdown text as written, in the order of their first use.

    Markdown links, reference definitions, `[[wiki links]]`, `<https://…>` and `<a href>` count; pictures, code and
    places in the same document (`#section`) do not.
    """
    if "[" not in text and "<" not in text:
        return ()
    target_at = {match.start(): match["target"] for match in _matches_outside_code(_DEFINITION, text)}
    pictures: list[bool] = []
    for match in _matches_outside_code(_LINK_TOKEN, text):
        if match["open"]:
            pictures.append(match["open"] == "![")
        elif match["close"] or match["angle"] is not None or match["bare"] is not None:
            # A `]` without its `[` ends no link; a picture's target is not a document.
            picture = pictures.pop() if pictures else True
            if not picture and not match["close"]:
                target_at[match.start()] = match["angle"] or match["bare"] or ""
        elif target := match["wiki"] or match["auto"] or match["double"] or match["single"]:
            target_at[match.start()] = target
    targets = (target_at[start].strip() for start in sorted(target_at))
    return tuple(dict.fromkeys(target for target in targets if target and not target.startswith("#")))


def strip_markup(inline: str) -> str:
    """Return one line of Markdown without the marks of links, emphasis, code and heading anchors."""
    text = _INLINE_LINK.sub(r"\1", _ANCHOR.sub("", inline.strip()))
    text = re.sub(r"\[\[(?:[^\[\]|\n]{0,500}\|)?([^\[\]|\n]{1,500})\]\]", r"\1", text)
    for _ in range(2):  # emphasis within emphasis
        text = _EMPHASIS.sub(r"\2", text)
    return " ".join(re.sub(r"\\([^\w\s])", r"\1", text.replace("`", "")).split())


def read_alias_line(text: str) -> tuple[str, ...]:
    """Return the names in a line `Aliases: A; B`, of 2,000 characters at most, among the first five lines of a text."""
    start = 0
    for _ in range(5):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)].strip()
        if len(line) <= _MAX_ALIAS_LINE_CHARACTERS and (match := _ALIAS_LINE.match(line)):
            return tuple(name for part in match[1].split(";") if (name := strip_markup(part)))
        if end < 0:
            break
        start = end + 1
    return ()


def _matches_outside_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    blocks = _fenced_blocks(text)
    block = next(blocks, None)
    for match in pattern.finditer(text):
        while block is not None and block[1] <= match.start():
            block = next(blocks, None)
        if block is None or match.start() < block[0]:
            yield match


def _fenced_blocks(text: str) -> Iterator[tuple[int, int]]:
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            # Back-ticks after opening back-ticks make it a code span within a line, not a block.
            if fence[1][0] == "~" or "`" not in fence[2]:
                opening = fence
        elif fence[1][0] == opening[1][0] and len(fence[1]) >= len(opening[1]) and not fence[2].strip():
            yield opening.start(), fence.end()
            opening = None
    if opening is not None:
        yield opening.start(), len(text)


_MATTER = re.compile(r"---[ \t]*+\r?\n(?P<body>(?:(?!(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z))[^\n]*+\n){0,500}+)")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z)")
_ENTRY = re.compile(r"(?=^[^\s#\-:][^\n:]{0,200}:(?:\s|$))", re.M)
_BRACKET = re.compile(r"[\[{\]}]")
_NUMBER_OF_MANY_DIGITS = re.compile(r"[-+]?[0-9][0-9a-fA-Fxob_:]{3000,}+")  # Python writes none of over 4,300 digits
_MAX_CHARACTERS = 1 << 16
_MAX_DEPTH = 8
_MAX_BRACKETS = 64  # open at once; PyYAML looks at all of them for each token, and Python's own stack ends near 300
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a text."""

    title: str = ""
    aliases: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)  # the rest; a key of a key is "outer.inner"
    end: int = 0  # offset where the body starts, 0 where the front matter is text of the body, too
    fault: str = ""  # what is wrong with it, and where


class _Entries(NamedTuple):
    """The entries of front matter."""

    values: Mapping[str, Any]
    fault: str = ""
    line: int = 0  # of the fault, from 1 for the first entry
    is_whole: bool = True  # whether all of it is in the entries


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text.

    Where it is no YAML, each entry is read by itself, else as plain words; where words of it are in none, it is text of
    the body, too. What has no entry at all is no front matter.
    """
    opening = _MATTER.match(text)
    closing = _END.match(text, opening.end()) if opening else None
    if opening is None or closing is None or len(opening["body"]) > _MAX_CHARACTERS:
        return FrontMatter()
    entries = _read_entries(opening["body"])
    if not entries.values and opening["body"].strip() and not entries.is_whole:
        return FrontMatter()
    title, aliases = "", tuple[str, ...]()
    fields: dict[str, Any] = {}
    for key, value in entries.values.items():
        if key.lower() == "title":
            title = " ".join(str(_scalar(value)).split()) if not isinstance(value, list | dict) else ""
        elif key.lower() == "aliases":
            aliases = tuple(dict.fromkeys(_read_aliases(value)))
        else:
            fields.update(_flatten(key, value, 1))
    fault = f"line {entries.line + 1}: the front matter is no YAML ({entries.fault})" if entries.fault else ""
    return FrontMatter(title, aliases, fields, closing.end() if entries.is_whole else 0, fault)


def _read_entries(body: str) -> _Entries:
    whole, fault, line = _load(body)
    if isinstance(whole, dict):
        return _Entries({str(key): value for key, value in whole.items()})
    if whole is None and not fault:  # nothing but comments
        return _Entries({})
    values: dict[str, Any] = {}
    is_whole = True
    for part in _ENTRY.split(body):
        read = _load(part)[0]
        if isinstance(read, dict):
            values.update((str(key), value) for key, value in read.items())
        elif read is not None or part.strip():
            key, colon, value = part.partition(":")
            if colon:
                values[key.strip()] = value.partition("\n")[0].strip()
            is_whole = is_whole and bool(colon) and not value.partition("\n")[2].strip()
    return _Entries(values, fault or f"it is {type(whole).__name__}, not keys with values", line, is_whole)


def _load(text: str) -> tuple[Any, str, int]:
    """Return what YAML means, and what is wrong with it, with the line.

    Refused is what is not of the plain kind that front matter is: one part named twice (an alias may stand for
    billions), types of YAML's own, which PyYAML makes of anything, and numbers of thousands of digits.
    """
    import yaml

    if _count_open_brackets(text) > _MAX_BRACKETS:
        return None, f"more than {_MAX_BRACKETS} brackets are open at once", 1
    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            line = token.start_mark.line + 1
            if isinstance(token, yaml.AliasToken):
                return None, "a value that begins with * wants quotes", line
            if isinstance(token, yaml.TagToken):
                return None, "a value that begins with ! wants quotes", line
            if isinstance(token, yaml.ScalarToken) and _NUMBER_OF_MANY_DIGITS.fullmatch(token.value):
                return None, "a number of thousands of digits", line
        return yaml.safe_load(text), "", 0
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return None, error.problem or "it cannot be read", 1 if mark is None else mark.line + 1
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, KeyError) as error:
        return None, " ".join(str(error).split())[:200] or type(error).__name__, 1


def _count_open_brackets(text: str) -> int:
    """Return how many brackets are open at once in a text, at most."""
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(text))
    return max(accumulate(steps), default=0)


def _read_aliases(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        parts = value.split(";")
    elif isinstance(value, list):
        parts = [": ".join(map(str, next(iter(v.items())))) if isinstance(v, dict) and v else str(v) for v in value]
    else:
        parts = [] if value is None else [str(value)]
    yield from (part.strip() for part in parts if part.strip())


def is_int64(value: int) -> bool:
    """Return whether an integer fits 64 bits with a sign, as those of metadata must."""
    return -_INT64 <= value < _INT64


def _scalar(value: Any) -> str | int | float | bool:
    if value is None:
        return ""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if is_int64(value) else str(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _flatten(key: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an entry: numbers, booleans, strings, lists of strings; dates are written `2026-11-23`."""
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        for inner, own in value.items():
            yield from _flatten(f"{key}.{inner}", own, depth + 1)
    elif isinstance(value, list):
        yield key, [str(_scalar(item)) for item in value]
    elif value is not None:
        yield key, _scalar(value)
