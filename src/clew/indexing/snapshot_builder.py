"""The graph snapshot of a version of the passages table, built once, in a temporary folder that is then renamed.

Its manifest states all inputs and the hash of each file. Equal contents give equal bytes, in whatever order they came.

All that a snapshot depends on, as its manifest states it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import IntArray, sort_distinct
from clew.errors import IndexFormatError
from clew.graph.segments.flat import store_passages
from clew.graph.segments.passage_columns import PassageColumns
from clew.graph.segments.segment import CollisionError, Segment
from clew.graph.snapshot.snapshot import Snapshot, named_arrays, save_places, with_mentions
from clew.indexing.imported_graphs import has_mentions, match_mentions, read_imported_graph
from clew.indexing.merging.corrected_arrays import with_corrected_entities
from clew.indexing.merging.known_matches import StoredMatches
from clew.indexing.merging.match_texts import StoredMatchTexts
from clew.indexing.merging.merge import merge_segments
from clew.indexing.merging.workspace import Workspace, merge_workspace
from clew.indexing.resolution.entity_decisions import CorrectedEntities, apply_decisions
from clew.indexing.segments.store import OpenedSegments, SegmentFile, ensure_segments, read_parts
from clew.indexing.segments.vocabularies import to_arrow
from clew.indexing.sentence_vectors import ensure_lists
from clew.protocols import Encoder
from clew.store.array_file import ArrayFolder
from clew.store.atomic import atomic_folder, discard, discard_older, remove_leftovers
from clew.store.entity_decisions import effective_decisions, read_decisions
from clew.store.kg_shards import stored_graphs
from clew.store.passage_table import PassageTable
from clew.store.segment_files import read_segment_names, segments_folder
from clew.store.snapshot_files import (
    DECISION_PROBLEMS,
    MANIFEST_FILE,
    SNAPSHOT_FORMAT,
    hash_files,
    is_complete,
    read_manifest,
    snapshot_folder,
    write_manifest,
)
from clew.store.writer_lock import pinned_versions
from clew.text.bm25 import LEXICAL, BM25Index
from clew.types import Progress


def describe_inputs(segments: Sequence[Segment], table: PassageTable) -> dict[str, Any]:
    """Return all that a snapshot depends on, as its manifest states it."""
    passages = [segment.passages for segment in segments]
    extractors: Counter[str] = Counter()
    for part in passages:
        rows = np.bincount(part.extractors, minlength=len(part.extractor_names)).tolist()
        extractors.update({name: rows for name, rows in zip(part.extractor_names, rows, strict=True) if rows})
    shards = list(table.iter_shards(["metadata", "document_hash"]))
    ids = np.concatenate([np.zeros(0, dtype=np.uint64), *(part.document_id_hashes for part in passages)])
    hashes = [to_arrow(part.document_hashes).unique() for part in passages]
    hashes += [chunk.cast(pa.large_string()) for rows in shards for chunk in rows["document_hash"].chunks]
    return {
        "recipe": SNAPSHOT_FORMAT,
        "lexical": BM25Index.fingerprint(),
        "settings": table.settings,
        "corpus": _hash_sorted(hashes),
        "documents": len(sort_distinct(ids)),
        "passages": sum(map(len, segments)),
        "graphs": [graph.to_json() for graph in stored_graphs(shards)],
        "extractors": dict(sorted(extractors.items())),
        "failures": int(sum(part.failed.sum() for part in passages)),
    }


def _hash_sorted(parts: Sequence[pa.Array]) -> str:
    """Return a hash of the distinct hashes of documents, each of which covers the document's id and content."""
    texts = pa.chunked_array(parts, pa.large_string()).unique()
    _, offsets, data = texts.take(pc.sort_indices(texts)).buffers()
    digest = blake2b(offsets, digest_size=16)
    digest.update(data or b"")
    return digest.hexdigest()


@final
@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """The passages that a snapshot is made of."""

    table: PassageTable  # of the version, with its imported graphs
    derived: Path  # folder of derived data that is for these passages alone
    segments: Callable[[int], list[SegmentFile]]  # returns the files of their segments, hashed with a salt
    salt: int = 0  # that is tried first
    show_given_names: bool = True  # whether names that decisions give to entities are shown and found


def ensure_snapshot(table: PassageTable, encoder: Encoder, progress: Progress, memory: int = 0) -> Path:
    """Return the folder of the version's snapshot, built if missing, with the lists of the vectors of an encoder.

    `memory` are the bytes that the process may take, 0 for what is usual. Too few are an InputError before anything is
    merged: what was committed stays.
    """
    folder = snapshot_folder(table)
    if not is_complete(folder):
        table.check_rows()
        source = SnapshotSource(table, table.location.derived, lambda salt: ensure_segments(table, progress, salt))
        with merge_workspace(table, memory, progress) as space:
            build_snapshot(source, folder, progress, space)
        discard_older(folder, "[0-9]*", pinned_versions(table.location.derived))
    if encoder.dimension:
        ensure_lists(folder, encoder.fingerprint, progress)
    remove_leftovers(folder.parent)  # also those of a writer that was killed after completing its snapshot
    remove_leftovers(table.location.derived)
    if (of_before := table.location.derived / "equivalences").exists():  # pairs of names, made before Clew 0.5
        discard(of_before)
    return folder


def build_snapshot(source: SnapshotSource, folder: Path, progress: Progress, space: Workspace) -> None:
    """Build the snapshot of some passages and the imported graphs of their table in a folder."""
    table = source.table
    snapshot, segments, positions = _merge_segments(source, folder, progress, space)
    snapshot = with_mentions(snapshot, *match_mentions(table, snapshot)[:2]) if has_mentions(table) else snapshot
    corrected = _correct_entities(snapshot, source)
    if corrected is not None:
        snapshot = with_corrected_entities(snapshot, corrected)
    progress("writing", 0, 0)
    earlier = _newest_snapshot(folder)
    with (
        # Another process may have built it by now, and readers may have it open.
        atomic_folder(folder, replace=lambda other: not is_complete(other)) as temporary,
        ThreadPoolExecutor(2) as pool,
    ):
        arrays = ArrayFolder(temporary, *earlier)

        def write_lexical() -> None:
            terms = read_parts(segments, lambda segment: segment.terms)
            BM25Index.merge(terms, positions, len(snapshot.passage_ids)).save(temporary / LEXICAL)

        def write_arrays() -> None:
            for name, array in named_arrays(snapshot):
                arrays.write(name, array)
                space.release()

        if space.threads == 1:
            write_arrays()
        lexical = pool.submit(write_lexical)
        if space.threads == 1:
            lexical.result()
            space.release()
        inputs = pool.submit(describe_inputs, segments, table)
        if space.threads > 1:
            write_arrays()
        save_places(snapshot, temporary)
        lexical.result()
        files = {**arrays.hashes, **hash_files(temporary, arrays.hashes)}
        decided = {} if corrected is None else {DECISION_PROBLEMS: [list(problem) for problem in corrected.problems]}
        write_manifest({**inputs.result(), **decided, "files": dict(sorted(files.items()))}, temporary)


def _merge_segments(
    source: SnapshotSource, folder: Path, progress: Progress, space: Workspace
) -> tuple[Snapshot, OpenedSegments, Sequence[IntArray]]:
    """Return the snapshot of some passages, their segments, and where in it their rows are, for each segment.

    All is hashed with the first salt under which no two texts have one hash.
    """
    merged_before, newest = set[str](), _newest_snapshot(folder)[0]
    with suppress(IndexFormatError):  # a damaged one tells nothing
        merged_before |= set(read_segment_names(newest)) if newest else set()  # their names tell their salt, too
    for salt in count(source.salt):
        try:
            files = source.segments(salt)
            graph = read_imported_graph(source.table, progress, salt)
            space.release()
            segments = OpenedSegments(files, space.resident_bytes)
            agreeing = {number for number, file in enumerate(files) if file.name in merged_before}
            texts, memory = (
                StoredMatchTexts(files, progress),
                StoredMatches(files, segments_folder(source.derived), salt),
            )
            merged = merge_segments(segments, graph, salt, texts, agreeing, memory, space)
        except CollisionError:
            continue
        break
    columns = PassageColumns([store_passages(segment) for segment in segments], merged.places, [f.name for f in files])
    arrays = {field.name: getattr(merged, field.name) for field in fields(merged)}
    positions = arrays.pop("positions")
    del arrays["places"]
    return Snapshot(**arrays, columns=columns, salt=salt), segments, positions


def _newest_snapshot(folder: Path) -> tuple[Path | None, dict[str, str]]:
    """Return the newest other snapshot with the hashes of its files, which equal files are linked from."""
    others = (other for other in folder.parent.glob("[0-9]*") if other != folder and (other / MANIFEST_FILE).is_file())
    newest = max(others, key=lambda other: (other.stat().st_mtime_ns, other.name), default=None)
    if newest is None:
        return None, {}
    try:
        return newest, read_manifest(newest)["files"]
    except IndexFormatError:
        return None, {}  # it was damaged, or has just been discarded: all is written


def _correct_entities(snapshot: Snapshot, source: SnapshotSource) -> CorrectedEntities | None:
    """Return the entities of a snapshot after the decisions of people; None without a decision in force."""
    decisions = effective_decisions(read_decisions(source.table))
    return apply_decisions(snapshot, decisions, show_names=source.show_given_names) if decisions else None
