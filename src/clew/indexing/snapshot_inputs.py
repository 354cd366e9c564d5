"""All that a snapshot depends on, as its manifest states it."""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.graph.segments.segment import Segment
from clew.graph.string_array import StringArray
from clew.store.kg_shards import stored_graphs
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import SNAPSHOT_FORMAT
from clew.text.bm25 import BM25Index


def describe_inputs(segments: Sequence[Segment], table: PassageTable) -> dict[str, Any]:
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
