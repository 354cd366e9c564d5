"""What a file of a graph states: triples as plain tuples, names of entities, and lines that cannot be used."""

import re
from dataclasses import dataclass

MAX_NAME_CHARACTERS = 65_536
"""Characters; a longer one is no name but a fault of the file."""

NODE, LABEL, ALIAS = "node", "label", "alias"
"""What a stored name is: of an entity the file lists, a label (`label@de` in a language), another name."""

RawTriple = tuple[str, str, str]
"""Head, relation, tail: exact texts without white space around them."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class EntityNames:
    """What an entity is called.

    Attributes:
        id: The entity, as triples write it.
        label: "" for none.
        language: Of the label, such as "en"; "" when it is not told.
        is_listed: Whether the file lists the entity, so that it is one also without a triple.
    """

    id: str
    label: str = ""
    aliases: tuple[str, ...] = ()
    language: str = ""
    is_listed: bool = False

    def to_triples(self) -> list[RawTriple]:
        """Return the names as they are stored."""
        kind = NODE if self.is_listed else f"{LABEL}@{self.language}" if self.language else LABEL
        own = [(self.id, kind, self.label)] if self.label or self.is_listed else []
        return [*own, *((self.id, ALIAS, alias) for alias in self.aliases)]


@dataclass(frozen=True, slots=True)
class MalformedStatement:
    """A line, or another piece of a file, that states nothing that can be used.

    Attributes:
        position: The file's name and the line, `kg.tsv:17`.
        reason: What is wrong with it.
    """

    position: str
    reason: str

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}"


Statement = RawTriple | EntityNames | MalformedStatement


def no_triples_message(name: str, count: int, first: MalformedStatement | None) -> str:
    """Return what is said of a file without a triple.

    Args:
        name: Of the file or its graph.
        count: Of its faults.
        first: Of them.
    """
    told = "" if first is None else f"; the first fault: {first}"
    faults = f" ({count} {'fault' if count == 1 else 'faults'}{told})" if count else ""
    return f"the file of {name!r} states no triple{faults}"


def find_name_fault(*names: str) -> str:
    """Return why one of some names cannot be used, "" when all can."""
    for name in names:
        if not name:
            return "a name is empty"
        if len(name) > MAX_NAME_CHARACTERS:
            return f"a name has {len(name):,} characters, at most {MAX_NAME_CHARACTERS:,} are allowed"
        if "\0" in name:
            return "a NUL byte in a name"
        if not name.isascii() and _SURROGATE.search(name):
            return "half a character (a lone surrogate) in a name"
    return ""


def is_iri(id_: str) -> bool:
    """Tell whether an entity's id is an address as RDF writes it: `<http://...>`."""
    return id_.startswith("<") and id_.endswith(">") and ":" in id_


def last_segment(address: str) -> str:
    """Return what stands behind the last `#`, `/` or `:` of an address, whatever follows it aside."""
    shortened = address.rstrip("/#:")
    return re.split(r"[/#:]", shortened)[-1] or shortened


def relation_to_words(address: str) -> str:
    """Return a relation's address as words: `http://example.org/birthPlace` gives `birth place`."""
    segment = last_segment(address).replace("_", " ").replace("-", " ")
    return " ".join(_CAMEL.sub(" ", segment).split()).lower() or address
