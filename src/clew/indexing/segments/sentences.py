"""The sentences of the passages of a segment: their spans, terms and mentions, by array operations."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.csr import row_pointers
from clew.graph.segments.segment import Ragged, SegmentSentences
from clew.indexing.segments.word_counts import WordTerms
from clew.store.schema import SENTENCE_COLUMNS
from clew.text.sentences import passage_sentence_spans
from clew.text.token_arrays import TokenArrays


def read_sentences(
    rows: pa.Table, words: TokenArrays, terms: WordTerms, mentions: pa.StructArray, passages: LongArray
) -> SegmentSentences:
    """Return the sentences of p passages: those that rows of the table have, else those of their texts.

    `mentions` (m) are given flat, with the passage (m,) of each.
    """
    texts = rows["text"].to_pylist()
    spans, vectors = _stored_sentences(rows, texts)
    count = len(spans.values)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    offsets = np.cumsum(lengths + 1) - lengths
    passage_of_sentence = np.repeat(np.arange(len(texts)), np.diff(spans.indptr))
    starts = spans.values[:, 0] + offsets[passage_of_sentence]
    word_starts = words.starts + np.repeat(offsets, np.diff(words.indptr))
    first_tokens = np.searchsorted(word_starts, starts) - words.indptr[passage_of_sentence]
    sentence_of_word = np.searchsorted(starts, word_starts, "right") - 1
    size = max(len(terms.bridging), 1)
    entries = np.unique(sentence_of_word[terms.words] * size + terms.terms)
    sentences, found = np.divmod(entries, size)
    return SegmentSentences(
        spans=spans,
        first_tokens=first_tokens.astype(np.int32),
        mentions=_sentences_of_mentions(mentions, passages, spans.indptr, starts, offsets, lengths),
        terms=Ragged(row_pointers(sentences, count), found.astype(np.int32)),
        bridging=terms.bridging,
        vectors=vectors,
    )


def _stored_sentences(rows: pa.Table, texts: Sequence[str]) -> tuple[Ragged, NDArray[np.int8]]:
    """Return the spans of sentences, and their vectors, zeros for those of a passage without any.

    Spans are stored with vectors, which fit no others: another version of Clew may split a text otherwise.
    """
    if SENTENCE_COLUMNS[0] not in rows.column_names:
        spans = _join_spans([passage_sentence_spans(text) for text in texts])
        return spans, np.zeros((len(spans.values), 0), dtype=np.int8)
    stored, codes = (rows[name].to_pylist() for name in SENTENCE_COLUMNS)
    spans = _join_spans(
        [
            passage_sentence_spans(text) if own is None else list(zip(own[::2], own[1::2], strict=True))
            for own, text in zip(stored, texts, strict=True)
        ]
    )
    vectors = np.zeros((len(spans.values), rows.schema.field("vector").type.list_size), dtype=np.int8)
    for row, own in enumerate(codes):
        if own is not None:
            place = slice(int(spans.indptr[row]), int(spans.indptr[row + 1]))
            vectors[place] = np.frombuffer(own, dtype=np.int8).reshape(-1, vectors.shape[1])
    return spans, vectors


def _join_spans(spans: Sequence[Sequence[tuple[int, int]]]) -> Ragged:
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in spans])]).astype(np.int64)
    values = np.array([span for own in spans for span in own], dtype=np.int32).reshape(-1, 2)
    return Ragged(indptr, values)


def _sentences_of_mentions(
    mentions: pa.StructArray,
    passages: LongArray,
    indptr: LongArray,
    starts: NDArray[np.integer],
    offsets: LongArray,
    lengths: LongArray,
) -> IntArray:
    """Return for each mention the last sentence of its passage that starts at or before it, -1 for none."""
    places = mentions.field("start").to_numpy().astype(np.int64)
    found = np.searchsorted(starts, np.minimum(places, lengths[passages]) + offsets[passages], "right") - 1
    found -= indptr[passages]
    return np.where((places >= 0) & (found >= 0), found, -1).astype(np.int32)
