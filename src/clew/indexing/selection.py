"""Selection of the new and changed documents of a stream, which is never held as a whole.

What is known of the stored documents, and of those that came before in the stream, are arrays of hashes
(`store.document_ids`). A document is refused whose id is repeated, is that of an imported graph, or is that of a
passage of another document: a document "a" of several passages has the passages "a#1", "a#2" and so on.
"""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from clew.indexing.chunking import Chunker
from clew.indexing.report import IndexingReport
from clew.store.document_ids import IdSet, StoredDocuments, numbered_parent, root_id, text_hash
from clew.store.kg_shards import shards_by_graph
from clew.text.places import PLACES_KEY, describe_places, is_part_of_text
from clew.types import Document, Failure

_GRAPH = "an imported graph has this id; rename the document, or import the graph by another --name"
_EMPTY = "it holds nothing but white space; give it a text"
_RESERVED = f"its metadata have the key {PLACES_KEY!r}, under which places are stored; rename it"
_REPEATED = "another document of this id was given before it"
_POSTPONED_DOCUMENTS = 256


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
    _postponed: list[ChangedDocument] = field(default_factory=list)

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
                yield from self._order(ChangedDocument(document, hash_, document.id not in self.stored))
        yield from self._release()

    def _find_problem(self, document: Document, graphs: Container[str]) -> str | None:
        if document.id in graphs or document.id in self.stored.shards:
            return _GRAPH
        if not document.text or document.text.isspace():
            return _EMPTY
        if PLACES_KEY in document.metadata:
            return _RESERVED
        conflict = self._conflicting_passage(document)
        return None if conflict is None else _conflict(conflict)

    def _order(self, changed: ChangedDocument) -> Iterator[ChangedDocument]:
        """Yield a document, or put it off where its id may be that of another document's passage.

        Many are then looked up at once.
        """
        id_ = changed.document.id
        parent = numbered_parent(id_)
        may_be_passage = parent is not None and (parent in self.stored or parent in self._may_be_split)
        if len(changed.document.text) > self.chunker.max_tokens:  # a token has one character at least
            self._may_be_split.add(id_)
        if may_be_passage:
            self._postponed.append(changed)
            if len(self._postponed) == _POSTPONED_DOCUMENTS:
                yield from self._release()
            return
        yield changed

    def _conflicting_passage(self, document: Document) -> str | None:
        """Return the id of a passage that another document has as its own id."""
        if document.id not in self.stored.parents and document.id not in self._seen_parents:
            return None
        ids = (p.id for p in self.chunker.split(document) if p.id != document.id)
        return next((id_ for id_ in ids if id_ in self.stored or id_ in self.stored.shards or id_ in self._seen), None)

    def _release(self) -> Iterator[ChangedDocument]:
        waiting, self._postponed = self._postponed, []
        if not waiting:
            return
        taken = set(self.find_passages([changed.document.id for changed in waiting]))
        for changed in waiting:
            if changed.document.id in taken:
                self._refuse(changed.document, _conflict(changed.document.id))
            else:
                taken |= {passage.id for passage in self.chunker.split(changed.document)}
                yield changed

    def _refuse(self, document: Document, reason: str) -> None:
        self.report.failures.append(Failure(document.id, reason))


def _conflict(passage: str) -> str:
    return f"its passage would have the id {passage!r}, which another document has; rename one of them"


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
    if not is_part_of_text(document.places):
        values.append(describe_places(document.places))
    text = json.dumps([*values, fingerprints], sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
