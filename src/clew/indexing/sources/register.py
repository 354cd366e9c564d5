"""The register of the files that documents were read from: one id for each file, and one document for a file.

The id of a file is its path relative to the folder by which it was given. Two folders may each hold an `a.txt`: the one
that is read first has the id `a.txt`, and the other one gets the names of its folders before it, as in `letters/a.txt`.
A file that is read by another path (a link, the folder above) has the id that it was first read with. A file keeps its
id while it exists, and while its whole folder is absent or empty, as a drive that is not mounted, unless its document
is removed from the index meanwhile; a new folder that has at least half of the files of such a one, with the same paths
and contents, is that folder, moved.

The register of an index is a file of lines beside it (see `source_folder`). A line is written before its document is
committed, so that a run that is killed leaves no document without one; of two lines with one id the later is that of
the file that has it. Ids that a file states itself, as `id` of JSON lines, belong to no file: they replace documents of
any source.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, final

from clew.indexing.sources.discovery import RECORD_SUFFIXES, SourceFile, find_sources
from clew.indexing.sources.source_folder import (
    RegisterEntry,
    SourceFolder,
    folder_line,
    hash_contents,
    read_entries,
)
from clew.store.atomic import atomic_file
from clew.store.document_ids import IdSet
from clew.store.error_mapping import map_errors
from clew.types import Failure


@final
class SourceRegister:
    """The files that documents are read from; `file` is where those of earlier runs are, None to know of none.

    The file is read when the first path is, which has to be under the writer lock unless `is_frozen`: then nothing is
    written.
    """

    def __init__(self, file: Path | None = None, *, is_frozen: bool = False) -> None:
        self.renamed: list[str] = []  # a note on each file whose id is not its path, since another file has that
        self._file = file
        self._is_frozen = is_frozen
        self._away: dict[str, bool] = {}  # whether a folder is absent or empty
        self._folders: dict[str, SourceFolder] | None = None
        self._read = IdSet()  # real paths of this run
        self._present = IdSet()  # documents of this run
        self._stream: IO[bytes] | None = None
        self._written_folder = ""  # the one that lines of the file are about

    @property
    def folders_read(self) -> list[SourceFolder]:
        """The folders that were given in this run."""
        return [folder for folder in (self._folders or {}).values() if folder.is_read]

    def find(self, path: Path, outer_links: dict[str, str] | None = None) -> Iterator[SourceFile | Failure | None]:
        """Yield the files of a path with their ids, as `find_sources`, and None for one that was read in this run."""
        folder = self._open_given(path)
        for source in find_sources(path, outer_links):
            if isinstance(source, Failure):
                yield source
            elif self._read.add(source.real_path):
                yield self._name_in(source, folder)
            else:
                if folder is not None:
                    folder.has_files = True
                yield None

    def name(self, path: Path, sources: Iterable[SourceFile]) -> Iterator[SourceFile | Failure]:
        """Yield files that were found in a folder with their ids."""
        folder = self._open_given(path)
        for source in sources:
            yield self._name_in(source, folder)

    def add(self, source: SourceFile, document: str) -> None:
        """Note a document of a file, which was found by `find`."""
        self._present.add(document)
        if source.suffix not in RECORD_SUFFIXES:
            return
        folder, file = self._place(source)
        if folder.lists_documents and folder.documents.add(document):
            self._write(RegisterEntry(folder.path, file, source.id, "", document))

    def note_complete(self, source: SourceFile) -> None:
        """Note that every document of a file was read."""
        if source.suffix in RECORD_SUFFIXES:
            folder, file = self._place(source)
            folder.complete.add(file)

    def find_missing(self, folder: SourceFolder) -> Iterator[str]:
        """Yield the documents that were read from files below a folder, and that neither it nor another one has now."""
        for entry in read_entries(self._file):
            document, owner = entry.document_id, self._open_folder(entry.folder)
            if document is None or document in self._present or not _is_below(owner.join(entry.file), folder.path):
                continue
            is_found = entry.file in owner.found or _exists(owner.join(entry.file))
            if (entry.file in owner.complete or not is_found) and not self._is_elsewhere(document, owner):
                yield document

    def find_held(self, documents: Iterable[str], path: Path) -> set[str]:
        """Return which documents a file outside of a folder has."""
        wanted, top, held = set(documents), os.path.realpath(path), set[str]()
        for entry in read_entries(self._file) if wanted else ():
            owner, document = self._open_folder(entry.folder), entry.document_id
            is_outside = document in wanted and not _is_below(owner.join(entry.file), top)
            if is_outside and owner.id_of(entry.file) == entry.id and self._has(owner, entry.file):
                held.add(document or "")
        return held

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Drop what is known of some documents."""
        entries = (
            entry
            for entry in read_entries(self._file)
            if (document := entry.document_id) is None or not is_gone(document)
        )
        self._rewrite(entries)

    def forget_absent(self, documents: Collection[str]) -> None:
        """Drop what is known of documents whose files are not there: their ids are free for files of other folders."""

        def is_absent(entry: RegisterEntry) -> bool:
            return entry.document_id in documents and not _exists(str(Path(entry.folder, *entry.file.split("/"))))

        if any(map(is_absent, read_entries(self._file))):
            self._rewrite(entry for entry in read_entries(self._file) if not is_absent(entry))

    def close(self) -> None:
        """Flush the register's file and close it."""
        if self._stream is not None:
            with map_errors(str(self._file), "writing"):
                os.fsync(self._stream.fileno())
                self._stream.close()
        self._stream, self._written_folder = None, ""

    def _open_given(self, path: Path) -> SourceFolder | None:
        """Return the folder that a path is, None for a file; it takes over one that was moved to it."""
        top = os.path.realpath(path if path.is_dir() else path.parent)
        if top not in self._open() and not self._is_frozen:
            self._adopt_moved(top, path)
        if not path.is_dir():
            return None
        folder = self._open_folder(top)
        folder.is_read = True
        return folder

    def _adopt_moved(self, top: str, path: Path) -> None:
        for folder in [one for one in self._open().values() if self._is_away(one)]:
            same = folder.count_same(find_sources(path))
            if same and 2 * same >= folder.file_count:
                moved = folder.path
                self._rewrite(
                    entry._replace(folder=top) if entry.folder == moved else entry for entry in read_entries(self._file)
                )
                self._open()[top] = self._open().pop(moved)
                folder.path = top
                return

    def _name_in(self, source: SourceFile, given: SourceFolder | None) -> SourceFile | Failure:
        named = self._name(source)
        if given is not None:
            given.has_files = True
            if isinstance(named, SourceFile):
                self._place(named)[0].lists_documents = True
        return named

    def _name(self, source: SourceFile) -> SourceFile | Failure:
        own = self._open_folder(source.folder)
        for folder in (own, *self._open().values()):
            file = folder.relative(source)
            if file is not None and (known := folder.id_of(file)) is not None:
                self._note(folder, source.with_id(file, ("", "")), known)
                return source.with_id(known, (folder.path, file))
        id_, other = source.id, ""
        parts = [part for part in Path(source.folder).parts if part.strip("/\\:")]
        while taken := self._find_owner(id_, source):
            if not parts:
                return Failure(source.item, f'the id "{id_}" is that of {taken}; rename one of the files')
            id_, other = f"{parts.pop()}/{id_}", other or taken
        if other:
            self.renamed.append(f"{source.item} has the id {id_!r}: {other} is another file of its name")
        self._note(own, source, id_)
        return source.with_id(id_, (own.path, source.id))

    def _note(self, folder: SourceFolder, source: SourceFile, id_: str) -> None:
        """Note a file that was found, with its id, and its contents where they have changed."""
        folder.found.add(source.id)
        contents = "" if self._file is None or self._is_frozen else hash_contents(source.path)
        if folder.id_of(source.id) == id_ and (not contents or f"{contents} {source.id}" in folder.contents):
            return
        entry = RegisterEntry(folder.path, source.id, id_, contents)
        self._include(entry)
        self._write(entry)

    def _include(self, entry: RegisterEntry) -> None:
        folder = self._open_folder(entry.folder)
        if folder.id_of(entry.file) != entry.id:
            for other in self._open().values():
                other.release(entry.id)
            folder.add(entry.file, entry.id)
        if entry.contents:
            folder.contents.add(f"{entry.contents} {entry.file}")

    def _find_owner(self, id_: str, source: SourceFile) -> str:
        """Return the path of another file that has an id and is still there, "" for none."""
        for folder in self._open().values():
            file = folder.file_of(id_)
            if file is not None and self._has(folder, file):
                path = folder.join(file)
                if os.path.realpath(path) != source.real_path:
                    return path
        return ""

    def _has(self, folder: SourceFolder, file: str) -> bool:
        """Return whether a folder has a file, or would have it if it were there."""
        return _exists(folder.join(file)) or self._is_away(folder)

    def _is_away(self, folder: SourceFolder) -> bool:
        if folder.path not in self._away:
            self._away[folder.path] = _is_away(folder.path)
        return self._away[folder.path]

    def _is_elsewhere(self, document: str, folder: SourceFolder) -> bool:
        others = (other for other in self._open().values() if other is not folder)
        return any(
            document in other.documents or ((file := other.file_of(document)) is not None and self._has(other, file))
            for other in others
        )

    def _place(self, source: SourceFile) -> tuple[SourceFolder, str]:
        folder, file = source.registered
        return self._open()[folder], file

    def _open(self) -> dict[str, SourceFolder]:
        if self._folders is None:
            self._folders = {}
            for entry in read_entries(self._file):
                if entry.document:
                    self._open_folder(entry.folder).documents.add(entry.document)
                else:
                    self._include(entry)
        return self._folders

    def _open_folder(self, path: str) -> SourceFolder:
        return self._open().setdefault(path, SourceFolder(path))

    def _write(self, entry: RegisterEntry) -> None:
        if self._file is None or self._is_frozen:
            return
        with map_errors(str(self._file), "writing"):
            if self._stream is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._stream = self._file.open("ab", buffering=0)
                self._stream.write(b"\n")  # ends a line that a killed process began
            if self._written_folder != entry.folder:
                self._stream.write(folder_line(entry.folder))
            self._written_folder = entry.folder
            self._stream.write(entry.to_line())

    def _rewrite(self, entries: Iterable[RegisterEntry]) -> None:
        self.close()
        if self._file is None or not self._file.exists():
            return
        with atomic_file(self._file) as temporary, temporary.open("wb") as stream:
            current = ""
            for entry in entries:
                if entry.folder != current:
                    stream.write(folder_line(current := entry.folder))
                stream.write(entry.to_line())


def _exists(path: str) -> bool:
    """Return whether something is at a path, also where it may not be seen."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_away(path: str) -> bool:
    """Return whether a folder is absent or empty."""
    try:
        with os.scandir(path) as listing:
            return next(listing, None) is None
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def _is_below(path: str, top: str) -> bool:
    return path.startswith(top.rstrip(os.sep) + os.sep)
