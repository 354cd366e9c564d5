"""The sentences of the passages of a segment: their spans, terms and mentions, by array operations."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.csr import row_pointers
from clew.graph.segments.segment import Ragged, SegmentSentences
from clew.indexing.segments.word_counts import WordTerms
from clew.text.sentences import passage_sentence_spans
from clew.text.token_arrays import TokenArrays


def read_sentences(
    texts: Sequence[str], words: TokenArrays, terms: WordTerms, mentions: pa.StructArray, passages: LongArray
) -> SegmentSentences:
    """Return the sentences of p texts, without vectors.

    `mentions` (m) are given flat, with the passage (m,) of each.
    """
    spans = split_passages(texts)
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
        vectors=np.zeros((count, 0), dtype=np.int8),
    )


def split_passages(texts: Sequence[str]) -> Ragged:
    """Return for each text the spans of its sentences in an index."""
    spans = [passage_sentence_spans(text) for text in texts]
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
