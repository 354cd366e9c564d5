"""Text and Markdown: bytes to a document whose text is the file's own, character for character."""

from clew.errors import InputError
from clew.indexing.sources.markdown import (
    find_links,
    find_main_heading,
    read_alias_line,
    read_front_matter,
    strip_markup,
)
from clew.text.normalization import fold
from clew.types import Document

_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MAX_TITLE_CHARACTERS = 100
_SENTENCE_ENDS = (".", "!", "?", ":", ";", ",", "。", "！", "？", "؟", "۔", "।", "…")


def decode_text(data: bytes) -> str:
    """Return the text of a file's bytes without a byte order mark; newlines stay as they are.

    Raises:
        InputError: The bytes are empty, binary, or no valid UTF-8.
    """
    if data.startswith(_UTF_16):
        raise InputError("the text is UTF-16; save it as UTF-8")
    if (zero := data.find(0)) >= 0:
        raise InputError(f"binary content (a NUL byte at offset {zero}), not a text; remove it or give its real suffix")
    body = data.removeprefix(_BOM)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(body)
        raise InputError(f"invalid UTF-8 at byte offset {offset}; save the text as UTF-8") from error
    if not text or text.isspace():
        raise InputError("empty: the file holds no text")
    return text


def make_text_document(document_id: str, name: str, text: str) -> Document:
    """Return the document of a plain text.

    Args:
        document_id: The document's id.
        name: The file's name in plain words, "" when the text has none: the title if the first line is not one.
        text: Neither empty nor blank.
    """
    return _make_document(document_id, text, [_first_line_title(text), name], read_alias_line(text))


def make_markdown_document(document_id: str, name: str, text: str, title: str = "") -> Document:
    """Return the document of a Markdown text, marks and all.

    Its title is that of its front matter, else its first heading of level 1, else `title`, else `name`; those not
    taken become aliases, together with the aliases the text states. Further headings are sections, not names.
    """
    front = read_front_matter(text)
    stated = (*front.aliases, *read_alias_line(text[front.end :]))
    return _make_document(
        document_id,
        text,
        [strip_markup(front.title), find_main_heading(text), strip_markup(title), name],
        stated,
        find_links(text),
    )


def _make_document(
    document_id: str, text: str, titles: list[str], more_aliases: tuple[str, ...], link_targets: tuple[str, ...] = ()
) -> Document:
    """Take the first of `titles` that is not empty; the others are aliases where they differ when folded."""
    known = [title for title in titles if title]
    title = known[0] if known else ""
    aliases: dict[str, str] = {}
    for name in (*known[1:], *more_aliases):
        aliases.setdefault(fold(name), name)
    aliases.pop(fold(title), None)
    return Document(document_id, title, text, aliases=tuple(aliases.values()), links=link_targets)


def _first_line_title(text: str) -> str:
    """Return the first line if it stands like a title: short, no sentence, an empty line (or aliases) below it."""
    start = len(text) - len(text.lstrip())
    # Three lines suffice; splitting the whole text would copy it.
    lines = text[start : start + 4 * _MAX_TITLE_CHARACTERS].splitlines()
    first = lines[0].strip()
    followed = len(lines) > 1 and (not lines[1].strip() or bool(read_alias_line(lines[1])))
    if len(first) <= _MAX_TITLE_CHARACTERS and followed and not first.endswith(_SENTENCE_ENDS):
        return first
    return ""
