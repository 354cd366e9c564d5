"""Structure of Markdown texts: headings, links, aliases; all patterns take linear time (50 MB lines)."""

import re
from collections.abc import Iterator
from typing import NamedTuple


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
