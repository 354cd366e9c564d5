"""Notes on names in evidence that a passage writes as an alias of its document."""

from collections.abc import Sequence
from dataclasses import replace

from clew.store.passage_table import PassageTable
from clew.text.normalization import name_key
from clew.types import Evidence, Triple

_MAX_NOTES = 10


def note_aliases(table: PassageTable, evidence: Evidence) -> Evidence:
    """Return evidence with the notes of `describe_aliases` on the triples of its paths."""
    notes = describe_aliases(table, [triple for path in evidence.paths for triple in path.item])
    return replace(evidence, notes=(*evidence.notes, *notes)) if notes else evidence


def describe_aliases(table: PassageTable, triples: Sequence[Triple]) -> tuple[str, ...]:
    """Return notes, ten at most, on ends of triples that a passage which states them writes as an alias."""
    written = table.read_aliases(sorted({passage for triple in triples for passage in triple.passages}))
    notes = [
        f"{passage} writes {end} as {name}"
        for triple in triples
        for passage in triple.passages
        for end in triple.entities
        for name, full in written.get(passage, ())
        if name_key(full) == name_key(end)
    ]
    return tuple(dict.fromkeys(notes))[:_MAX_NOTES]
