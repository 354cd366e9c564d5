"""The graph snapshot of a version of the passages table, built once, in a temporary folder that is then renamed.

Its manifest states all inputs and the hash of each file. Equal contents give equal bytes, in whatever order they came.
"""

import gc
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clew.arrays import FloatArray
from clew.graph.segments.flat import store_passages
from clew.graph.segments.passage_columns import PassageColumns, make_places
from clew.graph.snapshot.builder import PassageTexts, build_snapshot, with_equivalences
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.graph.snapshot.snapshot import Snapshot, save_snapshot
from clew.graph.string_array import StringArray
from clew.indexing.kg_formats.entities import build_imported_graph
from clew.indexing.resolution.corpus_facts import corpus_facts
from clew.indexing.resolution.pair_cache import load_pairs, save_pairs
from clew.indexing.resolution.synonyms import find_synonyms
from clew.indexing.resolution.title_linking import NamedText
from clew.indexing.segments.store import SegmentFile, ensure_segments
from clew.protocols import Encoder
from clew.store.atomic import atomic_folder, discard_older, remove_leftovers
from clew.store.kg_shards import NAME_SHARD, TRIPLE_SHARD, is_shard, shard_triples, stored_graphs
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import (
    MANIFEST_FILE,
    SNAPSHOT_FORMAT,
    hash_files,
    missing_segments,
    snapshot_folder,
    snapshot_problems,
    write_manifest,
)
from clew.store.vector_cache import VectorCache
from clew.text.bm25 import LEXICAL, BM25Index
from clew.text.normalization import tokens
from clew.types import Extraction, Mention, Progress, count_progress

_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")


def ensure_snapshot(table: PassageTable, encoder: Encoder, progress: Progress) -> Path:
    """Return the folder of the version's snapshot, built if missing; an encoder of dimension 0 adds no synonyms."""
    folder = snapshot_folder(table)
    if not (folder / MANIFEST_FILE).is_file() or missing_segments(folder):
        rows = table.read()
        progress("linking", 0, rows.num_rows)
        with _without_garbage_collection():
            snapshot = _build_snapshot(rows, table.dimension, _read_imported_graph(table, progress))
        snapshot = replace(snapshot, columns=_place_columns(snapshot.passage_ids, ensure_segments(table, progress)))
        snapshot = _add_synonyms(snapshot, table, encoder, progress)
        with atomic_folder(folder) as temporary:
            save_snapshot(snapshot, temporary)
            texts = (f"{title}\n{text}" for title, text in zip(snapshot.titles, snapshot.texts, strict=True))
            BM25Index.build(texts).save(temporary / LEXICAL)
            write_manifest(_make_manifest(rows, table, temporary), temporary)
        discard_older(folder, "[0-9]*")  # a process that has one open keeps it, since its files stay mapped
    remove_leftovers(folder.parent)  # also those of a writer that was killed after completing its snapshot
    remove_leftovers(table.location.derived)
    return folder


def _place_columns(ids: StringArray, files: Sequence[SegmentFile]) -> PassageColumns:
    segments = [file.open() for file in files]
    places = make_places([len(segment) for segment in segments])
    listed = [id_ for segment in segments for id_ in segment.passages.ids]
    order = np.array(sorted(range(len(listed)), key=listed.__getitem__), dtype=np.int64)
    assert [listed[position] for position in order.tolist()] == list(ids)
    return PassageColumns([store_passages(segment) for segment in segments], places[order], [f.name for f in files])


def read_named_texts(rows: pa.Table) -> list[NamedText]:
    """Return the names and texts of the passages of a table, in the order of the rows."""
    names = ("document_id", "title", "text", "aliases", "links", "ordinal")
    columns = [rows.column(name).to_pylist() for name in names]
    return [NamedText(d, t, x, a, li, o == 0) for d, t, x, a, li, o in zip(*columns, strict=True)]


def read_extractions(rows: pa.Table) -> list[Extraction]:
    """Return the extraction of each passage of a table, an empty one where the extraction failed."""
    columns = rows.column("mentions").to_pylist(), rows.column("triples").to_pylist()
    return [
        Extraction(
            tuple(Mention(m["name"], m["kind"], m["start"], m["end"]) for m in mentions or ()),
            tuple((t["head"], t["relation"], t["tail"]) for t in triples or ()),
        )
        for mentions, triples in zip(*columns, strict=True)
    ]


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Suspend garbage collection, which would traverse millions of small lasting objects repeatedly; none is cyclic."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_imported_graph(table: PassageTable, progress: Progress) -> ImportedGraph | None:
    triples_by_kind: dict[str, list[pa.StructArray]] = {TRIPLE_SHARD: [], NAME_SHARD: []}
    done = 0
    for rows in table.iter_shards():
        for kind, triples in shard_triples(rows):
            triples_by_kind[kind].append(triples)
            done += len(triples)
        progress("reading graphs", done, 0)
    return build_imported_graph(triples_by_kind[TRIPLE_SHARD], triples_by_kind[NAME_SHARD]) if done else None


def _build_snapshot(rows: pa.Table, dimension: int, graph: ImportedGraph | None) -> Snapshot:
    corpus = corpus_facts(read_named_texts(rows), read_extractions(rows))
    names = ("id", "document_id", "title", "text", "metadata", "start", "end")
    ids, documents, titles, texts, metadata, starts, ends = (rows.column(name).to_pylist() for name in names)
    vectors = _vector_matrix(rows, dimension)
    columns = PassageTexts(ids, documents, titles, texts, metadata, starts, ends, vectors)
    return build_snapshot(columns, corpus.facts, corpus.surfaces, corpus.names, graph)


def _vector_matrix(rows: pa.Table, dimension: int) -> FloatArray:
    if not dimension:
        return np.zeros((rows.num_rows, 0), dtype=np.float32)
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float32).reshape(rows.num_rows, dimension)


def _add_synonyms(snapshot: Snapshot, table: PassageTable, encoder: Encoder, progress: Progress) -> Snapshot:
    """Add edges between synonyms, without the (maybe millions of) imported entities that no passage mentions."""
    entity_of_name: dict[str, int] = {}
    only_in_graph = (snapshot.mentioned_in.degrees() == 0) & snapshot.imported.any()
    for entity, name in enumerate(snapshot.entities):
        if not only_in_graph[entity] and is_comparable(name):
            entity_of_name.setdefault(name, entity)
    if not encoder.dimension or not entity_of_name:
        return snapshot
    derived = table.location.derived
    names, entities = list(entity_of_name), np.array(list(entity_of_name.values()))
    count = count_progress(progress, "encoding names")
    vectors = VectorCache(derived / "vectors.lance").get_or_encode(names, encoder, count)
    progress("comparing names", 0, len(names))
    folder = derived / "equivalences"
    cache = load_pairs(folder) if folder.is_dir() and not snapshot_problems(folder) else None
    pairs = find_synonyms(names, vectors, *_synonym_settings(table.settings), cache)
    with atomic_folder(folder) as temporary:
        save_pairs(pairs.cache, temporary)
        write_manifest({"files": hash_files(temporary)}, temporary)
    is_title = np.zeros(len(snapshot.entities), dtype=bool)
    is_title[snapshot.title_entities[snapshot.title_entities >= 0]] = True
    left, right = entities[pairs.left], entities[pairs.right]
    distinguishable = [are_distinguishable(names[a], names[b]) for a, b in zip(pairs.left, pairs.right, strict=True)]
    # Two documents with their own titles are about two things, however similar their names are.
    accepted = np.array(distinguishable, dtype=bool) & ~(is_title[left] & is_title[right])
    return with_equivalences(snapshot, left[accepted], right[accepted], pairs.score[accepted])


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


def _make_manifest(rows: pa.Table, table: PassageTable, folder: Path) -> dict[str, Any]:
    pairs = zip(rows.column("document_id").to_pylist(), rows.column("document_hash").to_pylist(), strict=True)
    documents = sorted(set(pairs))
    shards = sorted((id_, hash_) for id_, hash_ in table.document_hashes().items() if is_shard(hash_))
    corpus = "".join(f"{id_}\0{hash_}\0" for id_, hash_ in [*documents, *shards])
    return {
        "recipe": SNAPSHOT_FORMAT,
        "lexical": BM25Index.fingerprint(),
        "settings": table.settings,
        "corpus": blake2b(corpus.encode(), digest_size=16).hexdigest(),
        "documents": len(documents),
        "passages": rows.num_rows,
        "graphs": [asdict(graph) for graph in stored_graphs(table.iter_shards(["metadata"]))],
        "extractors": dict(sorted(Counter(rows.column("extractor").to_pylist()).items())),
        "failures": rows.num_rows - rows.column("failure").null_count,
        "files": hash_files(folder),
    }
