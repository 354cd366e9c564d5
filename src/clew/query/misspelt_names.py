"""Names that no name of an index equals: the name that a misspelt or shortened one stands for.

Tried in this order: the same first and last name with other words or initials between them, where one name alone fits;
the nearest spelling (fewest edits, then most passages, then by name); the first name's initial and the last name, a
surname, or an acronym that one name alone fits.
Numbers are never taken for others: `Rocky II` is no misspelt `Rocky III`, but `AX400012` is `AX-4000-12`.

Source: none; measured in docs/decisions. Differs from the source: nothing.
"""

import logging
import threading
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import final

from clew.graph.similar_names import SimilarNames, list_name_parts
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.conditions import ArrayStore
from clew.query.visible_names import NameTable
from clew.text.casing import looks_like_name
from clew.text.normalization import find_numbers, key_hash, name_key, strip_parentheses

_logger = logging.getLogger(__name__)
_NOTICE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class SimilarName:
    """A name of an index that an unknown one is taken for."""

    text: str  # as the index writes it
    entities: tuple[int, ...]  # positions in `snapshot.entities`, ascending
    reason: str  # what differs, in words


@final
class _OpenedNames:
    """The names of an index by their parts, opened at the first use."""

    def __init__(self, snapshot: Snapshot, store: ArrayStore | None) -> None:
        self._snapshot = snapshot
        self._store = store
        self._names: SimilarNames | None = None
        self._lock = threading.Lock()

    def open(self) -> SimilarNames:
        """Return the names, read or computed once."""
        with self._lock:
            if self._names is None:
                started = time.perf_counter()
                compute = partial(list_name_parts, self._snapshot)
                self._names = SimilarNames(compute() if self._store is None else self._store("spellings", compute))
                seconds = time.perf_counter() - started
                if seconds > _NOTICE_SECONDS:
                    _logger.warning("read %d names in %.0f s; later runs load them", len(self._names.names), seconds)
            return self._names


@final
class UnknownNames:
    """Finds the names that unknown ones stand for; `store` keeps its arrays on disk, None in memory alone.

    Nothing is read or computed before the first unknown name.
    """

    def __init__(self, snapshot: Snapshot, store: ArrayStore | None = None) -> None:
        self._snapshot = snapshot
        self._table: NameTable = snapshot
        self._names = _OpenedNames(snapshot, store)  # which copies share

    def restrict(self, table: NameTable) -> "UnknownNames":
        """Return a copy that knows the names of a table alone."""
        restricted = copy(self)
        restricted._table = table  # noqa: SLF001
        return restricted

    def find(self, surface: str) -> SimilarName | None:
        """Return the name that one, as it is written, is taken for; None where there is none, or the index knows it."""
        key = name_key(surface)
        if self._entities(key):
            return None
        names = self._names.open()
        full = self._known_names(names.full_names(key)) if all(map(looks_like_name, surface.split())) else []
        if len(full) == 1 and len(first := key.split(" ")[0]) > 1 and full[0].startswith(f"{first} "):
            return self._similar_name(full[0], "shortened")
        numbers = find_numbers(key)
        near = [name for name in names.nearest_names(key) if not name.edits or find_numbers(name.key) == numbers]
        if near := [name for name in near if self._table is self._snapshot or self._entities(name.key)]:
            best = min(near, key=lambda name: (name.edits, -self._passage_count(name.key), name.key))
            return self._similar_name(best.key, _describe_edits(best.edits))
        if len(full) == 1:
            return self._similar_name(full[0], "shortened")
        if surface.isupper() and len(long := self._known_names(names.long_forms(key))) == 1:
            return self._similar_name(long[0], "acronym")
        if len(several := self._known_names(names.names_with_surname(key))) == 1:
            return self._similar_name(several[0], "last word")
        return None

    def _known_names(self, keys: Sequence[str]) -> list[str]:
        """Return the keys that entities have in the table; those of the snapshot all have some."""
        return list(keys) if self._table is self._snapshot else [key for key in keys if self._entities(key)]

    def _passage_count(self, key: str) -> int:
        return sum(len(self._table.passages_of(entity)) for entity in self._entities(key))

    def _entities(self, key: str) -> tuple[int, ...]:
        return tuple(int(e) for e in self._table.entities_with_key(key_hash(key, self._table.salt)))

    def _similar_name(self, key: str, reason: str) -> SimilarName:
        entities = self._entities(key)
        common = max(entities, key=lambda e: (len(self._table.passages_of(e)), -e))
        forms = (form(self._table.entities[common]) for form in (str, strip_parentheses))
        return SimilarName(next((form for form in forms if name_key(form) == key), key), entities, reason)


def _describe_edits(edits: int) -> str:
    return f"{edits} letter{'s differ' if edits > 1 else ' differs'}" if edits else "only spaces or punctuation differ"
