"""HTML by `beautifulsoup4` and `lxml`: headings, paragraphs, lists, tables; no scripts, menus, heads of sites.

What a page hides by an attribute or a style of its own, and what it marks as deleted, is left out and counted; style
sheets are not read.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, final

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.plain_text import find_unmarked_encoding
from clew.indexing.sources.tables import MAX_SPAN, Cell, table_rows
from clew.types import Place

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MAX_DEPTH = 400
"""Elements of a page that may be nested in each other."""
_DROPPED = ("script", "style", "noscript", "template", "svg", "iframe", "object", "nav", "button", "select", "dialog")
_DROPPED_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "menu"})
_CONSENT = re.compile(r"cookie|consent|gdpr", re.I)
_CONSENT_PART = re.compile(r"banner|notice|bar\b|pop-?up|modal|dialog|overlay|manager|consent", re.I)
_MAX_CONSENT_CHARACTERS = 3000
_CONSENT_ANSWER = re.compile(
    r"\b(?:accept|agree|allow|reject|declin|den(?:y|ie)|refus|dismiss|got it|ok(?:ay)?\b|akzept|zustimm|ablehn|"
    r"acept|rechaz|accett|rifiut|aceit|akkoord|weiger|godk|avvis|hyväks|akcept|zgadz|souhlas|принять|соглас)|同意|接受",
    re.I,
)
_CONSENT_WORDS = re.compile(
    r"\b(?:us(?:es?|ing)|verwend\w*|nutz\w*|utili[sz]\w*|gebruik\w*|accept)\b[^.!?]{0,40}\bcookies?\b|\baccept all\b",
    re.I,
)
_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.I)
_HEADING = re.compile(r"h([1-6])")
_CELLS = ["th", "td"]
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html",
    "li", "main", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "ul",
})  # fmt: skip
_LINES = _BLOCKS | {"br"}
_MAX_PROLOG = 4096  # bytes of a page in which its DOCTYPE is looked for
_DOCTYPE = re.compile(rb"<!DOCTYPE[^\[<>]*+\[", re.I)
_DECLARATIONS = re.compile(rb"(?:<!--(?:[^-]|-(?!->))*+-->|\"[^\"]*+\"|'[^']*+'|[^\]\"'<]|<(?!!--))*+\]\s*+>")
_ENTITY = re.compile(rb"<!ENTITY\s+([A-Za-z_][\w.-]*)")
_REFERENCE = re.compile(rb"&([A-Za-z_][\w.-]*);")


def read_html(data: bytes) -> FileContents:
    """Return the text of a page, with the headings above each part."""
    soup = parse_html(data)
    walk = HtmlWalk(TextBuilder(), HeadingPath())
    title = soup.title.get_text(" ") if soup.title else ""
    walk.read(soup)
    return walk.builder.contents([walk.main_heading, title])


def parse_html(data: bytes) -> "BeautifulSoup":
    """Return the tree of a page in UTF-8, else in the encoding that it declares, else in the likeliest one.

    Raises InputError for elements that are nested too deep: their tree takes minutes to make, and more calls to read
    than Python allows.
    """
    from bs4 import BeautifulSoup

    if 0 in data and (encoding := find_unmarked_encoding(data)):
        data = data.decode(encoding, "replace").encode()
    data = _without_declared_entities(data)
    if (depth := _measure_depth(data)) > MAX_DEPTH:
        raise InputError(
            f"the page has elements that are nested {depth:,} deep, and at most {MAX_DEPTH} are read: save it again "
            "without them, or leave it out"
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return BeautifulSoup(data, "lxml")
    return BeautifulSoup(data, "lxml", from_encoding="utf-8")


@final
class _DepthMeter:
    """Target of a parser that counts how deep elements are nested; nothing is kept of them."""

    def __init__(self) -> None:
        self._depth = self._deepest = 0

    def start(self, tag: str, attributes: object) -> None:
        """Go into an element."""
        del tag, attributes
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)

    def end(self, tag: str) -> None:
        """Go out of an element."""
        del tag
        self._depth -= 1

    def data(self, text: str) -> None:
        """Pass over a text."""

    def comment(self, text: str) -> None:
        """Pass over a comment."""

    def close(self) -> int:
        """Return the greatest depth."""
        return self._deepest


def _measure_depth(data: bytes) -> int:
    """Return how deep the elements of a page are nested; 0 for one without any."""
    from lxml import etree

    try:
        depth: int = etree.fromstring(data, etree.HTMLParser(target=_DepthMeter()))
    except etree.ParserError:  # an empty page
        return 0
    return depth


def _without_declared_entities(data: bytes) -> bytes:
    """Return a page without the declarations within its DOCTYPE, which HTML has none of, and what refers to them."""
    opening = _DOCTYPE.search(data, 0, _MAX_PROLOG)
    closing = _DECLARATIONS.match(data, opening.end()) if opening else None
    if not (opening and closing):
        return data
    declared = set(_ENTITY.findall(closing.group()))
    body = _REFERENCE.sub(lambda found: b"" if found[1] in declared else found.group(), data[closing.end() :])
    return data[: opening.end() - 1] + b">" + body


class HtmlWalk:
    """Adds the blocks of a page to a text; `is_first_header` is that of `table_rows`."""

    def __init__(self, builder: TextBuilder, headings: HeadingPath, *, is_first_header: bool = False) -> None:
        self.builder = builder
        self.main_heading = ""  # the first of level 1
        self._headings = headings
        self._is_first_header = is_first_header
        self._words: list[str] = []
        self._separator = "\n\n"
        self._mark = ""

    def read(self, soup: "BeautifulSoup") -> None:
        """Add a page."""
        root = soup.body or soup
        for tag in root.find_all(_is_consent_notice):  # while it has its buttons
            self._leave_out(tag, "cookie-notice")
        for tag in root.find_all(_DROPPED):
            tag.decompose()
        for tag in root.find_all(["header", "footer", "div", "ul", "aside"]):
            if not tag.decomposed and _is_site_frame(tag):
                tag.decompose()
        for tag in root.find_all(_is_hidden):
            self._leave_out(tag, "hidden")
        for tag in root.find_all("del"):
            self._leave_out(tag, "deleted")
        self._read_children(root)
        self._end_block()

    def _leave_out(self, tag: "Tag", state: str) -> None:
        if not tag.decomposed:
            self.builder.left_out[f"character of {state} text"] += len(" ".join(tag.get_text(" ").split()))
            tag.decompose()

    def _read_children(self, tag: "Tag") -> None:
        from bs4.element import CData, NavigableString, Tag

        for child in tag.children:
            if isinstance(child, Tag):
                self._read_tag(child)
            elif type(child) in (NavigableString, CData):  # comments and such are of other types
                self._words.append(str(child))

    def _read_tag(self, tag: "Tag") -> None:
        name = tag.name.lower()
        if heading := _HEADING.fullmatch(name):
            self._end_block()
            self._add_heading(int(heading[1]), " ".join(tag.get_text(" ").split()))
        elif name == "table" and _is_data_table(tag):
            self._end_block()
            self._add_table(tag)
        elif name == "pre":
            self._end_block()
            self.builder.add(tag.get_text(), self._place)
        elif name == "br":
            self._end_block()
            self._separator = "\n"
        elif name == "li":
            self._end_block()
            self._separator, self._mark = "\n", "- "
            self._read_children(tag)
            self._end_block()
        elif name in _BLOCKS:
            self._end_block()
            self._read_children(tag)
            self._end_block()
        else:
            target = str(tag.get("href") or "").strip() if name == "a" else ""
            if target and not target.startswith(("#", "javascript:", "data:")):
                self.builder.links[target] = None
            self._read_children(tag)

    @property
    def _place(self) -> Place | None:
        path = self._headings.path
        return Place(heading=path) if path else None

    def _add_heading(self, level: int, text: str) -> None:
        if text:
            self._headings.enter(level, text)
            self.main_heading = self.main_heading or (text if level == 1 else "")
            self.builder.add(text, self._place)

    def _add_table(self, table: "Tag") -> None:
        caption = table.find("caption")
        if caption is not None:
            self.builder.add(" ".join(caption.get_text(" ").split()), self._place)
        rows = [row.find_all(_CELLS) for row in table.find_all("tr")]
        header_rows = sum(1 for _ in takewhile(_is_header_row, rows))
        for link in table.find_all("a", href=True):
            self.builder.links[str(link["href"])] = None
        cells = [[_read_cell(cell) for cell in row] for row in rows]
        for row in table_rows(cells, header_rows, is_first_header=self._is_first_header):
            self.builder.add(row, self._place)

    def _end_block(self) -> None:
        text = " ".join("".join(self._words).split())
        self._words = []
        if text:
            self.builder.add(self._mark + text, self._place, self._separator)
            self._mark, self._separator = "", "\n\n"


def _is_site_frame(tag: "Tag") -> bool:
    """Return whether a part is the head or foot of a site, and not of an article."""
    if str(tag.get("role") or "").lower() in _DROPPED_ROLES:
        return True
    if tag.name not in ("header", "footer"):
        return False
    return tag.find_parent(["article", "main", "section", "blockquote"]) is None and tag.find(["h1", "h2"]) is None


def _is_consent_notice(tag: "Tag") -> bool:
    """Return whether a part asks for consent to cookies: its id and classes say so, and a button of it or its words."""
    if tag.name in ("html", "body", "main", "article", "a", "p") or tag.find(["h1", "main", "article"]):
        return False
    classes = tag.get("class") or ()
    own = " ".join([str(tag.get("id") or ""), *([classes] if isinstance(classes, str) else classes)])
    text = tag.get_text()
    if not (_CONSENT.search(own) and _CONSENT_PART.search(own)) or len(text) > _MAX_CONSENT_CHARACTERS:
        return False
    is_content = tag.find_parent(["main", "article"]) is not None
    controls = tag.find_all(["button", "input"] if is_content else ["button", "input", "a"])
    labels = (f"{control.get_text()} {control.get('value') or ''}" for control in controls)
    return any(map(_CONSENT_ANSWER.search, labels)) or (not is_content and _CONSENT_WORDS.search(text) is not None)


def _is_hidden(tag: "Tag") -> bool:
    """Return whether a tag says that it is not shown; what a search within the page would show is."""
    hidden = tag.get("hidden")
    if hidden is not None and str(hidden).strip().lower() != "until-found":
        return True
    return _HIDING_STYLE.search(str(tag.get("style") or "")) is not None


def _is_data_table(table: "Tag") -> bool:
    """Return whether a table is one of rows, and not the frame of a page."""
    if table.find(["table", "h1", "h2", "h3", "h4", "h5", "h6"]):
        return False
    if table.find("th"):
        return True
    rows = [row for tr in table.find_all("tr") if (row := tr.find_all(_CELLS))]
    return max(map(len, rows), default=0) > 1 and (len(rows) > 1 or {*map(_is_label, rows[0])} == {True, False})


def _is_header_row(cells: "Sequence[Tag]") -> bool:
    """Return whether a row is of header cells, but for empty ones as in the corner, or stands in a table's head."""
    full = [cell for cell in cells if cell.get_text(strip=True)]
    is_head = len(full) in (len(cells), len(cells) - 1) and all(cell.name.lower() == "th" for cell in full)
    return bool(cells) and (is_head or cells[0].find_parent("thead") is not None)


def _is_label(cell: "Tag") -> bool:
    """Return whether a cell is a header cell, or all of its letters are bold, or it ends with a colon."""
    if cell.name.lower() == "th":
        return True
    texts = [text for text in cell.strings if text.strip()]
    is_bold = all(text.find_parent(["b", "strong"]) is not None for text in texts)
    return bool(texts) and (is_bold or texts[-1].rstrip().endswith((":", "：")))


def _read_cell(cell: "Tag") -> Cell:
    lines = [" ".join(line.split()) for line in "".join(_cell_words(cell)).split("\0")]
    text = ""
    for line in filter(None, lines):
        separator = "" if not text else " " if text[-1] in ".!?:;,。！？" else ", "
        text += separator + line
    return Cell(text, _read_span(cell, "colspan"), _read_span(cell, "rowspan"), _is_label(cell))


def _cell_words(tag: "Tag") -> Iterator[str]:
    """Return the words of a cell, with a null character between its lines, paragraphs and items."""
    from bs4.element import CData, NavigableString, Tag

    for child in tag.children:
        if isinstance(child, Tag):
            end = "\0" if child.name.lower() in _LINES else " "
            yield end
            yield from _cell_words(child)
            yield end
        elif type(child) in (NavigableString, CData):
            yield str(child).replace("\0", " ")


def _read_span(cell: "Tag", name: str) -> int:
    """Return how many rows or columns a cell spans; 0, which means up to the end, is as many as there may be."""
    digits = re.match(r"\s*([0-9]{1,9})", str(cell.get(name) or ""))
    if digits is None:
        return 1
    return min(int(digits[1]) or (MAX_SPAN if name == "rowspan" else 1), MAX_SPAN)
