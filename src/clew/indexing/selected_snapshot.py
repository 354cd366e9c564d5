"""The snapshot of some passages of a version: that of an index which has these passages alone, from the same segments.

It lies in a folder of its own beside the other derived data, with its segments, and is dropped with the next change.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import final

import numpy as np

from clew.arrays import BoolArray, LongArray
from clew.errors import InputError, ProviderError
from clew.graph.segments.flat import flatten_segment
from clew.graph.segments.sentence_columns import ROW_BITS, ROW_MASK
from clew.graph.snapshot.snapshot import Snapshot
from clew.indexing.merging.workspace import usual_workspace
from clew.indexing.segments.selection import select_rows
from clew.indexing.segments.store import SegmentFile, ensure_segments
from clew.indexing.snapshot_builder import SnapshotSource, build_snapshot
from clew.protocols import Encoder
from clew.store.array_file import write_arrays
from clew.store.atomic import discard, remove_leftovers
from clew.store.passage_table import PassageTable
from clew.store.segment_files import segments_folder
from clew.store.snapshot_files import is_complete, snapshot_folder
from clew.types import Progress

MAX_SELECTED_PASSAGES = 100_000
"""Passages of a selection, at most: its snapshot is made while a search waits (bench/strict_filters.py)."""
_FOLDER = "selected"
_KEPT_SELECTIONS = 8  # whose snapshots stay on disk


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassageSelection:
    """Some passages of a version of an index."""

    key: str  # differs for other passages, and for other versions
    salt: int  # of the hashes in the segments
    rows: Mapping[str, LongArray]  # by the name of each segment that has some of them: their rows, ascending


def select_passages(table: PassageTable, snapshot: Snapshot, allowed: BoolArray) -> PassageSelection:
    """Return the selection of the allowed passages (P,) of a version; more than `MAX_SELECTED_PASSAGES` are refused.

    Raises:
        InputError: There are too many.
    """
    count = int(allowed.sum())
    if count > MAX_SELECTED_PASSAGES:
        raise InputError(
            f"the filter allows {count:,} passages, and strict filters take {MAX_SELECTED_PASSAGES:,} at most: leave "
            "--strict-filters out, or make an index of these documents alone"
        )
    places = np.sort(snapshot.columns.places[allowed])
    numbers, rows = places >> ROW_BITS, places & ROW_MASK
    names = snapshot.columns.segments
    selected = {names[number]: rows[numbers == number] for number in np.unique(numbers).tolist()}
    digest = blake2b(snapshot_folder(table).name.encode(), digest_size=12)
    for name, own in selected.items():
        digest.update(name.encode() + own.tobytes() + b"\n")
    return PassageSelection(digest.hexdigest(), snapshot.salt, selected)


def selected_snapshot_folder(table: PassageTable, selection: PassageSelection) -> Path:
    """Return the folder of the snapshot of a selection, which may not exist."""
    return _home(table, selection) / "snapshots" / f"{table.version:08d}-{selection.key}"


def ensure_selected_snapshot(
    table: PassageTable, selection: PassageSelection, encoder: Encoder, progress: Progress
) -> Path:
    """Return the folder of the snapshot of a selection, built if missing; the latest eight stay on disk."""
    folder = selected_snapshot_folder(table, selection)
    if not is_complete(folder):
        home = _home(table, selection)
        files = _write_segments(table, selection, segments_folder(home), progress)
        # No two texts have one hash under this salt: it is that of the whole version.
        source = SnapshotSource(table, home, lambda _: files, selection.salt, show_given_names=False)
        build_snapshot(source, encoder, folder, progress, usual_workspace())
    _discard_oldest(folder.parent.parent)
    return folder


def discard_selections(derived: Path) -> None:
    """Discard the snapshots of all selections; those who read one go on."""
    with suppress(ProviderError):  # another process has removed it, or Windows has it open
        if (derived / _FOLDER).is_dir():
            discard(derived / _FOLDER)


def _home(table: PassageTable, selection: PassageSelection) -> Path:
    return table.location.derived / _FOLDER / selection.key


def _write_segments(
    table: PassageTable, selection: PassageSelection, folder: Path, progress: Progress
) -> list[SegmentFile]:
    """Write the segments of a selection, with nothing of other passages in them."""
    whole = {file.name: file for file in ensure_segments(table, progress, selection.salt)}
    files = []
    for done, (name, rows) in enumerate(selection.rows.items()):
        progress("selecting passages", done, len(selection.rows))
        files.append(SegmentFile(folder / name))
        write_arrays(folder / name, flatten_segment(select_rows(whole[name].open(), rows)))
    return files


def _discard_oldest(home: Path) -> None:
    """Discard the selections beside one that were made first."""
    remove_leftovers(home.parent)
    others = [other for other in home.parent.iterdir() if other.is_dir() and other != home]
    others.sort(key=lambda other: (other.stat().st_mtime_ns, other.name), reverse=True)
    for other in others[_KEPT_SELECTIONS - 1 :]:
        with suppress(ProviderError):
            discard(other)
