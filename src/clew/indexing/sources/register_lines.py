"""Lines of the register of sources: each has a checksum over itself and its folder, and one that differs is ignored.

A line of a folder is `[path, checksum]`, one of a file `[path, id, contents, checksum]`, and one of a document of a
file of many `[path, id, "", document, checksum]`. Lines below a damaged line of a folder fail their own checksums, too,
so that no file is taken for one of another folder.
"""

import json
import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from clew.indexing.sources.discovery import RECORD_SUFFIXES
from clew.store.error_mapping import map_errors

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
