"""A graph's file into the table: cut into parts, and what is new or changed among them committed, several at a time.

A commit is atomic, so a run that is killed loses at most the parts in flight; the next run finds the committed ones
unchanged by their hashes and writes the rest. Parts that the file no longer has go at the end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clew.errors import InputError
from clew.indexing.kg_formats.statements import Malformed, Named, Stated, Statement, states_nothing
from clew.indexing.snapshot_builder import Progress
from clew.store.kg_shards import HOLDS_NAMES, HOLDS_TRIPLES, GraphPart, is_part, parts_by_graph, parts_to_table
from clew.store.passage_table import PassageTable

PART_TRIPLES = 16_384
PART_CHARACTERS = 1 << 22
COMMIT_TRIPLES = 250_000
COMMIT_CHARACTERS = 1 << 25
SHOWN = 20
"""Faults of a file that are told one by one; all are counted."""


@dataclass(slots=True)
class GraphReport:
    """What the import of a graph did.

    Attributes:
        name: Of the graph.
        triples: Stored.
        duplicates: Triples that the same part of the file had before.
        names: Labels and aliases of entities stored.
        malformed: Pieces of the file that could not be used.
        faults: The first of them.
        added: Parts that were new.
        updated: Parts that had changed.
        unchanged: Parts that cost nothing.
        removed: Parts that the file no longer has.
        seconds: Of the run, with the making of the snapshot.
    """

    name: str
    triples: int = 0
    duplicates: int = 0
    names: int = 0
    malformed: int = 0
    faults: list[Malformed] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    seconds: float = 0.0


def graph_name(given: str) -> str:
    """Return the name of a graph without spaces around it.

    Raises:
        InputError: No graph can have it.
    """
    name = given.strip()
    if not name or not name.isprintable():
        raise InputError(f"the name {name!r} cannot be a graph's: give another by --name, of letters and signs")
    return name


@dataclass(slots=True)
class _Filling:
    """A part that is being filled: its triples, each once, in the order of the file, and whether there may be more."""

    holds: str
    triples: dict[Stated, None] = field(default_factory=dict)
    characters: int = 0
    full: bool = False

    def add(self, triple: Stated) -> bool:
        """Return whether the part lacked a triple, and put it in."""
        before = len(self.triples)
        self.triples[triple] = None
        if len(self.triples) == before:
            return False
        head, relation, tail = triple
        self.characters += len(head) + len(relation) + len(tail)
        self.full = before + 1 == PART_TRIPLES or self.characters >= PART_CHARACTERS
        return True


class GraphImporter:
    """Brings graphs into a table.

    Args:
        table: Opened under the writer's lock.
        progress: Told of the triples read.
    """

    def __init__(self, table: PassageTable, progress: Progress) -> None:
        self._table = table
        self._progress = progress
        self._known: Mapping[str, str] = {}
        self._changed: list[tuple[GraphPart, str]] = []
        self._held = 0
        self._parts = 0

    def bring(self, name: str, statements: Iterable[Statement]) -> GraphReport:
        """Store what a file states in the place of what the graph of that name held; commits as it goes.

        Args:
            name: Of the graph; no document's id.
            statements: Of the file, in its order.

        Raises:
            InputError: A document goes by the name, or nothing is stated; then nothing was changed.
        """
        self._known = self._table.documents()
        if name in self._known or any(
            not is_part(hash_) and id_.startswith(f"{name}#") and id_[len(name) + 1 :].isdigit()
            for id_, hash_ in self._known.items()
        ):
            raise InputError(f"a document of this index goes by {name!r}: give the graph another --name")
        report = GraphReport(name)
        self._changed, self._held, self._parts = [], 0, 0
        self._read(statements, report)
        if not self._parts:
            raise InputError(states_nothing(name, report.malformed, next(iter(report.faults), None)))
        self._commit()
        stale = [id_ for id_ in parts_by_graph(self._known).get(name, ()) if int(id_[len(name) + 1 :]) >= self._parts]
        self._table.delete(stale)
        report.removed = len(stale)
        return report

    def _read(self, statements: Iterable[Statement], report: GraphReport) -> None:
        triples, names = _Filling(HOLDS_TRIPLES), _Filling(HOLDS_NAMES)
        for statement in statements:
            if isinstance(statement, tuple):
                new = triples.add(statement)
                report.triples += new
                report.duplicates += not new
                if triples.full:
                    self._finish(triples, report)
                    triples = _Filling(HOLDS_TRIPLES)
            elif isinstance(statement, Named):
                for triple in statement.triples():
                    report.names += names.add(triple)
                if names.full:
                    self._finish(names, report)
                    names = _Filling(HOLDS_NAMES)
            else:
                report.malformed += 1
                if len(report.faults) < SHOWN:
                    report.faults.append(statement)
        for filling in (triples, names):
            if filling.triples:
                self._finish(filling, report)

    def _finish(self, filling: _Filling, report: GraphReport) -> None:
        """Give a part its number; write it, with others in one commit, unless it is there already."""
        part = GraphPart(report.name, self._parts, filling.holds, tuple(filling.triples))
        self._parts += 1
        self._progress("importing", report.triples, 0)
        hash_ = part.hash()
        known = self._known.get(part.id)
        if known == hash_:
            report.unchanged += 1
            return
        report.updated += known is not None
        report.added += known is None
        self._changed.append((part, hash_))
        self._held += filling.characters
        if (
            sum(len(changed.triples) for changed, _ in self._changed) >= COMMIT_TRIPLES
            or self._held >= COMMIT_CHARACTERS
        ):
            self._commit()

    def _commit(self) -> None:
        if self._changed:
            parts, hashes = zip(*self._changed, strict=True)
            self._table.replace(parts_to_table(parts, hashes, self._table.dimension), [part.id for part in parts])
        self._changed, self._held = [], 0
