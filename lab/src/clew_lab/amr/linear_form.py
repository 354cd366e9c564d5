"""Graphs from the linear form that sequence-to-sequence AMR parsers write: `( <pointer:0> win-01 :ARG0 ( ... ) )`.

A node is a bracket with a pointer, a concept and relations with their targets: further nodes, pointers of nodes that
stand elsewhere, or constants, of which a text stands between `<lit>` and `</lit>`. A model may break off or repeat
itself, so that what is no such form is repaired, always to one connected graph:

- open brackets are closed at the end, and what follows the bracket of the first node is left out;
- a node without a pointer gets one; a pointer that has a concept already stands for the node that it first named;
- a relation without a target, a pointer that no node has, and a node without a concept are left out, each with what
  would hang below it;
- targets without a relation are joined by `:rel`.

Source: Bevilacqua et al., "One SPRING to Rule Them Both" (2021), for pointers and the depth-first form; Bai et al.,
"Graph Pre-training for AMR Parsing and Generation" (2022), whose models write it.
Differs from the source: the rules of repair are our own.
"""

import re
from dataclasses import dataclass, field

from clew_lab.amr.graph import VARIABLE

_TOKEN = re.compile(r"<pointer:\d+>|</?lit>|[()]|\"[^\"]*\"|(?:(?!<pointer:\d|</?lit>)[^\s()])+")
_POINTER = re.compile(r"<pointer:\d+>")
_RELATION = re.compile(r":[A-Za-z][\w-]*")
_CONCEPT = re.compile(r"[^\s()\"~:/]+")
_PLAIN = re.compile(r"[^\s()\":/~]+")
_OPEN, _CLOSE = "()"
_LITERAL, _END_OF_LITERAL = "<lit>", "</lit>"
_NO_RELATION = ":rel"


@dataclass(slots=True)
class _Node:
    """A node as it is read; `concept` is "" until it is known."""

    pointer: str
    concept: str = ""
    edges: list[tuple[str, "_Node | str"]] = field(default_factory=list)  # a string is a constant, or a pointer


@dataclass(slots=True)
class _Reader:
    """The state between two tokens."""

    open_nodes: list[_Node] = field(default_factory=list)
    nodes: dict[str, _Node] = field(default_factory=dict)  # by pointer
    relation: str = ""  # that waits for its target
    root: _Node | None = None


def to_penman(text: str) -> str:
    """Return the PENMAN notation of a linear form, "" where it holds no node with a concept.

    Variables are `z0`, `z1` ... in the order of the text.
    """
    tokens = _join_literals(_TOKEN.findall(text))
    reader = _Reader()
    place = 0
    while place < len(tokens) and not (reader.root is not None and not reader.open_nodes):
        place = _read(reader, tokens, place)
    if reader.root is None or not reader.root.concept:
        return ""
    variables: dict[int, str] = {}
    _name_variables(reader.root, variables)
    return _format(reader.root, reader.nodes, variables, set())


def _join_literals(tokens: list[str]) -> list[str]:
    """Join the tokens of each literal to one in quotes; one that is not ended goes to the next bracket or relation."""
    joined: list[str] = []
    literal: list[str] | None = None
    for token in tokens:
        if literal is not None and (token in (_OPEN, _CLOSE, _LITERAL, _END_OF_LITERAL) or _RELATION.fullmatch(token)):
            joined.append(_quote(" ".join(literal)))
            literal = None
        if token == _LITERAL:
            literal = []
        elif literal is not None:
            literal.append(token)
        elif token != _END_OF_LITERAL:
            joined.append(token)
    return joined if literal is None else [*joined, _quote(" ".join(literal))]


def _quote(text: str) -> str:
    return '"' + text.strip('"').replace("\\", "").replace('"', "") + '"'


def _read(reader: _Reader, tokens: list[str], place: int) -> int:
    """Read one token, or those that open a node; return the place of the next."""
    token = tokens[place]
    if token == _OPEN:
        return _open(reader, tokens, place + 1)
    if token == _CLOSE:
        if reader.open_nodes:
            reader.open_nodes.pop()
        reader.relation = ""
    elif _RELATION.fullmatch(token):
        reader.relation = token
    elif reader.root is None and _POINTER.fullmatch(token):
        return _open(reader, tokens, place)  # the first bracket is missing
    elif reader.open_nodes:
        _add(reader, token)
    return place + 1


def _open(reader: _Reader, tokens: list[str], place: int) -> int:
    """Open a node whose pointer or concept stands at a place; return the place after both."""
    pointer, concept = f"<new:{place}>", ""
    if place < len(tokens) and _POINTER.fullmatch(tokens[place]):
        pointer, place = tokens[place], place + 1
    if place < len(tokens) and _is_concept(tokens[place]):
        concept, place = tokens[place], place + 1
    known = reader.nodes.get(pointer)
    node = known or _Node(pointer, concept)
    node.concept = node.concept or concept
    if concept:
        reader.nodes[pointer] = node
    if reader.root is None:
        reader.root = node
    elif reader.open_nodes:
        reader.open_nodes[-1].edges.append((reader.relation or _NO_RELATION, node if known is None else pointer))
    reader.relation = ""
    reader.open_nodes.append(node)
    return place


def _is_concept(token: str) -> bool:
    return bool(_CONCEPT.fullmatch(token)) and not _POINTER.fullmatch(token)


def _add(reader: _Reader, token: str) -> None:
    """Add a constant or a pointer to the innermost node, or its concept where that is missing."""
    node = reader.open_nodes[-1]
    if not node.concept and not reader.relation and _is_concept(token):
        node.concept = token
        reader.nodes.setdefault(node.pointer, node)
    else:
        node.edges.append((reader.relation or _NO_RELATION, token))
    reader.relation = ""


def _name_variables(root: _Node, variables: dict[int, str]) -> None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        variables[id(node)] = f"z{len(variables)}"
        waiting += [target for _, target in reversed(node.edges) if isinstance(target, _Node) and target.concept]


def _format(node: _Node, nodes: dict[str, _Node], variables: dict[int, str], written: set[int]) -> str:
    """Return a node in brackets; one that is written already as its variable."""
    written.add(id(node))
    parts = [f"{variables[id(node)]} / {node.concept}"]
    for relation, target in node.edges:
        if isinstance(target, _Node):
            text = _format(target, nodes, variables, written) if target.concept else ""
        elif _POINTER.fullmatch(target):
            known = nodes.get(target)
            text = variables.get(id(known), "") if known is not None else ""
        else:
            text = _constant(target)
        if text:
            parts.append(f"{relation} {text}")
    return f"({' '.join(parts)})"


def _constant(token: str) -> str:
    plain = _PLAIN.fullmatch(token) is not None and VARIABLE.fullmatch(token) is None
    return token if plain or (len(token) > 1 and token[0] == token[-1] == '"') else _quote(token)
