"""From the table of passages to the snapshot of one version, kept on disk beside it.

A snapshot is made once a version and build recipe, in a temporary folder that is renamed into place, so a reader finds
a whole one or none. Its manifest names everything it depends on, and the hash of every file; equal contents give equal
bytes, whatever the order in which they came.
"""

import gc
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import IndexFormatError, ProviderError
from clew.graph.snapshot.builder import PassageColumns, build_snapshot, with_equivalences
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.graph.snapshot.snapshot import Snapshot, save_snapshot
from clew.indexing.kg_formats.entities import build_imported_graph
from clew.indexing.resolution.corpus_facts import corpus_facts
from clew.indexing.resolution.pair_cache import load_pairs, save_pairs
from clew.indexing.resolution.synonyms import find_synonyms
from clew.indexing.resolution.title_linking import NamedText
from clew.protocols import Encoder
from clew.store.atomic import atomic_folder, discard, remove_leftovers
from clew.store.kg_shards import NAME_SHARD, TRIPLE_SHARD, is_shard, shard_triples, stored_graphs
from clew.store.passage_table import PassageTable
from clew.store.vector_cache import VectorCache
from clew.text.bm25 import LEXICAL, BM25Index
from clew.text.normalization import tokens
from clew.types import Extraction, Mention, Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from clew.types import FloatArray

SNAPSHOT_FORMAT = "snapshot-5"
MANIFEST_FILE = "manifest.json"
CHECKSUM_KEY = "seal"
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")


def snapshot_folder(table: PassageTable) -> Path:
    """Return where the snapshot of the table's version lies, made or not."""
    # The number alone would find the snapshot of another table, where one was restored or made again in this place.
    source = f"{SNAPSHOT_FORMAT} {BM25Index.fingerprint()} {table.files_hash}"
    key = blake2b(source.encode(), digest_size=8).hexdigest()
    return table.location.derived / "snapshots" / f"{table.version:08d}-{key}"


def ensure_snapshot(table: PassageTable, encoder: Encoder, progress: Progress) -> Path:
    """Return the folder of the version's snapshot, making it where it is missing.

    Args:
        table: The version to be read.
        encoder: The index's; dimension 0 makes no equivalences.
        progress: Told of the entity names encoded.
    """
    folder = snapshot_folder(table)
    if not (folder / MANIFEST_FILE).is_file():
        rows = table.read()
        progress("linking", 0, rows.num_rows)
        with _without_garbage_collection():
            snapshot = _build_snapshot(rows, table.dimension, _read_imported_graph(table, progress))
        snapshot = _add_synonyms(snapshot, table, encoder, progress)
        with atomic_folder(folder) as temporary:
            save_snapshot(snapshot, temporary)
            texts = (f"{title}\n{text}" for title, text in zip(snapshot.titles, snapshot.texts, strict=True))
            BM25Index.build(texts).save(temporary / LEXICAL)
            _write_manifest(_make_manifest(rows, table, temporary), temporary)
        _drop_old_snapshots(folder)
    remove_leftovers(folder.parent)  # also what a writer left that was killed after its snapshot stood
    remove_leftovers(table.location.derived)
    return folder


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what a snapshot was made from, and the hashes of its files.

    Raises:
        IndexFormatError: It is missing or damaged.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"the manifest of a snapshot is missing or damaged ({error})"
        raise IndexFormatError(f"{message}: run `clew repair`") from error
    if not isinstance(manifest, dict) or manifest.pop(CHECKSUM_KEY, None) != _manifest_checksum(manifest):
        raise IndexFormatError(f"the manifest of {folder.name} is not as it was written: run `clew repair`")
    return manifest


def read_named_texts(rows: "pa.Table") -> list[NamedText]:
    """Return the passages of a table as far as names matter, in the order of the rows."""
    names = ("document_id", "title", "text", "aliases", "links", "ordinal")
    columns = [rows.column(name).to_pylist() for name in names]
    return [NamedText(d, t, x, a, li, o == 0) for d, t, x, a, li, o in zip(*columns, strict=True)]


def read_extractions(rows: "pa.Table") -> list[Extraction]:
    """Return what was found in each passage of a table; nothing where the extraction failed."""
    found: list[Extraction] = []
    columns = rows.column("mentions").to_pylist(), rows.column("triples").to_pylist()
    for mentions, triples in zip(*columns, strict=True):
        found.append(
            Extraction(
                tuple(Mention(m["name"], m["kind"], m["start"], m["end"]) for m in mentions or ()),
                tuple((t["head"], t["relation"], t["tail"]) for t in triples or ()),
            )
        )
    return found


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Spare millions of small lasting objects from being looked through again and again; nothing here is cyclic."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read_imported_graph(table: PassageTable, progress: Progress) -> ImportedGraph | None:
    """Return the imported graphs of a version, None where there is none."""
    held: dict[str, list[pa.StructArray]] = {TRIPLE_SHARD: [], NAME_SHARD: []}
    done = 0
    for rows in table.iter_shards():
        for holds, triples in shard_triples(rows):
            held[holds].append(triples)
            done += len(triples)
        progress("reading graphs", done, 0)
    return build_imported_graph(held[TRIPLE_SHARD], held[NAME_SHARD]) if done else None


def _build_snapshot(rows: "pa.Table", dimension: int, graph: ImportedGraph | None) -> Snapshot:
    corpus = corpus_facts(read_named_texts(rows), read_extractions(rows))
    names = ("id", "document_id", "title", "text", "metadata", "start", "end")
    ids, documents, titles, texts, metadata, starts, ends = (rows.column(name).to_pylist() for name in names)
    vectors = _vector_matrix(rows, dimension)
    columns = PassageColumns(ids, documents, titles, texts, metadata, starts, ends, vectors)
    return build_snapshot(columns, corpus.facts, corpus.surfaces, corpus.names, graph)


def _vector_matrix(rows: "pa.Table", dimension: int) -> "FloatArray":
    if not dimension:
        return np.zeros((rows.num_rows, 0), dtype=np.float32)
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float32).reshape(rows.num_rows, dimension)


def _add_synonyms(snapshot: Snapshot, table: PassageTable, encoder: Encoder, progress: Progress) -> Snapshot:
    """Add the edges between entities whose names mean the same to the encoder.

    The entities of a graph have an identity of their own, and may be millions: those that no passage mentions stay out.
    """
    first: dict[str, int] = {}
    graph_alone = (snapshot.mentioned_in.degrees() == 0) & snapshot.imported.any()
    for position, name in enumerate(snapshot.entities):
        if not graph_alone[position] and is_comparable(name):
            first.setdefault(name, position)
    if not encoder.dimension or not first:
        return snapshot
    derived = table.location.derived
    names, entity = list(first), np.array(list(first.values()))
    done = 0

    def encoded(count: int) -> None:
        nonlocal done
        done += count
        progress("encoding names", done, 0)  # how many are new is not known beforehand

    vectors = VectorCache(derived / "vectors.lance").get_or_encode(names, encoder, encoded)
    progress("comparing names", 0, len(names))
    before = derived / "equivalences"
    known = load_pairs(before) if before.is_dir() and not snapshot_problems(before) else None
    pairs = find_synonyms(names, vectors, *_synonym_settings(table.settings), known)
    with atomic_folder(before) as temporary:
        save_pairs(pairs.cache, temporary)
        _write_manifest({"files": _file_hashes(temporary)}, temporary)
    titled = np.zeros(len(snapshot.entities), dtype=bool)
    titled[snapshot.title_entities[snapshot.title_entities >= 0]] = True
    left, right = entity[pairs.left], entity[pairs.right]
    apart = [are_distinguishable(names[a], names[b]) for a, b in zip(pairs.left, pairs.right, strict=True)]
    # Two documents with titles of their own are about two things, however near their names are.
    kept = np.array(apart, dtype=bool) & ~(titled[left] & titled[right])
    return with_equivalences(snapshot, left[kept], right[kept], pairs.score[kept])


def _synonym_settings(settings: Mapping[str, Any]) -> tuple[float, int]:
    """Return the similarity threshold and the number of synonyms a name; older indexes call them otherwise."""
    threshold = settings.get("synonym_threshold", settings.get("tau"))
    return float(threshold), int(settings.get("max_synonyms", settings.get("neighbours")))


def are_distinguishable(one: str, other: str) -> bool:
    """Return False for two names in a script without spaces that share no letter.

    An encoder that does not know such a script reads all its letters as one unknown word: any two names are equal.
    """
    if one.isascii() and other.isascii():
        return True
    letters = [{token.key for token in tokens(name) if len(token.key) == 1} for name in (one, other)]
    unspaced = any(not letter.isascii() for letter in letters[0] | letters[1])
    return not unspaced or bool(letters[0] & letters[1])


def is_comparable(name: str) -> bool:
    """Return whether a name can be compared by meaning: figures make different things look alike (1963 and 1964)."""
    if name.isascii():
        return _LETTER.search(name) is not None and _DIGIT.search(name) is None
    return any(letter.isalpha() for letter in name) and not any(letter.isdigit() for letter in name)


def _make_manifest(rows: "pa.Table", table: PassageTable, folder: Path) -> dict[str, Any]:
    pairs = zip(rows.column("document_id").to_pylist(), rows.column("document_hash").to_pylist(), strict=True)
    parts = sorted((id_, hash_) for id_, hash_ in table.document_hashes().items() if is_shard(hash_))
    documents = sorted(set(pairs))
    corpus = blake2b(
        "".join(f"{id_}\0{hash_}\0" for id_, hash_ in [*documents, *parts]).encode(), digest_size=16
    ).hexdigest()
    return {
        "recipe": SNAPSHOT_FORMAT,
        "lexical": BM25Index.fingerprint(),
        "settings": table.settings,
        "corpus": corpus,
        "documents": len(documents),
        "passages": rows.num_rows,
        "graphs": [asdict(graph) for graph in stored_graphs(table.iter_shards(["metadata"]))],
        "extractors": dict(sorted(Counter(rows.column("extractor").to_pylist()).items())),
        "failures": rows.num_rows - rows.column("failure").null_count,
        "files": _file_hashes(folder),
    }


def _write_manifest(manifest: dict[str, Any], folder: Path) -> None:
    text = json.dumps(
        {**manifest, CHECKSUM_KEY: _manifest_checksum(manifest)}, indent=1, sort_keys=True, ensure_ascii=False
    )
    (folder / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")


def _manifest_checksum(manifest: dict[str, Any]) -> str:
    return blake2b(json.dumps(manifest, sort_keys=True).encode(), digest_size=8).hexdigest()


def snapshot_problems(folder: Path) -> list[str]:
    """Return a line for each file of a snapshot that is missing, new, or not as it was written; [] for a clean one.

    A snapshot that was never made is no problem: it is made when it is asked for.
    """
    if not folder.is_dir():
        return []
    try:
        expected = read_manifest(folder)["files"]
        found = _file_hashes(folder)
    except IndexFormatError as error:
        return [str(error)]
    except OSError as error:
        return [f"{folder.name} cannot be read ({error}): run `clew repair`"]
    names = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    return [f"{folder.name}/{name} is not as it was written: run `clew repair`" for name in names]


def check_snapshot(folder: Path) -> None:
    """Read all files of a snapshot.

    Raises:
        IndexFormatError: One is not as it was written: a flipped bit would give wrong answers and no error.
    """
    if problems := snapshot_problems(folder):
        raise IndexFormatError(problems[0])


def _file_hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file under a folder but the manifest, by its relative name."""
    hashes: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != MANIFEST_FILE:
            with path.open("rb") as stream:
                hashes[name] = file_digest(stream, lambda: blake2b(digest_size=16)).hexdigest()
    return hashes


def _drop_old_snapshots(folder: Path) -> None:
    """Remove all snapshots but the newest two; who has one open keeps it, since its files stay mapped."""
    made = sorted(folder.parent.glob("[0-9]*"), key=lambda other: (other.stat().st_mtime_ns, other.name))
    for other in made[:-2]:
        if other != folder:
            with suppress(ProviderError):  # another process has removed it, or Windows has it open
                discard(other)
