"""The state of a folder when it was last indexed, to find what has changed in it since, and what is gone.

The state is a file of JSON lines: first the version of the index and the device of the folder, then a line for each
source file, with its size and time of modification, the ids of its documents, and a hash of what the index held of
them. By that hash documents are found, too, that another command has removed, restored or replaced.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Self

from clew.errors import InputError
from clew.indexing.sources.discovery import SourceFile, find_sources
from clew.indexing.sources.reader import is_empty_file, read_sources
from clew.indexing.sources.reading_report import ReadingReport
from clew.indexing.sources.register import SourceRegister
from clew.store.atomic import atomic_file
from clew.store.document_ids import IdSet, StoredDocuments
from clew.store.passage_table import PassageTable
from clew.types import Document, Failure


class FolderAbsentError(InputError):
    """A folder that is watched is not there, or was replaced while it was read; nothing was removed."""


@dataclass(slots=True)
class FileState:
    """A source file as it was read."""

    id: str  # its path in the folder
    stamp: tuple[int, int]  # size in bytes, time of modification in nanoseconds
    documents: list[str] = field(default_factory=list)  # ids
    failed: bool = False  # whether some of it could not be read
    is_waiting: bool = False  # whether it has a document whose id another file has too, and which was not taken
    indexed: str = ""  # hash of the states of its documents in the index

    def to_json(self) -> str:
        """Return the state as a line."""
        values = [self.id, *self.stamp, self.documents, self.failed, self.is_waiting, self.indexed]
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Return the state of a line."""
        id_, size, modified, *rest = json.loads(line)
        return cls(id_, (size, modified), *rest)

    def hash_states(self, stored: StoredDocuments) -> str:
        """Return a hash of the states of its documents in the index."""
        return blake2b(stored.find_states(self.documents).tobytes(), digest_size=16).hexdigest()


@dataclass(slots=True)
class FolderState:
    """All source files of a folder as they were read; the defaults are those of a folder that was never read."""

    version: tuple[int, str] = (0, "")  # of the index, and the hash of its files
    device: int = -1  # number of the file system
    files: dict[str, FileState] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Return what a file holds, up to what is damaged; an absent one holds nothing."""
        state = cls()
        try:
            with file.open(encoding="utf-8") as lines:
                for line in lines:
                    if line.startswith("{"):
                        header = json.loads(line)
                        state.version = (int(header["version"]), str(header["files"]))
                        state.device = int(header["device"])
                    else:
                        read = FileState.from_json(line)
                        state.files[read.id] = read
        except (OSError, ValueError, TypeError, KeyError):
            pass  # what is not known is read again
        return state

    def write(self, file: Path) -> None:
        """Write the state to a file, whole or not at all."""
        header = {
            "version": self.version[0],
            "files": self.version[1],
            "device": self.device,
            "registered": True,  # in the register of sources, as since the first release
        }
        with atomic_file(file) as temporary, temporary.open("w", encoding="utf-8") as stream:
            stream.write(json.dumps(header) + "\n")
            stream.writelines(read.to_json() + "\n" for _, read in sorted(self.files.items()))


class FolderReader:
    """Reads what has changed in a folder since its state was stored.

    Args:
        folder: The folder.
        state: The file that holds its state; an absent or damaged one makes all files new.
        table: The newest version of the index. A file is read again where the index does not hold its documents as it
            did after that file was read.
        register: The file of the `SourceRegister` of the index, by which files have their ids.

    Raises:
        FolderAbsentError: The folder does not exist, or has no file and is on another file system than before.
    """

    def __init__(self, folder: Path, state: Path, table: PassageTable, register: Path) -> None:
        self._folder, self._state = folder, state
        self.register = SourceRegister(register)
        self._place = _find_place(folder)
        self._stored = FolderState.read(state)
        self._files: list[FileState] = []
        self._changed: list[SourceFile] = []
        self._failures: list[Failure] = []
        self._present = IdSet()
        self._version = (table.version, table.files_hash)
        self.reading = ReadingReport()
        self._compare(list(find_sources(folder, self.reading.outer_links)), self._find_stale(table))

    @property
    def is_unchanged(self) -> bool:
        """Whether all files are as they were, none is new or gone, and the index holds what they have."""
        return not self._changed and len(self._files) == len(self._stored.files)

    def documents(self) -> Iterator[Document | Failure]:
        """Yield the documents of new and changed files, and the failures of all, under the writer lock."""
        yield from self._failures
        with closing(self.register):
            for source, named in zip(self._changed, self.register.name(self._folder, self._changed), strict=True):
                yield from self._read_changed(source, named)

    def _read_changed(self, source: SourceFile, named: SourceFile | Failure) -> Iterator[Document | Failure]:
        file = FileState(source.id, _stamp(source))
        known = self._stored.files.get(file.id)
        if is_empty_file(source) and not (known and known.documents):
            self.reading.empty_files.append(source.item)
            self._files.append(file)
            return
        for item in [named] if isinstance(named, Failure) else read_sources([named]):
            if isinstance(item, Failure):
                file.failed = True
                yield item
            elif not self._present.add(item.id):
                file.is_waiting = True
                yield Failure(source.item, f'the id "{item.id}" was already read; ids must be unique')
            else:
                file.documents.append(item.id)
                if isinstance(named, SourceFile):
                    self.register.add(named, item.id)
                yield item
        if file.failed and file.id in self._stored.files:
            # What cannot be read now may be a file that is being written: its documents stay.
            own = set(file.documents)
            file.documents += [id_ for id_ in self._stored.files[file.id].documents if id_ not in own]
        self._files.append(file)

    def removed_ids(self) -> Iterator[str]:
        """Yield the ids of documents that no file has any more, after all documents were read.

        Raises FolderAbsentError where the folder is not there any more: its files are not gone one by one.
        """
        if _find_place(self._folder) != self._place:
            raise FolderAbsentError(f"{self._folder} was replaced while it was read")
        kept = {file.id: file for file in self._files if file.failed}
        gone = [
            document
            for id_, file in self._stored.files.items()
            for document in file.documents
            if document not in self._present and not (id_ in kept and document in kept[id_].documents)
        ]
        held = self.register.find_held(gone, self._folder)
        yield from (document for document in gone if document not in held)

    def store(self, table: PassageTable, documents: StoredDocuments) -> None:
        """Store the state of the folder as it was read, and as a version of the index holds its documents."""
        version, read_now = (table.version, table.files_hash), {source.id for source in self._changed}
        for file in self._files:
            indexed = file.hash_states(documents)
            if file.id in read_now:
                file.indexed = indexed
            elif file.indexed != indexed:
                version = (0, "")  # another command has changed its documents meanwhile: the next look reads it again
        files = {file.id: file for file in self._files}
        FolderState(version, self._place[0], files).write(self._state)

    def store_version(self) -> None:
        """Store the version of the index, and the file system, that an unchanged folder was compared with."""
        if (self._stored.version, self._stored.device) != (self._version, self._place[0]):
            self._stored.version, self._stored.device = self._version, self._place[0]
            self._stored.write(self._state)

    def _find_stale(self, table: PassageTable) -> set[str]:
        """Return the ids of files whose documents the index does not hold as it did after they were read."""
        if self._stored.version == self._version:
            return set()
        documents = table.stored_documents()
        return {id_ for id_, file in self._stored.files.items() if file.hash_states(documents) != file.indexed}

    def _compare(self, found: Iterable[SourceFile | Failure], stale: set[str]) -> None:
        self._failures = [item for item in found if isinstance(item, Failure)]
        sources = {item.id: item for item in found if isinstance(item, SourceFile)}
        stored = self._stored.files
        if stored and not sources and self._stored.device not in (-1, self._place[0]):
            raise FolderAbsentError(f"{self._folder} has no file, and is on another file system than before")
        changed = {
            id_
            for id_, source in sources.items()
            if id_ not in stored or id_ in stale or stored[id_].stamp != _stamp(source)
        }
        unlisted = self._find_unlisted(stored.keys() - sources.keys())
        waiting = {id_ for id_, file in stored.items() if file.is_waiting and id_ in sources}
        if changed or stored.keys() - sources.keys() - unlisted:
            changed |= waiting  # the other file may have lost what they wait for
        for id_ in (id_ for id_ in stored if id_ in unlisted or (id_ in sources and id_ not in changed)):
            self._files.append(stored[id_])
            for document in stored[id_].documents:
                self._present.add(document)
        # Those that wait come last: of two files with one id, the one that had it keeps it.
        self._changed = [sources[id_] for id_ in sources if id_ in changed - waiting]
        self._changed += [sources[id_] for id_ in sources if id_ in changed & waiting]

    def _find_unlisted(self, gone: Iterable[str]) -> set[str]:
        """Return which files, or folders above them, could not be looked at: what the index has of them stays."""
        failed = {Path(os.path.relpath(failure.item, self._folder)).as_posix() for failure in self._failures}
        return {id_ for id_ in gone if failed and failed & {id_, *map(str, PurePosixPath(id_).parents)}}


def forget_watched(file: Path, is_gone: Callable[[str], bool]) -> None:
    """Drop what is known of some documents from the state of a watched folder, and what is damaged in it."""
    state = FolderState.read(file)
    for known in list(state.files.values()):
        present = [id_ for id_ in known.documents if not is_gone(id_)]
        if known.documents and not present:
            del state.files[known.id]
        known.documents = present
    state.write(file)


def _find_place(folder: Path) -> tuple[int, int]:
    """Return the numbers of the file system and of a folder in it; FolderAbsentError where it is not there."""
    try:
        status = folder.stat()
    except OSError as error:
        raise FolderAbsentError(f"{folder} is not there ({error.strerror or error})") from error
    if not folder.is_dir():
        raise FolderAbsentError(f"{str(folder)!r} is not a folder: name one to watch")
    return status.st_dev, status.st_ino


def _stamp(source: SourceFile) -> tuple[int, int]:
    try:
        status = source.path.stat()
    except OSError:
        return 0, 0  # reading it reports why
    return status.st_size, status.st_mtime_ns
