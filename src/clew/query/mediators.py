"""Mediator nodes: nodes that only join the facts of one event, such as a marriage, and answer no question.

Freebase calls them compound value types (CVT). A search goes through them, and no path ends at one.

Source: the published experiments on WebQSP and CWQ, whose graphs are of Freebase.
Differs from the source: a setting says how they are recognised, since their types are not in the graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

import numpy as np

from clew.arrays import BoolArray, IntArray
from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.records import setting
from clew.text.normalization import is_identifier

UNLABELLED, HEADS_OF, LISTED = "unlabelled", "heads-of", "file"
FORMS = "unlabelled, heads-of:PREFIX (several joined by +), or file:PATH with an id or name on each line"


@final
@dataclass(frozen=True, eq=False)
class Mediators:
    """Recognises the mediator nodes of one snapshot."""

    snapshot: Snapshot
    kind: str  # one of the three above
    names: tuple[str, ...]  # prefixes of relations, or the listed ids and names; () for `unlabelled`

    @property
    def fingerprint(self) -> str:
        """The kind and a hash of the names."""
        return f"{self.kind}-{blake2b(chr(0).join(self.names).encode(), digest_size=8).hexdigest()}"

    def mask(self, entities: IntArray) -> BoolArray:
        """Return for each entity (n,) whether it is a mediator, (n,)."""
        if self.kind == UNLABELLED:
            names = self.snapshot.entities
            return np.array([is_identifier(names[entity]) for entity in entities.tolist()], dtype=bool)
        return np.isin(entities, self._mediators)

    @cached_property
    def _mediators(self) -> IntArray:
        snapshot = self.snapshot
        if self.kind == LISTED:
            found = [snapshot.entities_with_name(name) for name in self.names]
            return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int32)
        relations = [i for i, name in enumerate(snapshot.relations) if name.startswith(self.names)]
        return np.unique(snapshot.triples[np.isin(snapshot.triples[:, 1], relations), 0])


def mediators_setting() -> Any:
    """Return the field `mediators` of a retriever's settings: a text for `find_mediators`, or None for none."""
    return setting(
        None,
        "nodes that paths go through and never end at: unlabelled, heads-of:PREFIX+PREFIX or file:PATH",
        "the nodes of Freebase without a name",
        in_repr=False,
    )


def open_mediators(snapshot: Snapshot, text: str | None) -> Mediators | None:
    """Return the mediators that a setting describes, None for none; raises InputError where it is none of `FORMS`."""
    return find_mediators(snapshot, text) if text else None


def mediators_fingerprint(mediators: Mediators | None) -> str:
    """Return what mediators add to the fingerprint of a retriever; "" for none."""
    return "" if mediators is None else f"\0{mediators.fingerprint}"


def find_mediators(snapshot: Snapshot, text: str) -> Mediators:
    """Return the mediators that a setting describes; raises InputError where it is none of `FORMS`."""
    kind, colon, value = text.partition(":")
    if kind == UNLABELLED and not colon:
        return Mediators(snapshot, kind, ())
    if kind == HEADS_OF and (prefixes := tuple(filter(None, value.split("+")))):
        return Mediators(snapshot, kind, prefixes)
    if kind == LISTED and value:
        return Mediators(snapshot, kind, tuple(_read_names(Path(value))))
    raise InputError(f"mediators is {text!r}: give {FORMS}")


def _read_names(path: Path) -> Sequence[str]:
    try:
        lines = path.expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"mediators: the file {path} cannot be read ({error}): name a text file in UTF-8") from error
    return sorted({line.strip() for line in lines if line.strip()})
