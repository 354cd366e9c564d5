"""Structure of Markdown texts: headings, links, front matter, aliases; all patterns take linear time (50 MB lines)."""

import re
from collections.abc import Iterator
from typing import NamedTuple


class FrontMatter(NamedTuple):
    """The title and aliases in the front matter of a document; `end` is the offset where the body starts."""

    title: str = ""
    aliases: tuple[str, ...] = ()
    end: int = 0


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
_FRONT_MATTER = re.compile(r"---[ \t]*+\r?\n(?P<body>(?:(?!(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z))[^\n]*+\n){0,500}+)")
_FRONT_MATTER_END = re.compile(r"(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z)")
_KEY = re.compile(r"^(title|aliases)[ \t]*:(.*)$", re.I)
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_INLINE_ITEM = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'|[^,\s][^,]*+")
_ALIAS_LINE = re.compile(r"aliases[ \t]*:(.*)", re.I)


def find_main_heading(text: str) -> str:
    """Return the first heading of level 1 (500 characters at most; no code or front matter) as plain text, or ""."""
    for match in _matches_outside_code(_HEADING, text, read_front_matter(text).end):
        if match["marks"]:
            is_main, inner = match["marks"] == "#", _CLOSING_MARKS.sub("", (match["atx"] or "").strip())
        else:
            is_main, inner = match["line"][0] == "=", match["setext"]
        if is_main and len(inner) <= _MAX_HEADING_CHARACTERS and (heading := strip_markup(inner)):
            return heading
    return ""


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


def read_front_matter(text: str) -> FrontMatter:
    """Return `title:` and `aliases:` of the block between two lines `---` at the very start of a text."""
    opening = _FRONT_MATTER.match(text)
    closing = _FRONT_MATTER_END.match(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return FrontMatter()
    title, aliases, in_aliases = "", [], False
    for line in opening["body"].splitlines():
        item = _ITEM.match(line) if in_aliases else None
        if item:
            aliases.append(_unquote(item[1]))
        elif key := _KEY.match(line):
            in_aliases = key[1].lower() == "aliases"
            if in_aliases:
                aliases.extend(_parse_inline_aliases(key[2].strip()))
            else:
                title = _unquote(key[2])
        elif line.strip() and not line[0].isspace():
            in_aliases = False
    return FrontMatter(title, tuple(alias for alias in aliases if alias), closing.end())


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


def _parse_inline_aliases(value: str) -> list[str]:
    if value.startswith("[") and value.endswith("]"):
        return [_unquote(item) for item in _INLINE_ITEM.findall(value[1:-1])]
    return [_unquote(part) for part in value.split(";")]


def _unquote(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", r"\1", value[1:-1]).strip()
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'").strip()
    return value


def _matches_outside_code(pattern: re.Pattern[str], text: str, start: int = 0) -> Iterator[re.Match[str]]:
    blocks = _fenced_blocks(text)
    block = next(blocks, None)
    for match in pattern.finditer(text, start):
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
