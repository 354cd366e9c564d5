"""Segments after deletions: a segment of some of the passages of another, by array operations."""

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, IntArray, LongArray
from clew.graph.segments.segment import (
    Ragged,
    Segment,
    SegmentFacts,
    SegmentNames,
    SegmentPassages,
    SegmentTitles,
    SegmentTokens,
    Vocabulary,
)
from clew.indexing.segments.vocabularies import mark_used, row_positions, take, take_rows
from clew.text.bm25 import TermCounts


def select_rows(segment: Segment, kept: NDArray[np.integer]) -> Segment:
    """Return the segment of the passages at some positions, ascending: equal to one made of their rows alone.

    Vocabularies lose what no such passage uses, so that nothing of the others stays.
    """
    names, facts, titles = segment.names, segment.facts, segment.titles
    mentions, triples = take_rows(facts.mentions, kept), take_rows(facts.triples, kept)
    form_of_title, key_of_title = titles.forms[kept], titles.keys[kept]
    document_names, headings = take_rows(titles.names, kept), take_rows(titles.headings, kept)
    tokens = take_rows(segment.tokens.tokens, kept)
    forms, form = _compact(names.forms, mentions.values, triples.values[:, 0], triples.values[:, 2], form_of_title)
    form_keys = names.form_keys[form >= 0]
    keys, key = _compact(names.keys, form_keys, document_names.values, headings.values)
    key_tokens = take_rows(names.key_tokens, np.flatnonzero(key >= 0))
    words, word = _compact(segment.tokens.vocabulary, tokens.values, key_tokens.values)
    relations, relation = _compact(facts.relations, triples.values[:, 1])
    heads, codes, tails = triples.values.T
    return Segment(
        passages=_select_passages(segment.passages, kept),
        names=SegmentNames(forms, take(key, form_keys), keys, _renumber(key_tokens, word)),
        facts=SegmentFacts(
            _renumber(mentions, form),
            facts.mention_spans[row_positions(facts.mentions.indptr, kept)[1]],
            Ragged(triples.indptr, np.column_stack([form[heads], relation[codes], form[tails]])),
            relations,
        ),
        titles=SegmentTitles(
            take(key, key_of_title),
            take(form, form_of_title),
            _renumber(document_names, key),
            _renumber(headings, key),
            take_rows(titles.links, kept),
        ),
        tokens=SegmentTokens(
            words,
            _renumber(tokens, word),
            segment.tokens.flags[row_positions(segment.tokens.tokens.indptr, kept)[1]],
        ),
        terms=_select_terms(segment.terms, kept),
    )


def _compact(vocabulary: Vocabulary, *positions: NDArray[np.integer]) -> tuple[Vocabulary, IntArray]:
    """Return what is used of a vocabulary, and the new position of each text, -1 for those that are not."""
    used = mark_used(len(vocabulary), *positions)
    numbers = np.flatnonzero(used)
    return Vocabulary(vocabulary.hashes[numbers], vocabulary.texts.take(numbers)), _new_positions(used)


def _new_positions(used: BoolArray) -> IntArray:
    return np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)


def _renumber(lists: Ragged, new: IntArray) -> Ragged:
    return Ragged(lists.indptr, new[lists.values])


def _select_passages(passages: SegmentPassages, kept: NDArray[np.integer]) -> SegmentPassages:
    used = mark_used(len(passages.extractor_names), passages.extractors[kept])
    return SegmentPassages(
        ids=passages.ids.take(kept),
        document_ids=passages.document_ids.take(kept),
        titles=passages.titles.take(kept),
        texts=passages.texts.take(kept),
        metadata=passages.metadata.take(kept),
        ordinals=passages.ordinals[kept],
        starts=passages.starts[kept],
        ends=passages.ends[kept],
        document_hashes=passages.document_hashes.take(kept),
        document_id_hashes=passages.document_id_hashes[kept],
        document_rows=passages.document_rows[kept],
        failed=passages.failed[kept],
        extractor_names=passages.extractor_names.take(np.flatnonzero(used)),
        extractors=_new_positions(used)[passages.extractors[kept]],
        vectors=passages.vectors[kept],
    )


def _select_terms(terms: TermCounts, kept: NDArray[np.integer]) -> TermCounts:
    indptr, positions = row_positions(terms.indptr, kept)
    columns: LongArray = terms.terms[positions].astype(np.int64)
    used = mark_used(len(terms.hashes), columns)
    return TermCounts(
        terms.hashes[used], indptr, _new_positions(used)[columns], terms.counts[positions], terms.lengths[kept]
    )
