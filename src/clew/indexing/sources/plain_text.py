"""Documents from text and Markdown files, whose text equals the file's, character for character."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from clew.errors import InputError
from clew.indexing.sources.markdown import (
    find_links,
    find_main_heading,
    read_alias_line,
    read_front_matter,
    strip_markup,
)
from clew.text.normalization import fold
from clew.types import Document, Place, PlaceStart

_UTF_16_MARKS = (BOM_UTF16_LE, BOM_UTF16_BE)
_MAX_TITLE_CHARACTERS = 100
_SENTENCE_ENDS = (".", "!", "?", ":", ";", ",", "。", "！", "？", "؟", "۔", "।", "…")


def decode_text(data: bytes) -> str:
    """Return a file's text without byte order mark; empty, binary or non-UTF-8 bytes are an InputError."""
    if data.startswith(_UTF_16_MARKS):
        raise InputError("the text is UTF-16; save it as UTF-8")
    if (zero := data.find(0)) >= 0:
        raise InputError(f"binary content (a NUL byte at offset {zero}), not a text; remove it or give its real suffix")
    body = data.removeprefix(BOM_UTF8)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(body)
        raise InputError(f"invalid UTF-8 at byte offset {offset}; save the text as UTF-8") from error
    if not text or text.isspace():
        raise InputError("empty: the file holds no text")
    return text


def make_text_document(document_id: str, name: str, text: str) -> Document:
    """Return the document of a plain text; the file's `name` in words, or "", is its title if no first line is one."""
    return _make_document(document_id, text, [_first_line_title(text), name], read_alias_line(text))


def make_markdown_document(document_id: str, name: str, text: str, title: str = "") -> Document:
    """Return the document of a Markdown text, with its markup.

    Its title is that of its front matter, else its first heading of level 1, else `title`, else `name`; those not taken
    become aliases, together with the aliases the text states. Further headings are sections, not names.
    """
    front = read_front_matter(text)
    aliases = (*front.aliases, *read_alias_line(text[front.end :]))
    titles = [strip_markup(front.title), find_main_heading(text), strip_markup(title), name]
    return _make_document(document_id, text, titles, aliases, find_links(text))


def _make_document(
    document_id: str, text: str, titles: list[str], more_aliases: tuple[str, ...], link_targets: tuple[str, ...] = ()
) -> Document:
    names = [title for title in titles if title]
    title = names[0] if names else ""
    aliases: dict[str, str] = {}
    for name in (*names[1:], *more_aliases):
        aliases.setdefault(fold(name), name)
    aliases.pop(fold(title), None)
    places = (PlaceStart(0, Place(line=1)),)
    return Document(document_id, title, text, aliases=tuple(aliases.values()), links=link_targets, places=places)


def _first_line_title(text: str) -> str:
    """Return the first line if it looks like a title: short, not a sentence, followed by an empty or an alias line."""
    start = len(text) - len(text.lstrip())
    # Three lines suffice; splitting the whole text would copy it.
    lines = text[start : start + 4 * _MAX_TITLE_CHARACTERS].splitlines()
    first = lines[0].strip()
    is_separate = len(lines) > 1 and (not lines[1].strip() or bool(read_alias_line(lines[1])))
    is_title = len(first) <= _MAX_TITLE_CHARACTERS and is_separate and not first.endswith(_SENTENCE_ENDS)
    return first if is_title else ""
