"""From the table of passages to the snapshot of one version, kept on disk beside it.

A snapshot is made once a version and build recipe, in a temporary folder that is renamed into place, so a reader finds
a whole one or none. Its manifest names everything it depends on, and the hash of every file; equal contents give equal
bytes, whatever the order in which they came.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.assemble import LEXICAL
from clew.errors import IndexFormatError
from clew.graph.build import PassageColumns, build, with_equivalences
from clew.graph.snapshot import Snapshot, save_snapshot
from clew.indexing.facts import corpus_facts
from clew.indexing.known_pairs import load_known, save_known
from clew.indexing.resolution import equivalences
from clew.indexing.titles import NamedText
from clew.lexical import LexicalIndex
from clew.protocols import Encoder
from clew.store.derived import atomic_folder, folder_hash
from clew.store.table import PassageTable
from clew.store.vectors import VectorStore
from clew.types import Extraction, Mention

if TYPE_CHECKING:
    import pyarrow as pa

    from clew.types import FloatArray

RECIPE = "snapshot-1"
MANIFEST = "manifest.json"
Progress = Callable[[str, int, int], None]
"""Told the stage, and how much of how much is done."""


def snapshot_folder(table: PassageTable) -> Path:
    """Return where the snapshot of the table's version lies, made or not."""
    recipe = blake2b(f"{RECIPE} {LexicalIndex.fingerprint()}".encode(), digest_size=4).hexdigest()
    return table.location.derived / "snapshots" / f"{table.version:08d}-{recipe}"


def ensure_snapshot(table: PassageTable, encoder: Encoder, progress: Progress) -> Path:
    """Return the folder of the version's snapshot, making it where it is missing.

    Args:
        table: The version to be read.
        encoder: The index's; dimension 0 makes no equivalences.
        progress: Told of the entity names encoded.
    """
    folder = snapshot_folder(table)
    if not (folder / MANIFEST).is_file():
        rows = table.read()
        progress("linking", 0, rows.num_rows)
        snapshot = _build(rows, table.dimension)
        snapshot = _resolve(snapshot, table, encoder, progress)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic_folder(folder) as temporary:
            save_snapshot(snapshot, temporary)
            texts = (f"{title}\n{text}" for title, text in zip(snapshot.titles, snapshot.texts, strict=True))
            LexicalIndex.build(texts).save(temporary / LEXICAL)
            manifest = json.dumps(_manifest(rows, table, temporary), indent=1, sort_keys=True, ensure_ascii=False)
            (temporary / MANIFEST).write_text(manifest + "\n", encoding="utf-8")
        _drop_older(folder)
    return folder


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what a snapshot was made from, and the hashes of its files.

    Raises:
        IndexFormatError: It is missing or damaged.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"the manifest of a snapshot is missing or damaged ({error})"
        raise IndexFormatError(f"{message}: run `clew repair`") from error
    return manifest


def named_texts(rows: "pa.Table") -> list[NamedText]:
    """Return the passages of a table as far as names matter, in the order of the rows."""
    names = ("document_id", "title", "text", "aliases", "links", "ordinal")
    columns = [rows.column(name).to_pylist() for name in names]
    return [NamedText(d, t, x, a, li, o == 0) for d, t, x, a, li, o in zip(*columns, strict=True)]


def extractions(rows: "pa.Table") -> list[Extraction]:
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


def _build(rows: "pa.Table", dimension: int) -> Snapshot:
    corpus = corpus_facts(named_texts(rows), extractions(rows))
    names = ("id", "document_id", "title", "text", "metadata", "start", "end")
    columns = PassageColumns(*(rows.column(name).to_pylist() for name in names), vectors=_vectors(rows, dimension))
    return build(columns, corpus.facts, corpus.surfaces, corpus.names)


def _vectors(rows: "pa.Table", dimension: int) -> "FloatArray":
    if not dimension:
        return np.zeros((rows.num_rows, 0), dtype=np.float32)
    flat = rows.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float32).reshape(rows.num_rows, dimension)


def _resolve(snapshot: Snapshot, table: PassageTable, encoder: Encoder, progress: Progress) -> Snapshot:
    """Add the edges between entities whose names mean the same to the encoder."""
    first: dict[str, int] = {}
    for position, name in enumerate(snapshot.entities):
        if comparable(name):
            first.setdefault(name, position)
    if not encoder.dimension or not first:
        return snapshot
    derived = table.location.derived
    names, entity = list(first), np.array(list(first.values()))
    done = 0

    def encoded(count: int) -> None:
        nonlocal done
        done += count
        progress("encoding names", done, len(names))

    vectors = VectorStore(derived / "vectors.lance").get_or_encode(names, encoder, encoded)
    progress("comparing names", 0, len(names))
    before = derived / "equivalences"
    known = load_known(before) if before.is_dir() else None
    pairs = equivalences(names, vectors, float(table.settings["tau"]), int(table.settings["neighbours"]), known)
    with atomic_folder(before) as temporary:
        save_known(pairs.known, temporary)
    return with_equivalences(snapshot, entity[pairs.left], entity[pairs.right], pairs.score)


def comparable(name: str) -> bool:
    """True for names that can be compared by meaning: figures make different things look alike (1963 and 1964)."""
    return any(letter.isalpha() for letter in name) and not any(letter.isdigit() for letter in name)


def _manifest(rows: "pa.Table", table: PassageTable, folder: Path) -> dict[str, Any]:
    pairs = zip(rows.column("document_id").to_pylist(), rows.column("document_hash").to_pylist(), strict=True)
    documents = sorted(set(pairs))
    corpus = blake2b("".join(f"{id_}\0{hash_}\0" for id_, hash_ in documents).encode(), digest_size=16).hexdigest()
    return {
        "recipe": RECIPE,
        "lexical": LexicalIndex.fingerprint(),
        "settings": table.settings,
        "corpus": corpus,
        "documents": len(documents),
        "passages": rows.num_rows,
        "extractors": dict(sorted(Counter(rows.column("extractor").to_pylist()).items())),
        "failures": rows.num_rows - rows.column("failure").null_count,
        "files": folder_hash(folder),
    }


def _drop_older(folder: Path) -> None:
    """Remove all snapshots but the newest two; who has one open keeps it, since its files stay mapped."""
    made = sorted(other for other in folder.parent.iterdir() if other.is_dir() and not other.name.startswith("."))
    for other in made[:-2]:
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
