"""Triples and names of entities from GraphML, parsed incrementally.

A node is an entity, with its data `label` or `name` as label; an edge is a triple, with its data `label`, `relation`,
`type`, `predicate` or `name` as relation. Edges without a direction are read from source to target.

Source: Brandes et al., "GraphML Progress Report" (2002). Differs from the source: hyperedges and ports are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat

from clew.errors import InputError
from clew.indexing.kg_formats.statements import (
    MAX_NAME_CHARACTERS,
    EntityNames,
    MalformedStatement,
    Statement,
    find_name_fault,
)

DEFAULT_EDGE_RELATION = "related to"
_NODE_DATA = ("label", "name")
_EDGE_DATA = ("label", "relation", "type", "predicate", "name")
_YED_LABELS = {"NodeLabel", "EdgeLabel"}  # how yEd writes labels: elements within the data
_READ_BYTES = 1 << 16
_MAX_TOKEN_BYTES = 1 << 20  # of a tag or comment: before 2.6, expat reads each again with every piece of it
_MAX_DATA_CHARACTERS = 4 * MAX_NAME_CHARACTERS  # of one piece of data: what is longer is cut, and refused as a name


def read_graphml(stream: IO[bytes], file_name: str, encoding: str | None = None) -> Iterator[Statement]:
    """Yield the statements of a GraphML document; `encoding` overrides its XML declaration.

    No XML, no `graphml` element, a tag or comment of over a megabyte, or a declared entity, which may grow without
    bound, is an InputError.
    """
    reader = _StatementCollector(file_name)
    parser = _create_parser(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, given: reader.start_element(name, given, parser.CurrentLineNumber)
    parser.EndElementHandler = reader.end_element
    parser.CharacterDataHandler = reader.add_text
    parser.EntityDeclHandler = _refuse_entity
    fed = 0
    try:
        while piece := stream.read(_READ_BYTES):
            fed += len(piece)
            parser.Parse(piece, False)  # noqa: FBT003 - it takes no keyword
            _check_token(fed - max(parser.CurrentByteIndex, 0))
            yield from reader.take_statements()
        parser.Parse(b"", True)  # noqa: FBT003
    except (expat.ExpatError, ValueError, LookupError) as error:  # LookupError: an encoding that Python lacks
        message = f"{file_name}:{parser.CurrentLineNumber}: not GraphML ({error})"
        raise InputError(f"{message}: correct the file, or say --format if it is of another kind") from error
    yield from reader.take_statements()
    if not reader.is_graphml:
        raise InputError(f"{file_name}: holds no graphml element: say --format if it is of another kind")


def _create_parser(encoding: str | None) -> expat.XMLParserType:
    try:
        return expat.ParserCreate(encoding)
    except (ValueError, LookupError) as error:
        raise InputError(f"--encoding is {encoding!r}, which XML cannot have: leave it out, or give another") from error


def _check_token(size: int) -> None:
    if size > _MAX_TOKEN_BYTES:
        raise ValueError(f"a tag or comment has more than {_MAX_TOKEN_BYTES} bytes")


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"it declares the entity {name!r}, which is not allowed")


@dataclass(slots=True)
class _Element:
    kind: str
    line: int
    attributes: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)


class _StatementCollector:
    def __init__(self, file_name: str) -> None:
        self.is_graphml = False
        self._file_name = file_name
        self._statements: list[Statement] = []
        self._open_elements: list[_Element] = []  # nodes may hold graphs
        self._keys: dict[str, str] = {}
        self._data_name = ""
        self._text: list[str] = []

    def take_statements(self) -> list[Statement]:
        statements, self._statements = self._statements, []
        return statements

    def start_element(self, name: str, attributes: dict[str, str], line: int) -> None:
        name = name.rpartition(":")[2]
        self.is_graphml = self.is_graphml or name == "graphml"
        if name == "key":
            self._keys[attributes.get("id", "")] = attributes.get("attr.name", attributes.get("id", "")).lower()
        elif name in ("node", "edge"):
            self._open_elements.append(_Element(name, line, attributes))
        elif name == "data" or name in _YED_LABELS:
            key = attributes.get("key", "")
            self._data_name = "label" if name in _YED_LABELS else self._keys.get(key, key.lower())
            self._text = []

    def add_text(self, text: str) -> None:
        if self._data_name and sum(map(len, self._text)) < _MAX_DATA_CHARACTERS:
            self._text.append(text)

    def end_element(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if name == "data" or name in _YED_LABELS:
            if self._open_elements and (text := "".join(self._text).strip()):
                self._open_elements[-1].data.setdefault(self._data_name, text)
            self._data_name, self._text = "", []
        elif name in ("node", "edge") and self._open_elements:
            element = self._open_elements.pop()
            self._statements.append(self._make_node(element) if name == "node" else self._make_edge(element))

    def _make_node(self, node: _Element) -> EntityNames | MalformedStatement:
        id_ = node.attributes.get("id", "").strip()
        label = next((node.data[name] for name in _NODE_DATA if name in node.data), "")
        if fault := find_name_fault(id_, *filter(None, [label])):
            return MalformedStatement(f"{self._file_name}:{node.line}", f"a node: {fault}")
        return EntityNames(id_, "" if label == id_ else label, is_listed=True)

    def _make_edge(self, edge: _Element) -> Statement:
        relations = [edge.data[name] for name in _EDGE_DATA if name in edge.data]
        head, tail = (edge.attributes.get(end, "").strip() for end in ("source", "target"))
        relation = (relations or [edge.attributes.get("label", "").strip() or DEFAULT_EDGE_RELATION])[0]
        if fault := find_name_fault(head, relation, tail):
            return MalformedStatement(f"{self._file_name}:{edge.line}", f"an edge: {fault}")
        return head, relation, tail
