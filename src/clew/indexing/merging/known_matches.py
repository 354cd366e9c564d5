"""Matches of titles kept from one merge to the next: only passages are searched again whose matches may have changed.

The matches in a passage depend on its words and on the names that are looked for. Where some names came and others went
since the last merge, a passage has the matches of then if none of them is of a name that went, and no name that came
stands in it. So old texts are searched for new names alone, and new texts for all.

Files of the matches of titles: one beside each segment, and one of the names that they were found for.

The names' file has the hash of each segment's file, so that a merge that was stopped between them costs a search, and
gives nothing wrong.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, HashArray, IntArray, LongArray
from clew.graph.segments.segment import Segment
from clew.indexing.merging.title_matches import NameTable, TitleMatches, find_names, interleave, select_names
from clew.indexing.merging.vocabularies import find_hashes
from clew.indexing.merging.workspace import Workspace
from clew.indexing.segments.store import SegmentFile
from clew.models.threads import map_in_threads
from clew.store.array_file import ArrayFile, open_intact, write_arrays


class NameHashes(NamedTuple):
    """The n names that texts are searched for, each by two hashes of its text."""

    hashes: HashArray  # (n,) of the keys, ascending
    checks: HashArray  # (n,) of another kind: a later text of an equal hash is another name


@final
@dataclass(frozen=True, slots=True, eq=False)
class KnownMatches:
    """The m matches in the p passages of a segment, those of their own titles among them."""

    indptr: LongArray  # (p + 1,)
    first: IntArray  # (m,) as of `TitleMatches`
    last: IntArray  # (m,)
    names: HashArray  # (m,) of the keys


def find_matches(
    segments: Sequence[Segment],
    token_numbers: Sequence[IntArray],
    table: NameTable,
    names: tuple[HashArray, HashArray],
    memory: "StoredMatches | None",
    space: Workspace,
) -> Sequence[TitleMatches]:
    """Return all names of a table in the texts of segments, those of their own titles among them.

    `token_numbers` are for each segment the numbers (v,) of its v tokens in the table, and `names` the hashes (n,) of
    the n names of the table, the fields of `NameHashes`. The memory then holds what was found; without one all texts
    are searched.
    """
    wanted = NameHashes(*names)
    changes = None if memory is None else _compare(wanted, memory.names(), table)

    def find(number: int) -> TitleMatches:
        segment, tokens = segments[number], token_numbers[number]
        known = None if memory is None or changes is None else memory.read(number, len(segment))
        if known is None or changes is None:
            found = find_names(segment, tokens, table)
        else:
            found, changed = _search_again(segment, tokens, table, known, changes)
            if not len(changed):
                return space.keep(found)
        if memory is not None:
            memory.write(number, KnownMatches(found.indptr, found.first, found.last, wanted.hashes[found.names]))
        return space.keep(found)

    results = map_in_threads(find, len(segments), space.threads)
    if memory is not None:
        memory.finish(wanted)
    return results


@final
@dataclass(frozen=True, slots=True, eq=False)
class _NameChanges:
    hashes: HashArray  # (n,) of all names, ascending
    is_known: BoolArray  # (n,) whether a name was searched for before
    added: NameTable | None  # the others


def _compare(wanted: NameHashes, known: NameHashes | None, table: NameTable) -> _NameChanges | None:
    if known is None:
        return None
    positions = find_hashes(known.hashes, wanted.hashes)
    is_known: BoolArray = positions >= 0
    is_known[is_known] = known.checks[positions[is_known]] == wanted.checks[is_known]
    added = np.flatnonzero(~is_known)
    return _NameChanges(wanted.hashes, is_known, select_names(table, added) if len(added) else None)


def _search_again(
    segment: Segment, tokens: IntArray, table: NameTable, known: KnownMatches, changes: _NameChanges
) -> tuple[TitleMatches, LongArray]:
    """Return the matches in a segment, and the passages that were searched."""
    sizes = np.diff(known.indptr)
    positions = find_hashes(changes.hashes, known.names)
    is_gone = positions < 0
    is_gone[~is_gone] = ~changes.is_known[positions[~is_gone]]
    is_changed = np.zeros(len(segment), dtype=bool)
    is_changed[np.repeat(np.arange(len(sizes)), sizes)[is_gone]] = True
    if changes.added is not None:
        is_changed |= np.diff(find_names(segment, tokens, changes.added).indptr) > 0
    changed = np.flatnonzero(is_changed)
    if not len(changed):
        return TitleMatches(known.indptr, known.first, known.last, positions), changed
    found = find_names(segment, tokens, table, changed)
    is_old = np.repeat(~is_changed, sizes)
    sizes[changed] = np.diff(found.indptr)
    is_new = np.repeat(is_changed, sizes)
    joined = (
        interleave(is_new, old[is_old], new)
        for old, new in ((known.first, found.first), (known.last, found.last), (positions, found.names))
    )
    return TitleMatches(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), *joined), changed


NAMES_FILE = "_title-names.safetensors"  # not named as a segment is: it is of all
_SUFFIX = "-titles"


@final
class StoredMatches:
    """Keeps the matches of the last merge in files beside the segments, hashed with a salt.

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
        opened = None if listed is None else open_intact(self._file(number))
        if opened is None:
            return None
        try:
            matches = KnownMatches(**{field.name: opened.arrays[field.name] for field in fields(KnownMatches)})
        except KeyError:
            return None
        return matches if opened.hash == listed and len(matches.indptr) == passages + 1 else None

    def write(self, number: int, matches: KnownMatches) -> None:
        """Write the matches in a segment, in place of those that were read; threads may do so for several."""
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
    opened = open_intact(file)
    return {} if opened is None else {name: array.copy() for name, array in opened.arrays.items()}  # it is replaced


def _read_listed(arrays: Mapping[str, NDArray[Any]], salt: int) -> dict[str, str]:
    """Return the hashes of the segments' files by the names of the segments."""
    if not {"hashes", "checks", "listed"} <= arrays.keys():
        return {}
    listed = json.loads(arrays["listed"].tobytes())
    return dict(listed["files"]) if listed["salt"] == salt else {}
