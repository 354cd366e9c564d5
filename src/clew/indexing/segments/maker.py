"""Making of segments: what the passages of one fragment give on their own, from the rows of the table.

Each text is read once, and each distinct word and name; all else is array operations.

The sentences of the passages of a segment: their spans, terms and mentions, by array operations.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from clew.arrays import FloatArray, IntArray, LongArray, sort_distinct
from clew.graph.csr import row_pointers
from clew.graph.segments.segment import (
    Ragged,
    Segment,
    SegmentFacts,
    SegmentNames,
    SegmentPassages,
    SegmentSentences,
    SegmentTokens,
    Vocabulary,
)
from clew.graph.string_array import StringArray
from clew.indexing.extraction.rule_based import DEFAULT_RELATION
from clew.indexing.segments.names import PassageNames, list_lengths, read_names, use_full_names
from clew.indexing.segments.vocabularies import (
    Numbering,
    WordTerms,
    count_words,
    from_arrow,
    make_ragged,
    make_vocabulary,
    mark_used,
)
from clew.store.schema import SENTENCE_COLUMNS
from clew.text.normalization import fold
from clew.text.page_text import blank_unread
from clew.text.places import stored_titles
from clew.text.sentences import passage_sentence_spans
from clew.text.token_arrays import TokenArrays, TokenReader, key_hashes


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
    entries = sort_distinct(sentence_of_word[terms.words] * size + terms.terms)
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
        spans = _join_spans([passage_sentence_spans(blank_unread(text)) for text in texts])
        return spans, np.zeros((len(spans.values), 0), dtype=np.int8)
    stored, codes = (rows[name].to_pylist() for name in SENTENCE_COLUMNS)
    spans = _join_spans(
        [
            passage_sentence_spans(blank_unread(text)) if own is None else list(zip(own[::2], own[1::2], strict=True))
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


def make_segment(rows: pa.Table, dimension: int, salt: int = 0) -> Segment:
    """Return the segment of p passages.

    Args:
        rows: The columns of `clew.store.schema.passages_schema` and `document_rows`, in any order, without shards of
            graphs.
        dimension: The width of the vectors, 0 for none.
        salt: Of the hashes.

    Raises:
        CollisionError: Two names, words or relations have one hash under this salt.
    """
    rows = use_full_names(rows.take(pc.sort_indices(rows["id"])).combine_chunks())
    texts = rows["text"].to_pylist()
    reader = TokenReader()
    titles = reader.read(stored_titles(rows["title"].to_pylist(), texts, rows["metadata"].to_pylist()))
    words = reader.read(list(map(blank_unread, texts)))
    mentions, triples = (rows[name].combine_chunks().flatten() for name in ("mentions", "triples"))
    names = read_names(rows, mentions, triples, salt)
    numbers = Numbering()
    written = reader.words
    word_keys = np.array([numbers[fold(word)] for word in written], dtype=np.int32)
    counted = count_words(titles, words, written, word_keys, list(numbers))
    key_words = make_ragged([[numbers[word] for word in key.split(" ")] for key in names.keys.texts])
    tokens = word_keys[words.words]
    passages = np.repeat(np.arange(len(texts)), list_lengths(rows["mentions"]))
    vocabulary, position = make_vocabulary(list(numbers), salt, mark_used(len(numbers), tokens, key_words.values))
    return Segment(
        passages=_passage_columns(rows, dimension, salt),
        names=SegmentNames(
            names.forms, names.form_keys, names.keys, Ragged(key_words.indptr, position[key_words.values])
        ),
        facts=_facts(rows, mentions, triples, names, words, texts, salt),
        titles=names.titles,
        tokens=SegmentTokens(vocabulary, Ragged(words.indptr, position[tokens]), words.flags),
        terms=counted.counts,
        sentences=read_sentences(rows, words, counted.in_texts, mentions, passages),
    )


def _facts(
    rows: pa.Table,
    mentions: pa.StructArray,
    triples: pa.StructArray,
    names: PassageNames,
    words: TokenArrays,
    texts: list[str],
    salt: int,
) -> SegmentFacts:
    mention_counts = list_lengths(rows["mentions"])
    relations, codes = _relations(triples.field("relation"), salt)
    return SegmentFacts(
        Ragged(_pointers(mention_counts), names.mentions),
        _mention_spans(mentions, np.repeat(np.arange(len(texts)), mention_counts), words, texts),
        Ragged(_pointers(list_lengths(rows["triples"])), np.column_stack([names.heads, codes, names.tails])),
        relations,
    )


def _relations(column: pa.StringArray, salt: int) -> tuple[Vocabulary, IntArray]:
    encoded = column.dictionary_encode()
    numbers = Numbering()
    distinct = [numbers[text.strip() or DEFAULT_RELATION] for text in encoded.dictionary.to_pylist()]
    relations, position = make_vocabulary(list(numbers), salt)
    return relations, position[np.array(distinct, dtype=np.int32)[encoded.indices.to_numpy()]]


def _mention_spans(mentions: pa.StructArray, passages: LongArray, words: TokenArrays, texts: list[str]) -> IntArray:
    """Return for each mention the last word that starts at or before it and the first that ends at or after it."""
    starts, ends = (mentions.field(name).to_numpy().astype(np.int64) for name in ("start", "end"))
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    offsets = np.cumsum(lengths + 1) - lengths
    of_word = np.repeat(offsets, np.diff(words.indptr))
    low, high = words.indptr[:-1][passages], words.indptr[1:][passages]
    first = np.searchsorted(words.starts + of_word, np.minimum(starts, lengths[passages]) + offsets[passages], "right")
    last = np.searchsorted(words.ends + of_word, np.clip(ends, 0, lengths[passages] + 1) + offsets[passages])
    spans = np.column_stack([np.maximum(first, low) - low - 1, np.clip(last, low, high) - low])
    spans[starts < 0, 0] = -1
    return spans.astype(np.int32)


def _passage_columns(rows: pa.Table, dimension: int, salt: int) -> SegmentPassages:
    extractors = rows["extractor"].combine_chunks().dictionary_encode()
    names = extractors.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    documents = rows["document_id"].combine_chunks().dictionary_encode()
    strings = {
        name: from_arrow(rows[name].combine_chunks())
        for name in ("id", "document_id", "title", "text", "metadata", "document_hash")
    }
    return SegmentPassages(
        ids=strings["id"],
        document_ids=strings["document_id"],
        titles=strings["title"],
        texts=strings["text"],
        metadata=strings["metadata"],
        ordinals=rows["ordinal"].to_numpy().astype(np.int32),
        starts=rows["start"].to_numpy().astype(np.int64),
        ends=rows["end"].to_numpy().astype(np.int64),
        document_hashes=strings["document_hash"],
        document_id_hashes=key_hashes(documents.dictionary.to_pylist(), salt)[documents.indices.to_numpy()],
        document_rows=rows["document_rows"].to_numpy().astype(np.int32),
        failed=pc.is_valid(rows["failure"]).to_numpy(),
        extractor_names=StringArray.pack(sorted(names)),
        extractors=rank[extractors.indices.to_numpy()],
        vectors=_vectors(rows, dimension),
    )


def _vectors(rows: pa.Table, dimension: int) -> FloatArray:
    """Return the vectors (p, dimension), zeros for a passage without one."""
    vectors = np.zeros((rows.num_rows, dimension), dtype=np.float32)
    if dimension:
        column = rows["vector"].combine_chunks()
        vectors[column.is_valid().to_numpy(zero_copy_only=False)] = (
            column.flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension)
        )
    return vectors


def _pointers(counts: IntArray) -> LongArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
