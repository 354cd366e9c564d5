"""The snapshot of some passages of a version: that of an index which has these passages alone, from the same segments.

It lies in a folder of its own beside the other derived data, with its segments, and is dropped with the next change.

Selection of the new and changed documents of a stream, which is never held as a whole.

What is known of the stored documents, and of those that came before in the stream, are arrays of hashes
(`store.document_ids`). A document is refused whose id is repeated, is that of an imported graph, or is that of a
passage of another document: a document "a" of several passages has the passages "a#1", "a#2" and so on.
"""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, final

import numpy as np

from clew.arrays import BoolArray, LongArray
from clew.errors import InputError, ProviderError
from clew.graph.segments.flat import flatten_arrays
from clew.graph.segments.sentence_columns import ROW_BITS, ROW_MASK
from clew.graph.snapshot.snapshot import Snapshot
from clew.indexing.chunking import Chunker
from clew.indexing.merging.workspace import Workspace
from clew.indexing.report import IndexingReport
from clew.indexing.segments.selection import select_rows
from clew.indexing.segments.store import SegmentFile, ensure_segments
from clew.indexing.snapshot_builder import SnapshotSource, build_snapshot
from clew.store.array_file import write_arrays
from clew.store.atomic import discard, remove_leftovers
from clew.store.document_ids import IdSet, StoredDocuments, numbered_parent, root_id, text_hash
from clew.store.kg_shards import shards_by_graph
from clew.store.passage_table import PassageTable
from clew.store.segment_files import segments_folder
from clew.store.snapshot_files import is_complete, snapshot_folder
from clew.text.places import PLACES_KEY, TIMES_KEY, describe_places
from clew.types import Document, Failure, Place, PlaceStart, Progress

MAX_SELECTED_PASSAGES = 100_000
"""Passages of a selection, at most: its snapshot is made while a search waits (bench/strict_filters.py)."""
_FOLDER = "selected"
_KEPT_SELECTIONS = 8  # whose snapshots stay on disk


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassageSelection:
    """Some passages of a version of an index."""

    key: str  # differs for other passages, and for other versions
    salt: int  # of the hashes in the segments
    rows: Mapping[str, LongArray]  # by the name of each segment that has some of them: their rows, ascending


def select_passages(table: PassageTable, snapshot: Snapshot, allowed: BoolArray) -> PassageSelection:
    """Return the selection of the allowed passages (P,) of a version; more than `MAX_SELECTED_PASSAGES` are refused.

    Raises:
        InputError: There are too many.
    """
    count = int(allowed.sum())
    if count > MAX_SELECTED_PASSAGES:
        raise InputError(
            f"the filter allows {count:,} passages, and strict filters take {MAX_SELECTED_PASSAGES:,} at most: leave "
            "--strict-filters out, or make an index of these documents alone"
        )
    places = np.sort(snapshot.columns.places[allowed])
    numbers, rows = places >> ROW_BITS, places & ROW_MASK
    names = snapshot.columns.segments
    selected = {names[number]: rows[numbers == number] for number in np.unique(numbers).tolist()}
    digest = blake2b(snapshot_folder(table).name.encode(), digest_size=12)
    for name, own in selected.items():
        digest.update(name.encode() + own.tobytes() + b"\n")
    return PassageSelection(digest.hexdigest(), snapshot.salt, selected)


def selected_snapshot_folder(table: PassageTable, selection: PassageSelection) -> Path:
    """Return the folder of the snapshot of a selection, which may not exist."""
    return _home(table, selection) / "snapshots" / f"{table.version:08d}-{selection.key}"


def ensure_selected_snapshot(table: PassageTable, selection: PassageSelection, progress: Progress) -> Path:
    """Return the folder of the snapshot of a selection, built if missing; the latest eight stay on disk."""
    folder = selected_snapshot_folder(table, selection)
    if not is_complete(folder):
        home = _home(table, selection)
        files = _write_segments(table, selection, segments_folder(home), progress)
        # No two texts have one hash under this salt: it is that of the whole version.
        source = SnapshotSource(table, home, lambda _: files, selection.salt, show_given_names=False)
        build_snapshot(source, folder, progress, Workspace())
    _discard_oldest(folder.parent.parent)
    return folder


def discard_selections(derived: Path) -> None:
    """Discard the snapshots of all selections; those who read one go on."""
    with suppress(ProviderError):  # another process has removed it, or Windows has it open
        if (derived / _FOLDER).is_dir():
            discard(derived / _FOLDER)


def _home(table: PassageTable, selection: PassageSelection) -> Path:
    return table.location.derived / _FOLDER / selection.key


def _write_segments(
    table: PassageTable, selection: PassageSelection, folder: Path, progress: Progress
) -> list[SegmentFile]:
    """Write the segments of a selection, with nothing of other passages in them."""
    whole = {file.name: file for file in ensure_segments(table, progress, selection.salt)}
    files = []
    for done, (name, rows) in enumerate(selection.rows.items()):
        progress("selecting passages", done, len(selection.rows))
        files.append(SegmentFile(folder / name))
        write_arrays(folder / name, flatten_arrays(select_rows(whole[name].open(), rows)))
    return files


def _discard_oldest(home: Path) -> None:
    """Discard the selections beside one that were made first."""
    remove_leftovers(home.parent)
    others = [other for other in home.parent.iterdir() if other.is_dir() and other != home]
    others.sort(key=lambda other: (other.stat().st_mtime_ns, other.name), reverse=True)
    for other in others[_KEPT_SELECTIONS - 1 :]:
        with suppress(ProviderError):
            discard(other)


_GRAPH = "an imported graph has this id; rename the document, or import the graph by another --name"
_EMPTY = "it holds nothing but white space; give it a text"
_RESERVED = "its metadata have the key {!r}, under which Clew stores what is its own; rename it"
_REPEATED = "another document of this id was given before it"


class ChangedDocument(NamedTuple):
    """A new or changed document, and the hash of its content and of the settings it is cut and extracted with."""

    document: Document
    hash: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Part:
    """The documents of one of several machines: those whose ids hash to its number; 1 of 1 for all documents."""

    number: int = 1  # from 1
    count: int = 1

    def has(self, id_: str) -> bool:
        """Return whether a document belongs to this part; documents of one `root_id` belong to one part."""
        return self.count == 1 or int.from_bytes(text_hash(root_id(id_))[:8], "little") % self.count == self.number - 1


ALL_DOCUMENTS = Part()


@dataclass(slots=True)
class DocumentSelector:
    """Selects documents for one run.

    Attributes:
        find_passages: Returns those of some ids that passages have, stored or written in this run, which are parts of a
            document of another id.
        note_unchanged: Called with the id and the hash of each unchanged document.
    """

    stored: StoredDocuments
    chunker: Chunker
    extractor_fingerprint: str
    report: IndexingReport
    find_passages: Callable[[Sequence[str]], AbstractSet[str]]
    part: Part = ALL_DOCUMENTS
    note_unchanged: Callable[[str, str], None] = lambda _id, _hash: None
    _seen: IdSet = field(default_factory=IdSet)
    _seen_parents: IdSet = field(default_factory=IdSet)
    _may_be_split: IdSet = field(default_factory=IdSet)

    def select(self, documents: Iterable[Document | Failure]) -> Iterator[ChangedDocument]:
        """Yield the new and changed documents of the part; the report counts the unchanged and gets the failures.

        All failures given are the part's: `read_documents` drops those of others.
        """
        fingerprints = f"{self.chunker.fingerprint}\0{self.extractor_fingerprint}"  # it reads a package's files
        graphs = shards_by_graph(self.stored.shards)
        for document in documents:
            if isinstance(document, Failure):
                self.report.failures.append(document)
                continue
            if not self.part.has(document.id):
                continue
            if not self._seen.add(document.id):
                self._refuse(document, _REPEATED)
                continue
            parent = numbered_parent(document.id)
            if parent is not None:
                self._seen_parents.add(parent)
            hash_ = document_hash(document, fingerprints)
            if self.stored.has_state(document.id, hash_):
                self.report.unchanged += 1
                self.note_unchanged(document.id, hash_)
            elif problem := self._find_problem(document, graphs):
                self._refuse(document, problem)
            else:
                yield ChangedDocument(document, hash_, document.id not in self.stored)
                if len(document.text) > self.chunker.max_tokens:  # a token has one character at least
                    self._may_be_split.add(document.id)

    def _find_problem(self, document: Document, graphs: Container[str]) -> str | None:
        if document.id in graphs or document.id in self.stored.shards:
            return _GRAPH
        if not document.text or document.text.isspace():
            return _EMPTY
        if reserved := {PLACES_KEY, TIMES_KEY} & document.metadata.keys():
            return _RESERVED.format(min(reserved))
        conflict = self._conflicting_passage(document)
        if conflict is None:
            return None
        return f"its passage would have the id {conflict!r}, which another document has; rename one of them"

    def _conflicting_passage(self, document: Document) -> str | None:
        """Return the id of a passage that another document has as its own id, or as that of a passage."""
        parent = numbered_parent(document.id)
        may_be_passage = parent is not None and (parent in self.stored or parent in self._may_be_split)
        if may_be_passage and self.find_passages([document.id]):
            return document.id
        if document.id not in self.stored.parents and document.id not in self._seen_parents:
            return None
        ids = (p.id for p in self.chunker.split(document) if p.id != document.id)
        return next((id_ for id_ in ids if id_ in self.stored or id_ in self.stored.shards or id_ in self._seen), None)

    def _refuse(self, document: Document, reason: str) -> None:
        self.report.failures.append(Failure(document.id, reason))


def document_hash(document: Document, fingerprints: str) -> str:
    """Return a hash of a document and of the fingerprints of what cuts and extracts it, 32 hexadecimal digits."""
    values: list[object] = [
        document.id,
        document.title,
        document.text,
        dict(document.metadata),
        document.aliases,
        document.links,
    ]
    # Lines follow from the text, and nothing is read from them.
    if places := [start for start in document.places if replace(start.place, line=None) != Place()]:
        values.append(describe_places(PlaceStart(at, replace(place, line=None)) for at, place in places))
    text = json.dumps([*values, fingerprints], sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
