"""New vectors for the stored passages, by another encoder; what was extracted from them stays.

Vectors are staged in files beside the index, one for each block of rows, so that a run that was stopped goes on. Then
all rows are written with them, and one commit changes vectors and settings; readers keep the version before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray
from clew.errors import ProviderError
from clew.indexing.batches import encode_passages
from clew.indexing.sentence_vectors import encode_with_sentences
from clew.protocols import Encoder
from clew.store.array_file import file_problem, map_arrays, write_arrays
from clew.store.atomic import discard
from clew.store.passage_table import PassageTable
from clew.store.rewriting import BlockVectors, TableRewriter, is_passage
from clew.store.schema import SENTENCES, RowSentences, has_sentence_vectors
from clew.store.weights_io import adapted_weights_folder, read_encoder_fingerprint
from clew.text.places import stored_titles
from clew.types import Progress

_FOLDER = "reencoding"


@dataclass(slots=True)
class ReencodingReport:
    """Result of a change of encoder."""

    passages: int = 0  # passages that have vectors of the new encoder
    is_unchanged: bool = False  # whether they had them before
    staged: int = 0  # of those, passages whose vectors an earlier run that was stopped had made
    unfitting_weights: list[Path] = field(default_factory=list)  # folders of weights adapted to the old vectors
    seconds: float = 0.0


def reencode(
    table: PassageTable, encoder: Encoder, progress: Progress, sentences: str | None = None
) -> tuple[PassageTable, ReencodingReport]:
    """Return the table at a new version with the vectors of an encoder, and a report.

    `sentences` is "vectors" or "none", whether sentences get vectors too; None for as it was. A table that has all this
    already stays at its version. Progress is called with the number of passages.
    """
    report = ReencodingReport(unfitting_weights=_unfitting_weights(table, encoder))
    settings = _new_settings(table.settings, encoder, sentences)
    if settings == table.settings:
        report.passages, report.is_unchanged = table.count_rows(), True
        return table, report
    rewriter = TableRewriter(table)
    with_sentences = has_sentence_vectors(settings, encoder.dimension)
    source = f"{encoder.name}\0{encoder.fingerprint}\0{with_sentences}"
    name = blake2b(source.encode(), digest_size=8).hexdigest()
    folder = table.location.derived / _FOLDER / name
    total = table.count_rows()
    for block in rewriter.blocks(["title", "text", "metadata", "extractor"]) if encoder.dimension else ():
        passages = np.array(is_passage(block.rows), dtype=np.bool_)
        file = folder / f"{block.key}.safetensors"
        if file.is_file() and file_problem(file) is None:
            report.staged += int(passages.sum())
        else:
            titles, texts, metadata = (block.rows[name].to_pylist() for name in ("title", "text", "metadata"))
            read = zip(stored_titles(titles, texts, metadata), texts, strict=True)
            chosen = [text for text, wanted in zip(read, passages.tolist(), strict=True) if wanted]
            write_arrays(file, _encode_block(encoder, chosen, passages, with_sentences=with_sentences))
        report.passages += int(passages.sum())
        progress("encoding", report.passages, total)

    def read_vectors(key: str) -> BlockVectors:
        return _read_block(map_arrays(folder / f"{key}.safetensors"))

    report.passages = total
    changed = rewriter.with_vectors(settings, encoder.dimension, read_vectors)
    if folder.parent.is_dir():
        discard(folder.parent)
    return changed, report


def _encode_block(
    encoder: Encoder, chosen: Sequence[tuple[str, str]], passages: BoolArray, *, with_sentences: bool
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a block's file; `passages` tells which of its rows are the chosen titles and texts."""
    vectors = np.zeros((len(passages), encoder.dimension), dtype=np.float32)
    if not with_sentences:
        if chosen:
            vectors[passages] = encode_passages(encoder, chosen)
        return {"vectors": vectors}
    encoded = encode_with_sentences(encoder, chosen)
    if chosen:
        vectors[passages] = encoded.vectors
    none = RowSentences(np.zeros((0, 2), dtype=np.int32), np.zeros((0, encoder.dimension), dtype=np.int8))
    counts = np.full(len(passages), -1, dtype=np.int32)
    counts[passages] = [len(own.spans) for own in encoded.sentences]
    return {
        "vectors": vectors,
        "sentence_counts": counts,
        "sentence_spans": np.concatenate([none.spans, *(own.spans for own in encoded.sentences)]),
        "sentence_vectors": np.concatenate([none.vectors, *(own.vectors for own in encoded.sentences)]),
    }


def _read_block(arrays: Mapping[str, NDArray[Any]]) -> BlockVectors:
    sentences: list[RowSentences | None] = []
    first = 0
    for count in arrays.get("sentence_counts", np.zeros(0, dtype=np.int32)).tolist():
        place = slice(first, first + max(count, 0))
        own = RowSentences(arrays["sentence_spans"][place], arrays["sentence_vectors"][place])
        sentences.append(None if count < 0 else own)
        first = place.stop
    return BlockVectors(arrays["vectors"], sentences)


def _new_settings(settings: Mapping[str, Any], encoder: Encoder, sentences: str | None) -> dict[str, Any]:
    changes = {"encoder": encoder.name, "encoder_fingerprint": encoder.fingerprint}
    return {**settings, **changes, **({} if sentences is None else {SENTENCES: sentences})}


def _unfitting_weights(table: PassageTable, encoder: Encoder) -> list[Path]:
    """Return the folders of weights that were adapted to an index, and that do not read vectors of an encoder."""
    root = adapted_weights_folder(table.location.derived, "gfm").parent
    found: list[Path] = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        try:
            fits = read_encoder_fingerprint(folder) == encoder.fingerprint
        except ProviderError:
            fits = True  # not weights, or damaged ones, which `clew verify` reports
        if not fits:
            found.append(folder)
    return found
