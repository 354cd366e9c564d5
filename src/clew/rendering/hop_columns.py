"""Columns of cards, one hop below the other: the chains of sentences and the paths of facts of some evidence."""

from collections.abc import Iterator
from dataclasses import dataclass

from clew.rendering.markup import strip_links
from clew.types import Evidence, Path, SentenceChain

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
