"""The files of one folder, as the register of sources knows them, and the lines of its file.

A line of a folder is `[path, checksum]`, one of a file `[path, id, contents, checksum]`, and one of a document of a
file of many `[path, id, "", document, checksum]`. Each has a checksum over itself and its folder, and one that differs
is ignored. Lines below a damaged line of a folder fail their own checksums, too, so that no file is taken for one of
another folder.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, final

from clew.indexing.sources.discovery import RECORD_SUFFIXES, SourceFile
from clew.store.document_ids import IdSet
from clew.store.error_mapping import map_errors
from clew.types import Failure

_HASHED_BYTES = 1 << 16  # of the start of a file: enough to recognise it, and little beside reading it


class RegisterEntry(NamedTuple):
    """A line of a file, or of a document of a file of many."""

    folder: str
    file: str  # path in the folder
    id: str
    contents: str  # hash of the file, "" in the line of a document
    document: str = ""  # of a file of many, "" in the line of a file

    @property
    def document_id(self) -> str | None:
        """The id of the document that the line stands for, None for a file of many."""
        if self.document:
            return self.document
        return None if Path(self.file).suffix.lower() in RECORD_SUFFIXES else self.id

    def to_line(self) -> bytes:
        """Return the entry as a line, to stand below the line of its folder."""
        values = [self.file, self.id, self.contents, *([self.document] if self.document else [])]
        return _make_line(self.folder, values)


def folder_line(folder: str) -> bytes:
    """Return the line of a folder."""
    return _make_line("", [folder])


def read_entries(file: Path | None) -> Iterator[RegisterEntry]:
    """Yield the undamaged entries of a register, in their order; none where there is no file."""
    if file is None or not file.exists():
        return
    folder = ""
    with map_errors(str(file), "reading"), file.open("rb") as lines:
        for line in lines:
            values = _parse(line)
            if len(values) == 2 and values[-1] == _checksum("", values[:-1]):
                folder = values[0]
            elif len(values) in (4, 5) and values[-1] == _checksum(folder, values[:-1]):
                yield RegisterEntry(folder, *values[:-1])


def hash_contents(path: Path) -> str:
    """Return a hash of the size and the start of a file, "" where it cannot be read."""
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            return blake2b(b"%d\n" % size + stream.read(_HASHED_BYTES), digest_size=16).hexdigest()
    except OSError:
        return ""


def _parse(line: bytes) -> list[str]:
    """Return the values of a line, none where it was cut off or damaged."""
    try:
        values = json.loads(line)
    except ValueError:
        return []
    is_line = isinstance(values, list) and all(isinstance(value, str) for value in values)
    return values if is_line else []


def _make_line(folder: str, values: list[str]) -> bytes:
    return json.dumps([*values, _checksum(folder, values)]).encode("ascii") + b"\n"


def _checksum(folder: str, values: list[str]) -> str:
    return blake2b(json.dumps([folder, *values]).encode("ascii"), digest_size=8).hexdigest()


@final
@dataclass(slots=True)
class SourceFolder:
    """The files of one folder, by their paths in it."""

    path: str
    files: IdSet = field(default_factory=IdSet)  # paths of those that have them as ids
    renamed: dict[str, str] = field(default_factory=dict)  # path -> id of the others
    renamed_ids: dict[str, str] = field(default_factory=dict)  # id -> path
    documents: IdSet = field(default_factory=IdSet)  # of files of many
    found: IdSet = field(default_factory=IdSet)  # paths of the files that were found in this run
    complete: IdSet = field(default_factory=IdSet)  # paths of the files of many that were read whole in this run
    contents: IdSet = field(default_factory=IdSet)  # path and hash of each file, as it was read
    file_count: int = 0  # those that have an id
    released: set[str] = field(default_factory=set)  # paths of files whose id another folder's file has now
    is_read: bool = False  # whether it was given as a folder in this run
    has_files: bool = False  # whether a file was found in it then
    lists_documents: bool = False  # whether documents of its files of many are noted in this run

    def add(self, file: str, id_: str) -> None:
        """Add a file with its id."""
        self.file_count += self.id_of(file) is None
        self.released.discard(file)
        if file == id_:
            self.files.add(file)
            self._forget_renamed(file)
        else:
            self._forget_renamed(file)
            self.renamed[file], self.renamed_ids[id_] = id_, file

    def release(self, id_: str) -> None:
        """Drop the file that has an id, if there is one: another folder's has it now."""
        if (file := self.file_of(id_)) is not None:
            self._forget_renamed(file)
            self.released.add(file)
            self.file_count -= 1

    def id_of(self, file: str) -> str | None:
        """Return the id of a file, None if it has none."""
        if file in self.renamed:
            return self.renamed[file]
        return file if file in self.files and file not in self.released else None

    def file_of(self, id_: str) -> str | None:
        """Return the file that has an id, None if none has."""
        return id_ if self.id_of(id_) == id_ else self.renamed_ids.get(id_)

    def count_same(self, sources: Iterable[SourceFile | Failure]) -> int:
        """Return how many files are those of the folder by path and contents."""
        files = (source for source in sources if isinstance(source, SourceFile))
        return sum(f"{hash_contents(source.path)} {source.id}" in self.contents for source in files)

    def _forget_renamed(self, file: str) -> None:
        if (id_ := self.renamed.pop(file, None)) is not None:
            del self.renamed_ids[id_]

    def join(self, file: str) -> str:
        """Return the path of a file of the folder."""
        return str(Path(self.path, *file.split("/")))

    def relative(self, source: SourceFile) -> str | None:
        """Return the path of a file in the folder, None if it lies elsewhere."""
        if source.folder == self.path:
            return source.id
        top = self.path.rstrip(os.sep) + os.sep
        return source.real_path[len(top) :].replace(os.sep, "/") if source.real_path.startswith(top) else None
