"""Documents from the contents of files: texts and Markdown as they stand in the file, line for line, but for tables.

A row of a table as in Markdown is a paragraph with the names of its columns, as in all other kinds of files.

Encodings of text files: UTF-8, UTF-16 and UTF-32, with their marks or without, else the likeliest by
`charset-normalizer`.
"""

import re
import unicodedata
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE, getincrementaldecoder
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, HeadingPath
from clew.indexing.sources.markdown import (
    FrontMatter,
    find_headings,
    find_links,
    main_heading,
    read_alias_line,
    read_front_matter,
    strip_markup,
    write_rows,
)
from clew.text.normalization import fold
from clew.text.places import cut_places
from clew.types import Document, Place, PlaceStart

_MAX_TITLE_CHARACTERS = 100
_SENTENCE_ENDS = (".", "!", "?", ":", ";", ",", "。", "！", "？", "؟", "۔", "।", "…")
_FIRST_LINE = (PlaceStart(0, Place(line=1)),)
_LICENCE = re.compile(r"(?:the )?project gutenberg(?:'s|’s)? e?-?(?:book|text)\b", re.I)
_LICENCE_TITLE = re.compile(r"^Title: *(.+)$", re.M)
_LICENCE_CHARACTERS = 4000  # in which a licence names its book
_RUNNING_HEAD = re.compile(
    r"(?P<name>[\w.:+-]{1,60})\((?P<section>\w{1,6})\)\s{2,}\S.*\s{2,}(?P=name)\((?P=section)\)", re.I
)
_DEFINITION = re.compile(r"^(?P<indent>[ \t]*)(?:async +)?(?:class|def) +(?P<name>\w+)", re.M)


def check_text(text: str) -> None:
    """Raise an InputError where a text has nothing but white space."""
    if not text or text.isspace():
        raise InputError("empty: the file holds no text")


def make_text_document(document_id: str, name: str, text: str) -> Document:
    """Return the document of a plain text; the file's `name` in words, or "", is its title if no first line is one."""
    written, places = _write_tables(text, _FIRST_LINE)
    return _make_document(document_id, written, [_first_line_title(text), name], read_alias_line(text), places=places)


def make_code_document(document_id: str, name: str, text: str) -> Document:
    """Return the document of source code, whose title is the file's name; classes and functions of Python are headings.

    Each heading is the path of names, as in `Ship > sail`.
    """
    places = _python_places(text) if name.endswith(".py") else _FIRST_LINE
    return _make_document(document_id, text, [name], places=places)


def make_markdown_document(document_id: str, name: str, text: str, matter: FrontMatter | None = None) -> Document:
    """Return the document of a Markdown text, with its markup, without its front matter, whose fields are metadata.

    `matter` is that front matter where it is read already.

    Its title is that of its front matter, else its first heading of level 1, else `name`; those not taken become
    aliases, together with the aliases the text states. Further headings are sections, not names.
    """
    front = read_front_matter(text) if matter is None else matter
    line, body = 1 + text.count("\n", 0, front.end), text[front.end :]
    if not body.strip():
        raise InputError("empty: the file holds front matter and no text under it")
    text, places, heading = read_structure(body, line)
    aliases = (*front.aliases, *read_alias_line(body))
    titles = [strip_markup(front.title), heading, name]
    return _make_document(document_id, text, titles, aliases, find_links(body), places, front.fields)


def read_structure(body: str, line: int | None = None) -> tuple[str, tuple[PlaceStart, ...], str]:
    """Return a Markdown text with the rows of its tables as paragraphs, its places, and its main heading.

    The text begins at a `line`, or has no numbers of lines.
    """
    headings = list(find_headings(body))
    path, places = HeadingPath(), [] if line is None else [PlaceStart(0, Place(line=line))]
    for heading in headings:
        if line is not None:
            line += body.count("\n", places[-1].offset, heading.offset)
            places = places if heading.offset else []
        places.append(PlaceStart(heading.offset, Place(line=line, heading=path.enter(heading.level, heading.text))))
    return *_write_tables(body, places), main_heading(headings)


def _write_tables(body: str, places: Sequence[PlaceStart]) -> tuple[str, tuple[PlaceStart, ...]]:
    """Return a text with the rows of its tables as paragraphs, and its places, with one more for each row."""
    parts = list(write_rows(body))
    moved, length = list[PlaceStart](), 0
    for part, own in zip(parts, cut_places(places, body, [part[:2] for part in parts]), strict=True):
        moved += [PlaceStart(length + place.offset, place.place) for place in own]
        length += len(part.text)
    return "".join(part.text for part in parts), tuple(moved)


def make_contents_document(document_id: str, name: str, contents: FileContents) -> Document:
    """Return the document of a file's contents, with `name` as its last title."""
    titles = [*contents.titles, name]
    return _make_document(document_id, contents.text, titles, (), contents.links, contents.places, contents.metadata)


def _make_document(
    document_id: str,
    text: str,
    titles: Sequence[str],
    more_aliases: Sequence[str] = (),
    links: tuple[str, ...] = (),
    places: tuple[PlaceStart, ...] = _FIRST_LINE,
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    names = [title for title in titles if title]
    title = names[0] if names else ""
    aliases: dict[str, str] = {}
    for name in (*names[1:], *more_aliases):
        aliases.setdefault(fold(name), name)
    aliases.pop(fold(title), None)
    return Document(document_id, title, text, metadata or {}, tuple(aliases.values()), links, places)


def _first_line_title(text: str) -> str:
    """Return the first line if it looks like a title: short, not a sentence, followed by an empty or an alias line.

    Of a running head, as of a manual's page, it is the name; of a book with a licence before it, the name given there.
    """
    start = len(text) - len(text.lstrip())
    # Three lines suffice; splitting the whole text would copy it.
    lines = text[start : start + 4 * _MAX_TITLE_CHARACTERS].splitlines()
    first = lines[0].strip()
    if _LICENCE.match(first):
        named = _LICENCE_TITLE.search(text, start, start + _LICENCE_CHARACTERS)
        return " ".join(named[1].split()) if named else ""
    if head := _RUNNING_HEAD.fullmatch(first):
        return head["name"]
    is_separate = len(lines) > 1 and (not lines[1].strip() or bool(read_alias_line(lines[1])))
    is_title = len(first) <= _MAX_TITLE_CHARACTERS and is_separate and not first.endswith(_SENTENCE_ENDS)
    return first if is_title else ""


def _python_places(text: str) -> tuple[PlaceStart, ...]:
    path, places = HeadingPath(), [*_FIRST_LINE]
    line = 1
    for match in _DEFINITION.finditer(text):
        line += text.count("\n", places[-1].offset, match.start())
        heading = path.enter(len(match["indent"].expandtabs()), match["name"])
        places = places if match.start() else []
        places.append(PlaceStart(match.start(), Place(line=line, heading=heading)))
    return tuple(places)


UTF_8 = "utf-8"
_MARKS = (  # those of UTF-32 begin with those of UTF-16
    (BOM_UTF8, UTF_8),
    (BOM_UTF32_LE, "utf-32-le"),
    (BOM_UTF32_BE, "utf-32-be"),
    (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
)
# Those of everyday files: among all that Python knows, a few accents fit dozens.
_GUESSED = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
)
_OTHER_FORMATS = (  # whose first bytes may come without a NUL byte, and so pass for a text
    (b"%PDF-", "a PDF does"),
    (b"PK\x03\x04", "a zip archive does, such as a file of Word or Excel"),
    (b"{\\rtf", "a Rich Text file does"),
    (b"\x1f\x8b\x08", "a gzip archive does"),
    (b"\x89PNG\r\n", "a PNG picture does"),
    (b"\xff\xd8\xff", "a JPEG picture does"),
    (b"\xd0\xcf\x11\xe0", "an Office file before 2007 does"),
)
_COMMONEST = "cp1252"  # of several that make the same text
_GUESSED_BYTES = 1 << 18
_SAMPLE_BYTES = 1 << 16  # a multiple of 4
_SPACES = " \n\u3000\u3002"
_NO_LETTERS = frozenset({"Cc", "Cn", "Co", "Cs"})


def find_encoding(data: bytes) -> tuple[str, int]:
    """Return the encoding of a text's bytes, and the length of the mark before it.

    Binary bytes, and those of which no encoding makes a text, are an InputError.
    """
    for beginning, words in _OTHER_FORMATS:
        if data.startswith(beginning):
            raise InputError(f"it begins as {words}, so it is no text: give it the suffix of its kind, or leave it out")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    if (zero := data.find(0)) >= 0:
        if encoding := find_unmarked_encoding(data):
            return encoding, 0
        raise InputError(f"binary content (a NUL byte at offset {zero}), not a text; remove it or give its real suffix")
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError as error:
        return _guess_encoding(data, error.start), 0
    return UTF_8, 0


def find_unmarked_encoding(data: bytes) -> str:
    """Return which of UTF-32 and UTF-16 bytes with NULs are a text of without a mark, "" where they are none.

    Such a text has signs of ASCII, and white space or a full stop of Chinese. Bytes that are a text without their NULs
    have them in nearly all of the places where a text of ASCII has them.
    """
    sample, best = data[:_SAMPLE_BYTES], (0, "")
    is_text_without = _is_clean(sample.replace(b"\0", b"").decode(UTF_8, "surrogateescape"))
    for encoding, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        if len(data) % width or (is_text_without and sample.count(0) * width * 5 < len(sample) * (width - 1) * 4):
            continue
        with suppress(UnicodeDecodeError):
            text = getincrementaldecoder(encoding)().decode(sample)
            plain = sum(sign.isascii() for sign in text)
            if plain and _is_clean(text) and any(space in text for space in _SPACES):
                best = max(best, (plain * width, encoding))
    return best[1]


def _is_clean(text: str) -> bool:
    """Return whether hardly a sign of a text is a control character, or stands for no letter."""
    bad = sum(unicodedata.category(sign) in _NO_LETTERS and sign not in "\t\n\r\f\v" for sign in text)
    return bad * 100 <= len(text)


def decode_bytes(data: bytes) -> tuple[str, str]:
    r"""Return a text with line ends `\n`, and the encoding it was in (errors: see `find_encoding`)."""
    encoding, start = find_encoding(data)
    try:
        text = data[start:].decode(encoding)
    except UnicodeDecodeError as error:
        at = error.start + start
        raise InputError(f"invalid {encoding.upper()} at byte offset {at}; save the text as UTF-8") from error
    return join_line_ends(text), encoding


def join_line_ends(text: str) -> str:
    r"""Return a text with `\n` in place of `\r\n`."""
    return text.replace("\r\n", "\n")


def _has_surrogates(data: bytes) -> bool:
    """Return whether all is UTF-8 but for surrogates, which stand for no letter."""
    try:
        data.decode(UTF_8, "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _guess_encoding(data: bytes, offset: int) -> str:
    """Return the likeliest encoding of bytes that are not UTF-8 from an offset on.

    A text in which more letters are UTF-8 than are not is one that was damaged.
    """
    from charset_normalizer import from_bytes

    intact = data.decode(UTF_8, "ignore")
    letters = sum(len(sign.encode()) for sign in intact if not sign.isascii())
    if letters > len(data) - len(intact.encode()) or _has_surrogates(data):
        raise InputError(f"invalid UTF-8 at byte offset {offset}; save the text as UTF-8")
    part = data[max(0, offset - _GUESSED_BYTES // 2) :][:_GUESSED_BYTES]
    best = from_bytes(part, cp_isolation=list(_GUESSED), enable_fallback=False).best()
    if best is not None:
        try:
            data.decode(best.encoding)
        except UnicodeDecodeError:
            best = None
    if best is None:
        raise InputError(
            f"invalid UTF-8 at byte offset {offset}, and no other encoding is recognised; save the text as UTF-8"
        )
    return best.encoding if _text(data, best.encoding) != _text(data, _COMMONEST) else _COMMONEST


def _text(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "replace")
