"""The files of one folder that documents were read from, as the register of sources knows them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from clew.indexing.sources.discovery import SourceFile
from clew.indexing.sources.register_lines import hash_contents
from clew.store.document_ids import IdSet
from clew.types import Failure


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
