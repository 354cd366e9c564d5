"""Files of the matches of titles: one beside each segment, and one of the names that they were found for.

The names' file has the hash of each segment's file, so that a merge that was stopped between them costs a search, and
gives nothing wrong.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.errors import IndexFormatError
from clew.indexing.merging.known_matches import KnownMatches, NameHashes
from clew.indexing.segments.store import SegmentFile
from clew.store.array_file import ArrayFile, file_problem, write_arrays

NAMES_FILE = "_title-names.safetensors"  # not named as a segment is: it is of all
_SUFFIX = "-titles"


@final
class StoredMatches:
    """Keeps the matches of the segments in some files, hashed with a salt, for `clew.indexing.merging.known_matches`.

    `folder` is that of the segments.
    """

    def __init__(self, files: Sequence[SegmentFile], folder: Path, salt: int) -> None:
        self._files = files
        self._salt = salt
        self._names_file = folder / NAMES_FILE
        self._arrays = _read(self._names_file)
        self._hashes: dict[str, str] = _read_listed(self._arrays, salt)

    def names(self) -> NameHashes | None:
        """Return the names of the last merge; None where they are missing, damaged or hashed with another salt."""
        if not self._hashes:
            return None
        return NameHashes(self._arrays["hashes"], self._arrays["checks"])

    def read(self, number: int, passages: int) -> KnownMatches | None:
        """Return the matches in the file of a segment, if they were found for the names of the last merge."""
        listed = self._hashes.get(self._files[number].name)
        file = self._file(number)
        if listed is None or not file.is_file() or file_problem(file) is not None:
            return None
        opened = ArrayFile.open(file)
        try:
            matches = KnownMatches(**{field.name: opened.arrays[field.name] for field in fields(KnownMatches)})
        except KeyError:
            return None
        return matches if opened.hash == listed and len(matches.indptr) == passages + 1 else None

    def write(self, number: int, matches: KnownMatches) -> None:
        """Write the matches in a segment."""
        file = self._file(number)
        write_arrays(file, {field.name: getattr(matches, field.name) for field in fields(KnownMatches)})
        self._hashes[self._files[number].name] = ArrayFile.open(file).hash

    def finish(self, names: NameHashes) -> None:
        """Write the names, and the list of the segments' files."""
        present = {file.name: self._hashes[file.name] for file in self._files}
        listed = json.dumps({"salt": self._salt, "files": present}, sort_keys=True).encode()
        write_arrays(
            self._names_file,
            {"hashes": names.hashes, "checks": names.checks, "listed": np.frombuffer(listed, dtype=np.uint8)},
        )

    def _file(self, number: int) -> Path:
        path = self._files[number].path
        return path.with_name(f"{path.stem}{_SUFFIX}{path.suffix}")


def _read(file: Path) -> Mapping[str, NDArray[Any]]:
    if not file.is_file() or file_problem(file) is not None:
        return {}
    with suppress(IndexFormatError):
        return {name: array.copy() for name, array in ArrayFile.open(file).arrays.items()}  # the file is replaced
    return {}


def _read_listed(arrays: Mapping[str, NDArray[Any]], salt: int) -> dict[str, str]:
    """Return the hashes of the segments' files by the names of the segments."""
    if not {"hashes", "checks", "listed"} <= arrays.keys():
        return {}
    listed = json.loads(arrays["listed"].tobytes())
    return dict(listed["files"]) if listed["salt"] == salt else {}
