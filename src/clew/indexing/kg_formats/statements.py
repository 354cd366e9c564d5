"""Statements of graph files: triples as plain tuples, names of entities, and malformed statements."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.errors import InputError
from clew.text.counts import format_count
from clew.text.sanitize import has_surrogate

MAX_NAME_CHARACTERS = 65_536  # maximum length of a name; a longer one is a fault of the file
MAX_LINE_CHARACTERS = 1 << 20  # more than three of the longest names
SHORTEN = "shorten it, or index long texts as documents"  # what to do with a name or line that is too long
CUT = "\0\0"  # at the end of a longer line, which is not read whole
MAX_RECORD_CHARACTERS = 1 << 26
"""Length of a JSON record, at most: the largest published ones, questions with their graphs, have a fiftieth of it."""
# Kinds of stored names: of an entity that the file lists, a label (`label@de` in a language), another name.
NODE, LABEL, ALIAS = "node", "label", "alias"
RawTriple = tuple[str, str, str]  # head, relation, tail: exact texts without surrounding white space
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class EntityNames:
    """Names of an entity."""

    id: str  # the entity, as triples write it
    label: str = ""  # the label, "" for none
    aliases: tuple[str, ...] = ()
    language: str = ""  # language of the label, such as "en"; "" when it is not stated
    is_listed: bool = False  # whether the file lists the entity, so that it exists even without a triple

    def to_triples(self) -> list[RawTriple]:
        """Return the names in stored form."""
        kind = NODE if self.is_listed else f"{LABEL}@{self.language}" if self.language else LABEL
        own = [(self.id, kind, self.label)] if self.label or self.is_listed else []
        return [*own, *((self.id, ALIAS, alias) for alias in self.aliases)]


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity, as triples write it, and the id of a document or passage that mentions it."""

    entity: str
    place: str


@dataclass(frozen=True, slots=True)
class MalformedStatement:
    """A line, or another part of a file, that cannot be used."""

    position: str  # the file's name and the line, `kg.tsv:17`
    reason: str  # the fault

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}"


@dataclass(frozen=True, slots=True)
class DroppedTriple:
    """A triple that is left out, since its relation is not wanted."""


Statement = RawTriple | EntityNames | EntityMention | MalformedStatement | DroppedTriple
_DROPPED = DroppedTriple()


def drop_relations(statements: Iterable[Statement], prefixes: tuple[str, ...]) -> Iterator[Statement]:
    """Yield statements, with a `DroppedTriple` for each triple whose relation begins with one of some prefixes."""
    for statement in statements:
        yield _DROPPED if isinstance(statement, tuple) and statement[1].startswith(prefixes) else statement


def require_statement(statements: Iterable[Statement], kind: type, place: str, noun: str) -> Iterator[Statement]:
    """Yield statements; InputError at their end where none is of a kind: the place states none by its noun."""
    first, faults, is_stated = None, 0, False
    for statement in statements:
        is_stated = is_stated or isinstance(statement, kind)
        if isinstance(statement, MalformedStatement):
            first, faults = first or statement, faults + 1
        yield statement
    if not is_stated:
        raise InputError(nothing_stated(place, noun, faults, first))


def nothing_stated(place: str, noun: str, faults: int, first: MalformedStatement | None, dropped: int = 0) -> str:
    """Return the message for a place that states nothing by a noun.

    It has the number of its faults with the first of them, and that of the triples dropped by their relations.
    """
    others = f" but {format_count(dropped, 'triple')} of dropped relations" if dropped else ""
    first_fault = "" if first is None else f"; the first fault: {first}"
    malformed = f" ({format_count(faults, 'fault')}{first_fault})" if faults else ""
    return f"{place} states no {noun}{others}{malformed}"


def find_name_fault(*names: str) -> str:
    """Return the reason why one of some names cannot be used, "" when all can."""
    for name in names:
        if not name:
            return "a name is empty"
        if len(name) > MAX_NAME_CHARACTERS:
            return f"a name has {len(name):,} characters, at most {MAX_NAME_CHARACTERS:,} are allowed: {SHORTEN}"
        if "\0" in name:
            return "a NUL byte in a name"
        if has_surrogate(name):
            return "half a character (a lone surrogate) in a name"
    return ""


def is_iri(id_: str) -> bool:
    """Return whether an entity's id is an IRI as RDF writes it: `<http://...>`."""
    return id_.startswith("<") and id_.endswith(">") and ":" in id_


def last_segment(address: str) -> str:
    """Return the text after the last `#`, `/` or `:` of an IRI, ignoring trailing ones."""
    shortened = address.rstrip("/#:")
    return re.split(r"[/#:]", shortened)[-1] or shortened


def relation_to_words(address: str) -> str:
    """Return a relation's IRI as words: `http://example.org/birthPlace` gives `birth place`."""
    segment = last_segment(address).replace("_", " ").replace("-", " ")
    return " ".join(_CAMEL.sub(" ", segment).split()).lower() or address
