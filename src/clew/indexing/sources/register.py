"""The register of the files that documents were read from: one id for each file, and one document for a file.

The id of a file is its path relative to the folder by which it was given. Two folders may each hold an `a.txt`: the one
that is read first has the id `a.txt`, and the other one gets the names of its folders before it, as in `letters/a.txt`.
A file that is read by another path (a link, the folder above) has the id that it was first read with.

The register of an index is a file of JSON lines beside it: the path of a folder, then for each of its files
`[path, id]`, and for each document of a file of many `[path, id, document]`. A line is written before its document is
committed, so that a run that is killed leaves no document without one. Ids that a file states itself, as `id` of JSON
lines, belong to no file: they replace documents of any source.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, final

from clew.indexing.sources.discovery import RECORD_SUFFIXES, SourceFile, find_sources
from clew.store.atomic import atomic_file
from clew.store.document_ids import IdSet
from clew.store.error_mapping import map_errors
from clew.types import Failure


class RenamedFile(NamedTuple):
    """A file whose id is not its path, since a file of another folder has that."""

    item: str  # name of the file
    id: str
    other: str  # path of the other file


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
    is_read: bool = False  # whether it was given as a folder in this run

    def add(self, file: str, id_: str) -> None:
        """Add a file with its id."""
        if file == id_:
            self.files.add(file)
        else:
            self.renamed[file], self.renamed_ids[id_] = id_, file

    def id_of(self, file: str) -> str | None:
        """Return the id of a file, None if it has none."""
        return file if file in self.files else self.renamed.get(file)

    def file_of(self, id_: str) -> str | None:
        """Return the file that has an id, None if none has."""
        return id_ if id_ in self.files else self.renamed_ids.get(id_)

    def join(self, file: str) -> str:
        """Return the path of a file of the folder."""
        return str(Path(self.path, *file.split("/")))

    def relative(self, source: SourceFile) -> str | None:
        """Return the path of a file in the folder, None if it lies elsewhere."""
        if source.folder == self.path:
            return source.id
        top = self.path.rstrip(os.sep) + os.sep
        return source.real_path[len(top) :].replace(os.sep, "/") if source.real_path.startswith(top) else None


@final
class SourceRegister:
    """The files that documents are read from; `file` is where those of earlier runs are, None to know of none.

    The file is read when the first path is, which has to be under the writer lock.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.renamed: list[RenamedFile] = []
        self._file = file
        self._folders: dict[str, SourceFolder] | None = None
        self._read = IdSet()  # real paths of this run
        self._present = IdSet()  # documents of this run
        self._stream: IO[bytes] | None = None
        self._written_folder = ""  # the one that lines of the file are about

    @property
    def folders_read(self) -> list[SourceFolder]:
        """The folders that were given in this run."""
        return [folder for folder in (self._folders or {}).values() if folder.is_read]

    def find(self, path: Path) -> Iterator[SourceFile | Failure | None]:
        """Yield the files of a path with their ids, as `find_sources`, and None for one that was read in this run."""
        if path.is_dir():
            self._open_folder(os.path.realpath(path)).is_read = True
        for source in find_sources(path):
            yield source if isinstance(source, Failure) else self._name(source)

    def add(self, source: SourceFile, document: str) -> None:
        """Note a document of a file, which was found by `find`."""
        self._present.add(document)
        if source.suffix not in RECORD_SUFFIXES:
            return
        folder, file = self._place(source)
        if folder.is_read and folder.documents.add(document):
            self._write(folder, [file, source.id, document])

    def note_complete(self, source: SourceFile) -> None:
        """Note that every document of a file was read."""
        if source.suffix in RECORD_SUFFIXES:
            folder, file = self._place(source)
            folder.complete.add(file)

    def find_missing(self, folder: SourceFolder) -> Iterator[str]:
        """Yield the documents that were read from files of a folder, and that neither it nor another one has now."""
        for path, file, _, document in self._entries():
            if path != folder.path or document is None or document in self._present:
                continue
            is_missing = file in folder.complete or (file not in folder.found and not _exists(folder.join(file)))
            if is_missing and not self._is_elsewhere(document, folder):
                yield document

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Drop what is known of some documents."""
        self.close()
        if self._file is None or not self._file.exists():
            return
        with atomic_file(self._file) as temporary, temporary.open("wb") as stream:
            current = ""
            for path, file, id_, document in self._entries():
                if document is not None and is_gone(document):
                    continue
                if path != current:
                    stream.write(_line(current := path))
                stream.write(_line([file, id_] if document in (None, id_) else [file, id_, document]))

    def close(self) -> None:
        """Flush the register's file and close it."""
        if self._stream is not None:
            with map_errors(str(self._file), "writing"):
                os.fsync(self._stream.fileno())
                self._stream.close()
        self._stream, self._written_folder = None, ""

    def _name(self, source: SourceFile) -> SourceFile | Failure | None:
        if not self._read.add(source.real_path):
            return None
        for folder in self._open().values():
            file = folder.relative(source)
            if file is not None and (known := folder.id_of(file)) is not None:
                folder.found.add(file)
                return source.with_id(known, (folder.path, file))
        folder = self._open_folder(source.folder)
        id_, other = source.id, ""
        parts = [part for part in Path(source.folder).parts if part.strip("/\\:")]
        while taken := self._find_owner(id_, source):
            if not parts:
                return Failure(source.item, f'the id "{id_}" is that of {taken}; rename one of the files')
            id_, other = f"{parts.pop()}/{id_}", other or taken
        if other:
            self.renamed.append(RenamedFile(source.item, id_, other))
        folder.add(source.id, id_)
        folder.found.add(source.id)
        self._write(folder, [source.id, id_])
        return source.with_id(id_, (folder.path, source.id))

    def _find_owner(self, id_: str, source: SourceFile) -> str:
        """Return the path of another file that has an id and is still there, "" for none."""
        for folder in self._open().values():
            file = folder.file_of(id_)
            if file is not None and _exists(path := folder.join(file)) and os.path.realpath(path) != source.real_path:
                return path
        return ""

    def _is_elsewhere(self, document: str, folder: SourceFolder) -> bool:
        others = (other for other in self._open().values() if other is not folder)
        return any(
            document in other.documents or ((file := other.file_of(document)) is not None and _exists(other.join(file)))
            for other in others
        )

    def _place(self, source: SourceFile) -> tuple[SourceFolder, str]:
        folder, file = source.registered
        return self._open()[folder], file

    def _open(self) -> dict[str, SourceFolder]:
        if self._folders is None:
            self._folders = {}
            for path, file, id_, document in self._entries():
                folder = self._open_folder(path)
                folder.add(file, id_)
                if document not in (None, id_):
                    folder.documents.add(document)
        return self._folders

    def _open_folder(self, path: str) -> SourceFolder:
        return self._open().setdefault(path, SourceFolder(path))

    def _write(self, folder: SourceFolder, values: list[str]) -> None:
        if self._file is None:
            return
        with map_errors(str(self._file), "writing"):
            if self._stream is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._stream = self._file.open("ab", buffering=0)
                self._stream.write(b"\n")  # ends a line that a killed process began
            if self._written_folder != folder.path:
                self._stream.write(_line(folder.path))
            self._written_folder = folder.path
            self._stream.write(_line(values))

    def _entries(self) -> Iterator[tuple[str, str, str, str | None]]:
        """Yield folder, file, id and document of each line, None for a file of many documents."""
        if self._file is None or not self._file.exists():
            return
        folder = ""
        with map_errors(str(self._file), "reading"), self._file.open("rb") as lines:
            for line in lines:
                values = _parse(line)
                if isinstance(values, str):
                    folder = values
                elif values and folder:
                    has_many = len(values) == 2 and Path(values[0]).suffix.lower() in RECORD_SUFFIXES
                    yield folder, values[0], values[1], None if has_many else values[-1]


def forget_watched(file: Path, is_gone: Callable[[str], bool]) -> None:
    """Drop what is known of some documents from the state of a watched folder."""
    with map_errors(str(file), "reading"):
        lines = [_forget_line(line, is_gone) for line in file.read_bytes().splitlines(keepends=True)]
    with atomic_file(file) as temporary:
        temporary.write_bytes(b"".join(lines))


def _forget_line(line: bytes, is_gone: Callable[[str], bool]) -> bytes:
    try:
        values = json.loads(line)
    except ValueError:
        return b""
    if not (isinstance(values, list) and len(values) > 3 and isinstance(values[3], list) and values[3]):
        return line
    present = [id_ for id_ in values[3] if not is_gone(id_)]
    return line if present == values[3] else _line([*values[:3], present, *values[4:]]) if present else b""


def _parse(line: bytes) -> str | list[str] | None:
    """Return the content of a line, None where it was cut off or damaged."""
    try:
        values = json.loads(line)
    except ValueError:
        return None
    if isinstance(values, str):
        return values
    is_entry = isinstance(values, list) and len(values) in (2, 3) and all(isinstance(value, str) for value in values)
    return values if is_entry else None


def _line(values: object) -> bytes:
    return json.dumps(values).encode("ascii") + b"\n"


def _exists(path: str) -> bool:
    """Return whether something is at a path, also where it may not be seen."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
