"""The graph snapshot of a version of the passages table, built once, in a temporary folder that is then renamed.

Its manifest states all inputs and the hash of each file. Equal contents give equal bytes, in whatever order they came.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.arrays import FloatArray, IntArray
from clew.arrays.free_memory import return_free_memory
from clew.errors import IndexFormatError
from clew.graph.csr import build_adjacency
from clew.graph.segments.flat import store_passages
from clew.graph.segments.passage_columns import PassageColumns
from clew.graph.segments.segment import CollisionError, Segment
from clew.graph.snapshot.equivalences import with_equivalences
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.graph.snapshot.snapshot import Snapshot, named_arrays, save_places
from clew.graph.snapshot.stated_mentions import with_mentions
from clew.graph.string_array import StringArray
from clew.graph.string_kernels import take_strings
from clew.indexing.kg_formats.entities import GraphTexts, build_imported_graph, default_label
from clew.indexing.merging.corrected_arrays import with_corrected_entities
from clew.indexing.merging.known_match_files import StoredMatches
from clew.indexing.merging.match_text_files import StoredMatchTexts
from clew.indexing.merging.memory_needs import merge_workspace
from clew.indexing.merging.merge import merge_segments
from clew.indexing.merging.workspace import Workspace
from clew.indexing.resolution.comparison_lists import VectorRows
from clew.indexing.resolution.entity_decisions import CorrectedEntities, apply_decisions
from clew.indexing.resolution.packed_names import first_rows
from clew.indexing.resolution.pair_cache import PairCache, load_pairs, save_pairs
from clew.indexing.resolution.relative_synonyms import find_relative_synonyms
from clew.indexing.resolution.synonyms import EXACT_NAMES, find_synonyms
from clew.indexing.segments.opened_parts import OpenedParts
from clew.indexing.segments.store import OpenedSegments, SegmentFile, ensure_segments
from clew.indexing.vector_lists import ensure_lists
from clew.protocols import Encoder
from clew.store.array_folder import ArrayFolder
from clew.store.atomic import atomic_folder, discard_older, remove_leftovers, temporary_folder
from clew.store.entity_decisions import effective_decisions, read_decisions
from clew.store.kg_shards import DECISION_SHARD, MENTION_SHARD, NAME_SHARD, TRIPLE_SHARD, shard_triples, stored_graphs
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
    snapshot_problems,
    write_manifest,
)
from clew.store.vector_cache import VectorCache
from clew.store.vector_file import VectorFile
from clew.store.writer_lock import pinned_versions
from clew.text.bm25 import LEXICAL, BM25Index
from clew.text.normalization import tokens
from clew.types import Progress, count_progress

_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")


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
    """Return the folder of the version's snapshot, built if missing; an encoder of dimension 0 adds no synonyms.

    `memory` are the bytes that the process may take, 0 for what is usual. Too few are an InputError before anything is
    merged: what was committed stays.
    """
    folder = snapshot_folder(table)
    if not is_complete(folder):
        table.check_rows()
        source = SnapshotSource(table, table.location.derived, lambda salt: ensure_segments(table, progress, salt))
        with merge_workspace(table, encoder.dimension, memory, progress) as space:
            build_snapshot(source, encoder, folder, progress, space)
        discard_older(folder, "[0-9]*", pinned_versions(table.location.derived))
    if encoder.dimension:
        ensure_lists(folder, encoder.fingerprint, progress)
    remove_leftovers(folder.parent)  # also those of a writer that was killed after completing its snapshot
    remove_leftovers(table.location.derived)
    return folder


def build_snapshot(
    source: SnapshotSource, encoder: Encoder, folder: Path, progress: Progress, space: Workspace
) -> None:
    """Build the snapshot of some passages and the imported graphs of their table in a folder."""
    table = source.table
    snapshot, segments, positions = _merge_segments(source, folder, progress, space)
    snapshot = with_mentions(snapshot, *match_mentions(table, snapshot)[:2]) if _has_mentions(table) else snapshot
    corrected = _correct_entities(snapshot, source)
    if corrected is not None:
        snapshot = with_corrected_entities(snapshot, corrected)
    snapshot = _add_synonyms(snapshot, source, encoder, progress, None if corrected is None else corrected.origins)
    progress("writing", 0, 0)
    earlier = _newest_snapshot(folder)
    with (
        # Another process may have built it by now, and readers may have it open.
        atomic_folder(folder, replace=lambda other: not is_complete(other)) as temporary,
        ThreadPoolExecutor(2) as pool,
    ):
        arrays = ArrayFolder(temporary, *earlier)

        def write_arrays() -> None:
            for name, array in named_arrays(snapshot):
                arrays.write(name, array)
                space.release()

        if space.threads == 1:
            write_arrays()
        lexical = pool.submit(_write_lexical, segments, positions, len(snapshot.passage_ids), temporary / LEXICAL)
        if space.threads == 1:
            lexical.result()
            space.release()
        inputs = pool.submit(_describe_inputs, segments, table)
        if space.threads > 1:
            write_arrays()
        save_places(snapshot, temporary)
        lexical.result()
        files = {**arrays.hashes, **hash_files(temporary, arrays.hashes)}
        decided = {} if corrected is None else {DECISION_PROBLEMS: [list(problem) for problem in corrected.problems]}
        write_manifest({**inputs.result(), **decided, "files": dict(sorted(files.items()))}, temporary)


def _write_lexical(segments: Sequence[Segment], positions: Sequence[IntArray], count: int, folder: Path) -> None:
    BM25Index.merge(OpenedParts(segments, lambda segment: segment.terms), positions, count).save(folder)


def _merge_segments(
    source: SnapshotSource, folder: Path, progress: Progress, space: Workspace
) -> tuple[Snapshot, OpenedSegments, Sequence[IntArray]]:
    """Return the snapshot of some passages, their segments, and where in it their rows are, for each segment.

    All is hashed with the first salt under which no two texts have one hash.
    """
    merged_before = _segments_of(_newest_snapshot(folder)[0])  # their names tell their salt, too
    for salt in count(source.salt):
        try:
            files = source.segments(salt)
            graph = _read_imported_graph(source.table, progress, salt)
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
    no_equivalences = build_adjacency([], [], [], len(merged.entities))
    return Snapshot(**arrays, columns=columns, equivalences=no_equivalences, salt=salt), segments, positions


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


def _segments_of(snapshot: Path | None) -> set[str]:
    """Return the names of the segments that were merged into a snapshot; none if it is damaged."""
    if snapshot is None:
        return set()
    with suppress(IndexFormatError):
        return set(read_segment_names(snapshot))
    return set()


def _read_imported_graph(table: PassageTable, progress: Progress, salt: int) -> ImportedGraph | None:
    graphs, done = GraphTexts(), 0
    for rows in table.iter_shards():
        for kind, triples in shard_triples(rows):
            if kind in (MENTION_SHARD, DECISION_SHARD):
                continue
            add = {TRIPLE_SHARD: graphs.add_triples, NAME_SHARD: graphs.add_names}[kind]
            add(triples)
            done += len(triples)
        progress("reading graphs", done, 0)
    if not done:
        return None
    pa.default_memory_pool().release_unused()
    return_free_memory()
    return build_imported_graph(graphs, salt)


class UnmatchedMentions(NamedTuple):
    """Numbers of the mentions that imported graphs state, and that an index cannot place."""

    entities: int  # those whose entity alone it lacks
    places: int  # those whose place alone it lacks
    both: int


def match_mentions(table: PassageTable, snapshot: Snapshot) -> tuple[IntArray, IntArray, UnmatchedMentions]:
    """Return passages and entities (m,) of the mentions that imported graphs state, and how many match nothing.

    A place is the id of a passage, or of a document, which stands for all its passages. An entity is found by its id,
    or by its label where the id is an address.
    """
    places: dict[str, list[int]] = {}
    for position, (id_, document) in enumerate(zip(snapshot.passage_ids, snapshot.document_ids, strict=True)):
        for name in {id_, document}:
            places.setdefault(name, []).append(position)
    entities: dict[str, list[int]] = {}
    passages, mentioned, lacking = [], [], Counter[tuple[bool, bool]]()
    for rows in table.iter_shards():
        for kind, triples in shard_triples(rows):
            for mention in triples.to_pylist() if kind == MENTION_SHARD else ():
                id_, place = mention["head"], mention["tail"]
                if id_ not in entities:
                    found = snapshot.entities_with_name(id_)
                    entities[id_] = (found if len(found) else snapshot.entities_with_name(default_label(id_))).tolist()
                lacking[not entities[id_], place not in places] += 1
                for passage in places.get(place, ()):
                    passages += [passage] * len(entities[id_])
                    mentioned += entities[id_]
    unmatched = UnmatchedMentions(lacking[True, False], lacking[False, True], lacking[True, True])
    return np.array(passages, dtype=np.int32), np.array(mentioned, dtype=np.int32), unmatched


def _has_mentions(table: PassageTable) -> bool:
    return any(graph.mentions for graph in stored_graphs(table.iter_shards(["metadata"])))


def _correct_entities(snapshot: Snapshot, source: SnapshotSource) -> CorrectedEntities | None:
    """Return the entities of a snapshot after the decisions of people; None without a decision in force."""
    decisions = effective_decisions(read_decisions(source.table))
    return apply_decisions(snapshot, decisions, show_names=source.show_given_names) if decisions else None


def _add_synonyms(
    snapshot: Snapshot, source: SnapshotSource, encoder: Encoder, progress: Progress, origins: IntArray | None
) -> Snapshot:
    """Add edges between synonyms, without the (maybe millions of) imported entities that no passage mentions.

    Entities of one of the `origins` (E,) were declared different by a person, however similar their names are.
    """
    if not encoder.dimension:
        return snapshot
    of_all = source.table.settings.get("synonym_names") == "all"
    only_in_graph = (snapshot.mentioned_in.degrees() == 0) & snapshot.imported.any()
    entities: IntArray = np.flatnonzero(~only_in_graph).astype(np.int32)
    if not of_all:
        names = take_strings(snapshot.entities, entities)
        entities = entities[np.fromiter(map(is_comparable, names), dtype=bool, count=len(names))]
    entities = entities[first_rows(take_strings(snapshot.entities, entities))]
    if not len(entities):
        return snapshot
    names = take_strings(snapshot.entities, entities)
    left, right, score = _compare_names(names, source, encoder, progress)
    if origins is not None:
        own = origins[entities]
        is_split = (own[left] >= 0) & (own[left] == own[right])
        left, right, score = left[~is_split], right[~is_split], score[~is_split]
    if of_all:
        return with_equivalences(snapshot, entities[left], entities[right], score)
    is_title = np.zeros(len(snapshot.entities), dtype=bool)
    is_title[snapshot.title_entities[snapshot.title_entities >= 0]] = True
    distinguishable = [are_distinguishable(names[a], names[b]) for a, b in zip(left, right, strict=True)]
    left, right = entities[left], entities[right]
    # Two documents with their own titles are about two things, however similar their names are.
    accepted = np.array(distinguishable, dtype=bool) & ~(is_title[left] & is_title[right])
    return with_equivalences(snapshot, left[accepted], right[accepted], score[accepted])


def _compare_names(
    names: StringArray, source: SnapshotSource, encoder: Encoder, progress: Progress
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of synonyms among distinct names, by rows, and their cosines.

    The vectors of names that are compared by lists lie in a file, where memory holds a block of them.
    """
    cache = VectorCache(source.table.location.derived / "vectors.lance")
    on_encoded = count_progress(progress, "encoding names")
    threshold, limit = _synonym_settings(source.table.settings)
    if source.table.settings.get("synonym_relative"):
        vectors = cache.get_or_encode(names, encoder, on_encoded)
        progress("comparing names", 0, len(names))
        return find_relative_synonyms(names, vectors, threshold, limit)
    with temporary_folder(source.derived / "names") as folder:
        rows: FloatArray | VectorFile = (
            VectorFile(folder / "vectors", len(names), encoder.dimension)
            if len(names) > EXACT_NAMES
            else np.zeros((len(names), encoder.dimension), dtype=np.float32)
        )
        cache.fill(rows, names, encoder, on_encoded)
        progress("comparing names", 0, len(names))
        return _find_synonyms(source.derived, names, rows, threshold, limit)


def _find_synonyms(
    derived: Path, names: Sequence[str], vectors: VectorRows, threshold: float, limit: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of names by rows, and their cosines; what is known of earlier names is kept beside the index."""
    folder = derived / "equivalences"
    cache = _load_known_pairs(folder)
    pairs = find_synonyms(names, vectors, threshold, limit, cache)
    with atomic_folder(folder) as temporary:
        save_pairs(pairs.cache, temporary)
        write_manifest({"files": hash_files(temporary)}, temporary)
    return pairs.left, pairs.right, pairs.score


def _load_known_pairs(folder: Path) -> PairCache | None:
    if not folder.is_dir() or snapshot_problems(folder):
        return None
    try:
        return load_pairs(folder)
    except IndexFormatError:
        return None  # its files are intact, so that it has the format of another version of Clew


def _synonym_settings(settings: Mapping[str, Any]) -> tuple[float, int]:
    """Return the similarity threshold and the synonyms per name, which older indexes store under other names."""
    threshold = settings.get("synonym_threshold", settings.get("tau"))
    return float(threshold), int(settings.get("max_synonyms", settings.get("neighbours")))


def are_distinguishable(one: str, other: str) -> bool:
    """Return False for names in a script without spaces that share no letter: to an encoder all may be one word."""
    if one.isascii() and other.isascii():
        return True
    letters = [{token.key for token in tokens(name) if len(token.key) == 1} for name in (one, other)]
    unspaced = any(not letter.isascii() for letter in letters[0] | letters[1])
    return not unspaced or bool(letters[0] & letters[1])


def is_comparable(name: str) -> bool:
    """Return whether a name can be compared by its vector: digits make different things similar (1963 and 1964)."""
    if name.isascii():
        return _LETTER.search(name) is not None and _DIGIT.search(name) is None
    return any(letter.isalpha() for letter in name) and not any(letter.isdigit() for letter in name)


def _describe_inputs(segments: Sequence[Segment], table: PassageTable) -> dict[str, Any]:
    """Return all that a snapshot depends on, as its manifest states it."""
    passages = [segment.passages for segment in segments]
    extractors: Counter[str] = Counter()
    for part in passages:
        rows = np.bincount(part.extractors, minlength=len(part.extractor_names)).tolist()
        extractors.update({name: rows for name, rows in zip(part.extractor_names, rows, strict=True) if rows})
    shards = list(table.iter_shards(["metadata", "document_hash"]))
    hashes = [_arrow_strings(part.document_hashes).unique() for part in passages]
    hashes += [chunk.cast(pa.large_string()) for rows in shards for chunk in rows["document_hash"].chunks]
    return {
        "recipe": SNAPSHOT_FORMAT,
        "lexical": BM25Index.fingerprint(),
        "settings": table.settings,
        "corpus": _hash_sorted(hashes),
        "documents": len(np.unique(np.concatenate([np.zeros(0, "u8"), *(p.document_id_hashes for p in passages)]))),
        "passages": sum(map(len, segments)),
        "graphs": [graph.to_json() for graph in stored_graphs(shards)],
        "extractors": dict(sorted(extractors.items())),
        "failures": int(sum(part.failed.sum() for part in passages)),
    }


def _arrow_strings(strings: StringArray) -> pa.LargeStringArray:
    buffers = [None, pa.py_buffer(strings.offsets), pa.py_buffer(strings.data)]
    return pa.Array.from_buffers(pa.large_string(), len(strings), buffers)


def _hash_sorted(parts: Sequence[pa.Array]) -> str:
    """Return a hash of the distinct hashes of documents, each of which covers the document's id and content."""
    texts = pa.chunked_array(parts, pa.large_string()).unique()
    _, offsets, data = texts.take(pc.sort_indices(texts)).buffers()
    digest = blake2b(offsets, digest_size=16)
    digest.update(data or b"")
    return digest.hexdigest()
