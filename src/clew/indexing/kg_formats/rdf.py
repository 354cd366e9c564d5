"""Triples and names of entities from RDF: N-Triples line by line, Turtle through `rdflib`.

A resource is the entity `<IRI>`, a blank node `_:name`, a literal its text. A relation is the last segment of its IRI,
in words. Labels (`rdfs:label`, `skos:prefLabel`) and other names (`skos:altLabel`) are read as names, not as triples.

Source: the W3C recommendation "RDF 1.1 N-Triples" (2014), for the form of a line.
Differs from the source: an empty literal is refused, since an entity has a name; relative IRIs are accepted.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from clew.errors import InputError
from clew.indexing.kg_formats.tables import (
    EntityNames,
    MalformedStatement,
    RawTriple,
    Statement,
    find_name_fault,
    find_text_fault,
    relation_to_words,
)
from clew.plugins.extras import import_extra

LABEL_PREDICATES = frozenset(
    {"http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel"}
)
ALIAS_PREDICATES = frozenset({"http://www.w3.org/2004/02/skos/core#altLabel"})
_ADDRESS = r"<([^\x00-\x20<>\"{}|^`]*)>"
_BLANK = r"(_:[^\s<>\"]*[^\s<>\".])"
_LITERAL = r'"((?:[^"\\\n\r]|\\.)*+)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<[^\x00-\x20<>"{}|^`]*>)?'
_LINE = re.compile(rf"\s*(?:{_ADDRESS}|{_BLANK})\s*{_ADDRESS}\s*(?:{_ADDRESS}|{_BLANK}|{_LITERAL})\s*\.\s*(?:#.*\s*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def read_n_triples(lines: Iterable[str], file_name: str) -> Iterator[Statement]:
    """Yield the statement of each line but blanks and comments; undecodable bytes come as lone surrogates."""
    for number, line in enumerate(lines, 1):
        if line.isspace() or line.lstrip().startswith("#"):
            continue
        statement = _parse_line(line)
        yield MalformedStatement(f"{file_name}:{number}", statement) if isinstance(statement, str) else statement


def read_turtle(text: str, file_name: str) -> Iterator[Statement]:
    """Yield the statements of a Turtle document, parsed whole; an InputError if it is none."""
    import_extra("rdflib", "graphs", "reading Turtle", "convert the file to N-Triples")
    from rdflib import BNode, Graph, URIRef
    from rdflib.plugins.parsers.notation3 import BadSyntax

    triples: list[tuple[Any, Any, Any]] = []

    class InOrder(Graph):
        """Collects triples in the order of the document, which rdflib's own graph does not keep."""

        def add(self, triple: tuple[Any, Any, Any]) -> "InOrder":
            triples.append(triple)
            return self

    try:
        InOrder().parse(data=text, format="turtle", publicID="")
    except BadSyntax as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{file_name}:{error.lines + 1}: not Turtle ({reason[:200]}): correct the file") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file_name}: not Turtle ({error}): correct the file") from error
    except (AssertionError, AttributeError, LookupError, TypeError) as error:  # of the parser, at the end of the text
        raise InputError(f"{file_name}: not Turtle, or cut off: correct the file") from error
    blanks: dict[Any, str] = {}  # numbered in their order, since the parser gives them other names each time

    def term_text(term: Any) -> str:
        if isinstance(term, BNode):
            return blanks.setdefault(term, f"_:b{len(blanks)}")
        return f"<{term}>" if isinstance(term, URIRef) else str(term)

    for number, (subject, predicate, object_) in enumerate(triples, 1):
        literal = None if isinstance(object_, BNode | URIRef) else str(getattr(object_, "language", None) or "")
        statement = _make_statement(term_text(subject), str(predicate), term_text(object_), literal)
        position = f"{file_name}: triple {number}"
        yield MalformedStatement(position, statement) if isinstance(statement, str) else statement


def _parse_line(line: str) -> RawTriple | EntityNames | str:
    if fault := find_text_fault(line):
        return fault
    match = _LINE.fullmatch(line)
    if match is None:
        return "not a line of N-Triples: wanted <subject> <predicate> <object> or a literal, and a full stop"
    subject, blank, predicate, address, other_blank, literal, language = match.groups()
    try:
        head = blank or f"<{_unescape(subject)}>"
        if literal is not None:
            return _make_statement(head, _unescape(predicate), _unescape(literal), (language or "").lower())
        return _make_statement(head, _unescape(predicate), other_blank or f"<{_unescape(address)}>", None)
    except ValueError as error:
        return str(error)


def _make_statement(head: str, predicate: str, tail: str, language: str | None) -> RawTriple | EntityNames | str:
    """Return a triple or a name, or the reason why there is none; `language` is None when the tail is not a literal."""
    head, tail = head.strip(), tail.strip()
    if fault := find_name_fault(head, tail, predicate):
        return fault
    if language is not None and predicate in LABEL_PREDICATES:
        return EntityNames(head, tail, language=language.lower())
    if language is not None and predicate in ALIAS_PREDICATES:
        return EntityNames(head, aliases=(tail,))
    return head, relation_to_words(predicate), tail


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescape_match, text) if "\\" in text else text


def _unescape_match(match: re.Match[str]) -> str:
    short, long, letter = match.groups()
    if letter is not None:
        if letter not in _ESCAPED_CHARACTERS:
            raise ValueError(f"\\{letter} is not an escape of N-Triples")
        return _ESCAPED_CHARACTERS[letter]
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"\\u{code:X} is not a character")
    return chr(code)
