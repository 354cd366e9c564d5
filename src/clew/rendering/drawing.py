"""Evidence as a drawing: chains and paths hop by hop, from the top down, so that it fits a phone as well as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clew.rendering.markup import escape_line, shorten, strip_links, wrap
from clew.types import Evidence, Path, SentenceChain

_WIDTH, _MARGIN, _PADDING = 640, 16, 12  # in pixels, as all below
_LINE, _LETTER, _HOP = 18, 6.8, 42  # of text of 13 pixels: height of a line, width of a letter; length of an arrow
_COLUMNS = int((_WIDTH - 2 * _MARGIN - 2 * _PADDING) / _LETTER)
_MAX_LINES = 5  # of a card's text
_STYLE = (
    ".clew-svg{font-family:system-ui,sans-serif;font-size:13px}.clew-ground{fill:#faf9f6}.clew-card{fill:#fff;"
    "stroke:#b9c6c4}.clew-ink{fill:#20262b}.clew-soft{fill:#5a646c}.clew-strong{font-weight:600}.clew-hop{stroke:"
    "#0b6666;stroke-width:1.5}.clew-head{fill:#0b6666}@media(prefers-color-scheme:dark){.clew-ground{fill:#15191c}"
    ".clew-card{fill:#1d2326;stroke:#4a5a5f}.clew-ink{fill:#e8e5de}.clew-soft{fill:#a9b1b5}.clew-hop{stroke:#7fcfc4}"
    ".clew-head{fill:#7fcfc4}}"
)
_MAX_CHAINS, _MAX_PATHS, _MAX_PASSAGES = 2, 3, 5


@dataclass(frozen=True, slots=True)
class Hop:
    """A relation or a shared name that joins a card to the one above it."""

    label: str
    downward: bool = True  # whether the fact goes from the card above to this one


@dataclass(frozen=True, slots=True)
class Card:
    """A sentence, a passage or an entity."""

    title: str
    text: str = ""
    source: str = ""  # id of the passage that it stands in
    hop: Hop | None = None  # None where nothing joins it to the card above


@dataclass(frozen=True, slots=True)
class Column:
    """Cards under a heading, from the top."""

    heading: str
    cards: tuple[Card, ...]


def arrange_columns(evidence: Evidence) -> list[Column]:
    """Return the best chains, then the best paths; the best passages where there is neither."""
    chains = [
        Column(_heading("Chain", number, len(evidence.chains)), tuple(_chain_cards(chain.item)))
        for number, chain in enumerate(evidence.chains[:_MAX_CHAINS], 1)
    ]
    paths = [
        Column(_heading("Path", number, len(evidence.paths)), tuple(_path_cards(path.item)))
        for number, path in enumerate(evidence.paths[:_MAX_PATHS], 1)
    ]
    if chains or paths:
        return [*chains, *paths]
    passages = [each.item for each in evidence.passages[:_MAX_PASSAGES]]
    cards = tuple(Card(p.title or p.document_id, strip_links(p.text), p.id) for p in passages)
    heading = "Passages; no chain or path joins them" if cards else "Nothing was found"
    return [Column(heading, cards)]


def _heading(kind: str, number: int, count: int) -> str:
    return kind if count == 1 else f"{kind} {number} of {count}"


def _chain_cards(chain: SentenceChain) -> Iterator[Card]:
    hops = [None, *(Hop(f"joined by {bridge}") for bridge in chain.bridges)]
    for sentence, hop in zip(chain.sentences, hops, strict=True):
        yield Card(sentence.title or sentence.document_id, f"“{strip_links(sentence.quote)}”", sentence.passage_id, hop)


def _path_cards(path: Path) -> Iterator[Card]:
    """Yield the entities of a path in the order of a walk along it; a fact may be walked from its tail to its head."""
    above = _first_end(path)
    if path:
        yield Card(above)
    for triple in path:
        head, tail = triple.entities
        downward = head == above or tail != above
        start, end = (head, tail) if downward else (tail, head)
        if start != above:
            yield Card(start)
        source = triple.passages[0] if triple.passages else ""
        yield Card(end, source=source, hop=Hop(triple.relation, downward))
        above = end


def _first_end(path: Path) -> str:
    """Return the end of the first fact that the second does not have; its head where that says nothing."""
    if not path:
        return ""
    head, tail = path[0].entities
    is_turned = len(path) > 1 and head in path[1].entities and tail not in path[1].entities
    return tail if is_turned else head


def draw_evidence(evidence: Evidence, question: str = "") -> str:
    """Return an SVG document of the best chains and paths, or of the best passages where nothing joins them."""
    parts, top = [], float(_MARGIN)
    for line in wrap(question, _COLUMNS, 3):
        parts.append(_text(line, _MARGIN, top + 13, "clew-ink clew-strong"))
        top += _LINE
    for column in arrange_columns(evidence):
        drawing, top = _draw_column(column, top + 14)
        parts += drawing
    height = top + _MARGIN
    label = f"How the evidence connects: {question}" if question else "How the evidence connects"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="clew-svg" role="img" width="{_WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {_WIDTH} {height:g}" aria-label="{escape_line(label)}">\n<style>{_STYLE}</style>\n'
        f'<rect class="clew-ground" width="{_WIDTH}" height="{height:g}" rx="10"/>\n' + "\n".join(parts) + "\n</svg>"
    )


def _draw_column(column: Column, top: float) -> tuple[Sequence[str], float]:
    """Return the parts of a column, and where it ends."""
    parts = [_text(column.heading, _MARGIN, top + 13, "clew-soft")]
    top += _LINE + 4
    for position, card in enumerate(column.cards):
        if card.hop is not None:
            parts.append(_draw_hop(card, top))
            top += _HOP
        elif position:
            top += 10
        drawing, top = _draw_card(card, top)
        parts.append(drawing)
    return parts, top


def _draw_hop(card: Card, top: float) -> str:
    assert card.hop is not None
    x, start, end = _MARGIN + 28, top + 4, top + _HOP - 4
    point, back = (end, -8) if card.hop.downward else (start, 8)
    label = shorten(" ".join(card.hop.label.split()), _COLUMNS - 6)
    return (
        f'<line class="clew-hop" x1="{x}" y1="{start:g}" x2="{x}" y2="{end:g}"/>'
        f'<path class="clew-head" d="M{x} {point:g}l-5 {back}h10z"/>'
        + _text(label, x + 16, (start + end) / 2 + 4, "clew-ink")
    )


def _draw_card(card: Card, top: float) -> tuple[str, float]:
    x, width = _MARGIN + _PADDING, _WIDTH - 2 * _MARGIN
    lines = wrap(card.text, _COLUMNS, _MAX_LINES)
    source = card.source if card.source != card.title else ""
    title = shorten(" ".join(card.title.split()), _COLUMNS if not source else _COLUMNS * 2 // 3)
    height = _LINE * (1 + len(lines)) + 2 * _PADDING - 4
    parts = [
        f"<g><title>{escape_line(card.text or card.title)}</title>",
        f'<rect class="clew-card" x="{_MARGIN}" y="{top:g}" width="{width}" height="{height}" rx="8"/>',
        _text(title, x, top + _PADDING + 11, "clew-ink clew-strong"),
    ]
    if source:
        place = _WIDTH - _MARGIN - _PADDING
        parts.append(_text(shorten(source, _COLUMNS // 3), place, top + _PADDING + 11, "clew-soft", "end"))
    for number, line in enumerate(lines, 1):
        parts.append(_text(line, x, top + _PADDING + 11 + number * _LINE, "clew-ink"))
    return "".join([*parts, "</g>"]), top + height


def _text(text: str, x: float, y: float, style: str, anchor: str = "start") -> str:
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{style}" x="{x:g}" y="{y:g}"{side}>{escape_line(text)}</text>'
