"""The state of a folder when it was last indexed, to find what has changed in it since, and what is gone.

The state is a file of JSON lines, one a source file: its size and time of modification, and the ids of its documents.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clew.indexing.sources.discovery import SourceFile, find_sources
from clew.indexing.sources.reader import read_sources
from clew.store.atomic import atomic_file
from clew.store.document_ids import IdSet
from clew.types import Document, Failure


@dataclass(slots=True)
class FileState:
    """A source file as it was read."""

    id: str  # its path in the folder
    stamp: tuple[int, int]  # size in bytes, time of modification in nanoseconds
    documents: list[str] = field(default_factory=list)  # ids
    failed: bool = False  # whether some of it could not be read

    def to_json(self) -> str:
        """Return the state as a line."""
        return json.dumps([self.id, *self.stamp, self.documents, self.failed], ensure_ascii=False)


class FolderReader:
    """Reads what has changed in a folder since its state was stored.

    Args:
        folder: The folder.
        state: The file that holds its state; an absent or damaged one makes all files new.
    """

    def __init__(self, folder: Path, state: Path) -> None:
        self._state = state
        self._stored = {file.id: file for file in _read_states(state)}
        self._files: list[FileState] = []
        self._changed: list[SourceFile] = []
        self._failures: list[Failure] = []
        self._present = IdSet()
        for source in find_sources(folder):
            if isinstance(source, Failure):
                self._failures.append(source)
            else:
                self._compare(source)

    @property
    def is_unchanged(self) -> bool:
        """Whether all files are as they were, and none is new or gone."""
        return not self._changed and len(self._files) == len(self._stored)

    def documents(self) -> Iterator[Document | Failure]:
        """Yield the documents of new and changed files, and the failures of all."""
        yield from self._failures
        for source in self._changed:
            file = FileState(source.id, _stamp(source))
            for item in read_sources([source]):
                if isinstance(item, Failure):
                    file.failed = True
                    yield item
                elif not self._present.add(item.id):
                    yield Failure(source.item, f'the id "{item.id}" was already read; ids must be unique')
                else:
                    file.documents.append(item.id)
                    yield item
            if file.failed and file.id in self._stored:
                # What cannot be read now may be a file that is being written: its documents stay.
                own = set(file.documents)
                file.documents += [id_ for id_ in self._stored[file.id].documents if id_ not in own]
            self._files.append(file)

    def removed_ids(self) -> Iterator[str]:
        """Yield the ids of documents that no file has any more, after all documents were read."""
        kept = {file.id: file for file in self._files if file.failed}
        for id_, file in self._stored.items():
            held = set(kept[id_].documents) if id_ in kept else set[str]()
            yield from (
                document for document in file.documents if document not in self._present and document not in held
            )

    def store(self) -> None:
        """Store the state of the folder as it was read."""
        with atomic_file(self._state) as temporary:
            lines = (file.to_json() + "\n" for file in sorted(self._files, key=lambda file: file.id))
            with temporary.open("w", encoding="utf-8") as stream:
                stream.writelines(lines)

    def _compare(self, source: SourceFile) -> None:
        stored = self._stored.get(source.id)
        if stored is None or stored.stamp != _stamp(source):
            self._changed.append(source)
            return
        self._files.append(stored)
        for document in stored.documents:
            self._present.add(document)


def _stamp(source: SourceFile) -> tuple[int, int]:
    try:
        status = source.path.stat()
    except OSError:
        return 0, 0  # reading it reports why
    return status.st_size, status.st_mtime_ns


def _read_states(file: Path) -> Iterable[FileState]:
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                id_, size, modified, documents, failed = json.loads(line)
                yield FileState(id_, (size, modified), documents, failed)
    except (OSError, ValueError, TypeError):
        return
