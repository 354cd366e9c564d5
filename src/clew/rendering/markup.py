"""Texts of a corpus as the text of SVG and HTML: never markup, never a control character, wrapped by their width."""

import re
from html import escape
from unicodedata import east_asian_width

from clew.text.display import escape_control, to_single_line

# XML 1.0 has no place for halves of characters and for these two.
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\ufffd"
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]+\)")  # of Markdown

_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[^\n]*$", re.M)
_RULE = re.compile(r"^[ \t]*\|?[ \t:|-]*-{3,}[ \t:|-]*\|?[ \t]*$", re.M)  # under the head of a table, and `---`
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+|(?<=\S)[ \t]+#{1,6}[ \t]*$|^ {0,3}>[ \t]?", re.M)
_ANY_LINK = re.compile(r"!?\[([^\[\]\n]{0,1000})\]\([^()\n]{0,2000}(?:\([^()\n]{0,2000}\))?[^()\n]{0,200}\)")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|\n]{1,500}\|)?([^\[\]|\n]{1,500})\]\]")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3})(?=\S)([^*_\n]{1,1000})(?<=\S)\1(?![\w*])")
_CODE = re.compile(r"(`{1,2})([^`\n]{1,1000})\1")


def escape_text(text: str) -> str:
    """Return a text for an element or a quoted attribute; control characters are shown as escapes."""
    return escape(_NOT_XML.sub(_REPLACEMENT, escape_control(text)))


def escape_line(text: str) -> str:
    """Return a text for an element or a quoted attribute, on one line and without control characters."""
    return escape_text(to_single_line(text))


def strip_links(text: str) -> str:
    """Return a text with the words of each Markdown link alone, as the page of the server shows it."""
    return _LINK.sub(r"\1", text)


def plain_text(text: str) -> str:
    """Return a text without the marks of Markdown and without carriage returns, for people to read."""
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    for pattern, kept in ((_FENCE, ""), (_RULE, ""), (_HEADING, ""), (_ANY_LINK, r"\1"), (_WIKI_LINK, r"\1")):
        shown = pattern.sub(kept, shown)
    return _CODE.sub(r"\2", _EMPHASIS.sub(r"\2", shown))


def plain_line(text: str) -> str:
    """Return `plain_text` on one line, without control characters."""
    return to_single_line(plain_text(text))


def text_width(text: str) -> int:
    """Return the width of a line in columns; wide characters, as of Chinese, take two."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def shorten(text: str, columns: int) -> str:
    """Return a line cut to a number of columns; one that is cut ends in an ellipsis."""
    if text_width(text) <= columns:
        return text
    used, end = 1, 0
    for letter in text:
        used += text_width(letter)
        if used > columns:
            break
        end += 1
    return f"{text[:end].rstrip()}…"


def wrap(text: str, columns: int, lines: int) -> list[str]:
    """Return a text as at most `lines` lines of at most `columns` columns; what is left out is an ellipsis."""
    wrapped: list[str] = []
    rest = to_single_line(text)
    while rest and len(wrapped) < lines - 1:
        end = _line_end(rest, columns)
        wrapped.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [*wrapped, shorten(rest, columns)] if rest else wrapped


def _line_end(text: str, columns: int) -> int:
    """Return how many characters of a text stand on its first line, at least one."""
    used, last_space = 0, 0
    for end, letter in enumerate(text):
        used += text_width(letter)
        if used > columns:
            return last_space or max(1, end)
        if letter == " ":
            last_space = end
    return len(text)
