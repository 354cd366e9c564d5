"""Makes the inverted lists of an index with many vectors: centroids once, and the lists of each new segment.

Centroids are trained again when an index has twice as many passages as then; in between a commit makes the lists of its
new segments alone.
"""

from collections.abc import Sequence
from contextlib import suppress
from math import log2, sqrt
from pathlib import Path

import numpy as np

from clew.arrays import FloatArray
from clew.errors import ProviderError
from clew.graph.segments.flat import unflatten_stored_passages
from clew.graph.segments.passage_columns import PassageVectors
from clew.graph.segments.vector_lists import flatten_lists, make_lists, train_centroids
from clew.graph.snapshot.snapshot import load_snapshot
from clew.store import segment_files
from clew.store.array_file import map_arrays, write_arrays
from clew.store.atomic import discard, remove_leftovers
from clew.store.segment_files import CentroidsFile, encoder_key, find_centroids, read_segment_names, segments_folder
from clew.types import Progress

_LISTS_PER_ROOT = 4  # lists for each passage of the square root of all
SAMPLE_SIZE = 32  # passages for each list that its centroid is trained on
ROUNDS = 8
_GROWTH = 2  # centroids are trained again when the number of passages has grown by this factor
_SEED = 20


def ensure_lists(snapshot: Path, fingerprint: str, progress: Progress) -> None:
    """Make what is missing of the lists of a snapshot's segments, with vectors of the encoder of a fingerprint.

    An index of fewer than `LISTED_PASSAGES` passages, or without vectors, has none.
    """
    derived = snapshot.parent.parent
    names = read_segment_names(snapshot)
    parts = {name: _read_vectors(derived, name) for name in names}
    count = sum(map(len, parts.values()))
    if count < segment_files.LISTED_PASSAGES or not all(part.shape[1] for part in parts.values()):
        return
    known = find_centroids(derived, encoder_key(fingerprint))
    fit = [file for file in known if file.passages <= count < _GROWTH * file.passages]
    file = fit[0] if fit else _train(derived, snapshot, fingerprint, progress)
    centroids = file.read()
    missing = [name for name in names if not file.lists_path(name).is_file()]
    for done, name in enumerate(missing):
        progress("listing vectors", done, len(missing))
        write_arrays(file.lists_path(name), flatten_lists(make_lists(parts[name], centroids)), is_named=True)
    discard_lists(derived, file)
    remove_leftovers(segment_files.centroids_folder(derived))


def count_lists(passages: int) -> int:
    """Return the number of lists of an index: a power of two, about four times the root of its passages."""
    return 1 << max(0, round(log2(_LISTS_PER_ROOT * sqrt(passages))))


def _train(derived: Path, snapshot: Path, fingerprint: str, progress: Progress) -> CentroidsFile:
    vectors = _snapshot_vectors(derived, snapshot)
    progress("dividing vectors", 0, len(vectors))
    lists = min(count_lists(len(vectors)), len(vectors))
    random = np.random.default_rng(_SEED)
    # Positions are in the order of ids, so that the sample does not depend on how passages lie in segments.
    drawn = np.sort(random.choice(len(vectors), min(len(vectors), SAMPLE_SIZE * lists), replace=False))
    centroids = train_centroids(vectors.rows(drawn), lists, ROUNDS, random)
    file = CentroidsFile.name(derived, len(vectors), fingerprint, centroids)
    write_arrays(file.path, {"centroids": centroids}, is_named=True)
    return file


def _snapshot_vectors(derived: Path, snapshot: Path) -> PassageVectors:
    def open_passages(name: str):  # type: ignore[no-untyped-def]
        return unflatten_stored_passages(map_arrays(segments_folder(derived) / name), name)

    return load_snapshot(snapshot, open_passages).vectors


def _read_vectors(derived: Path, name: str) -> FloatArray:
    return unflatten_stored_passages(map_arrays(segments_folder(derived) / name), name).vectors


def discard_lists(derived: Path, newest: CentroidsFile | None = None) -> None:
    """Discard all centroids but the newest, and the lists made by them; a process that has them open keeps them."""
    others: Sequence[CentroidsFile] = [file for file in find_centroids(derived) if file != newest]
    for other in others:
        lists = segments_folder(derived).glob(other.lists_path("*").name)
        for path in (*sorted(lists), other.path):
            with suppress(ProviderError):  # another process has removed it, or Windows has it open
                discard(path)
