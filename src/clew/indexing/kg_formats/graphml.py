"""Triples and names of entities from GraphML, read piece by piece.

A node is an entity, its data `label` or `name` what it is called; an edge is a triple, its data `label`, `relation`,
`type`, `predicate` or `name` the relation. Edges without a direction are taken in that of their ends.

Source: Brandes et al., "GraphML Progress Report" (2002). Differs from the source: hyperedges and ports are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat

from clew.errors import InputError
from clew.indexing.kg_formats.statements import LONGEST_NAME, Malformed, Named, Statement, fault_of

UNTOLD = "related to"
_NODE_DATA = ("label", "name")
_EDGE_DATA = ("label", "relation", "type", "predicate", "name")
_DRAWN = {"NodeLabel", "EdgeLabel"}  # how yEd writes labels: elements within the data
_PIECE = 1 << 16
_MOST_TEXT = 4 * LONGEST_NAME  # of one piece of data: what is longer is cut, and refused as a name


def graphml(stream: IO[bytes], place: str, encoding: str | None = None) -> Iterator[Statement]:
    """Yield what a GraphML document states.

    Args:
        stream: The document; its XML declaration says how it is encoded.
        place: How faults name the file.
        encoding: In place of what the document says.

    Raises:
        InputError: It is no XML, holds no `graphml` element, or declares entities, which may grow without bound.
    """
    reader = _Reader(place)
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, given: reader.start(name, given, parser.CurrentLineNumber)
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse_entity
    try:
        while piece := stream.read(_PIECE):
            parser.Parse(piece, False)  # noqa: FBT003 - it takes no keyword
            yield from reader.taken()
        parser.Parse(b"", True)  # noqa: FBT003
    except (expat.ExpatError, ValueError) as error:
        message = f"{place}:{parser.CurrentLineNumber}: not GraphML ({error})"
        raise InputError(f"{message}: correct the file, or say --format if it is of another kind") from error
    yield from reader.taken()
    if not reader.is_graphml:
        raise InputError(f"{place}: holds no graphml element: say --format if it is of another kind")


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"it declares the entity {name!r}, which is not allowed")


@dataclass(slots=True)
class _Element:
    """A node or an edge that is being read."""

    kind: str
    line: int
    given: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)


class _Reader:
    """Collects statements from the parser's calls."""

    def __init__(self, place: str) -> None:
        self.is_graphml = False
        self._place = place
        self._found: list[Statement] = []
        self._open: list[_Element] = []  # nodes may hold graphs
        self._keys: dict[str, str] = {}
        self._reading = ""
        self._text: list[str] = []

    def taken(self) -> list[Statement]:
        """Return what was found since it was asked last."""
        found, self._found = self._found, []
        return found

    def start(self, name: str, given: dict[str, str], line: int) -> None:
        """Meet the start of an element."""
        name = name.rpartition(":")[2]
        self.is_graphml = self.is_graphml or name == "graphml"
        if name == "key":
            self._keys[given.get("id", "")] = given.get("attr.name", given.get("id", "")).lower()
        elif name in ("node", "edge"):
            self._open.append(_Element(name, line, given))
        elif name == "data" or name in _DRAWN:
            key = given.get("key", "")
            self._reading = "label" if name in _DRAWN else self._keys.get(key, key.lower())
            self._text = []

    def text(self, text: str) -> None:
        """Meet text."""
        if self._reading and sum(map(len, self._text)) < _MOST_TEXT:
            self._text.append(text)

    def end(self, name: str) -> None:
        """Meet the end of an element."""
        name = name.rpartition(":")[2]
        if name == "data" or name in _DRAWN:
            if self._open and (text := "".join(self._text).strip()):
                self._open[-1].data.setdefault(self._reading, text)
            self._reading, self._text = "", []
        elif name in ("node", "edge") and self._open:
            element = self._open.pop()
            self._found.append(self._node(element) if name == "node" else self._edge(element))

    def _node(self, node: _Element) -> Named | Malformed:
        id_ = node.given.get("id", "").strip()
        label = next((node.data[name] for name in _NODE_DATA if name in node.data), "")
        if fault := fault_of(id_, *filter(None, [label])):
            return Malformed(f"{self._place}:{node.line}", f"a node: {fault}")
        return Named(id_, "" if label == id_ else label, listed=True)

    def _edge(self, edge: _Element) -> Statement:
        told = [edge.data[name] for name in _EDGE_DATA if name in edge.data]
        head, tail = (edge.given.get(end, "").strip() for end in ("source", "target"))
        relation = (told or [edge.given.get("label", "").strip() or UNTOLD])[0]
        if fault := fault_of(head, relation, tail):
            return Malformed(f"{self._place}:{edge.line}", f"an edge: {fault}")
        return head, relation, tail
