"""Segments after deletions: a segment of some of the passages of another, by array operations."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.segments.segment import (
    Ragged,
    Segment,
    SegmentFacts,
    SegmentNames,
    SegmentPassages,
    SegmentSentences,
    SegmentTitles,
    SegmentTokens,
)
from clew.graph.string_array import StringArray
from clew.indexing.segments.vocabularies import compact, mark_used, new_positions, row_positions, take, take_rows
from clew.text.bm25 import TermCounts


def select_rows(segment: Segment, positions: NDArray[np.integer]) -> Segment:
    """Return the segment of the passages at positions (n,), ascending: equal to one made of their rows alone.

    Vocabularies lose what no such passage uses, so that nothing of the others stays.
    """
    names, facts, titles = segment.names, segment.facts, segment.titles
    mentions, triples = take_rows(facts.mentions, positions), take_rows(facts.triples, positions)
    form_of_title, key_of_title = titles.forms[positions], titles.keys[positions]
    document_names, headings = take_rows(titles.names, positions), take_rows(titles.headings, positions)
    tokens = take_rows(segment.tokens.tokens, positions)
    forms, form = compact(names.forms, mentions.values, triples.values[:, 0], triples.values[:, 2], form_of_title)
    form_keys = names.form_keys[form >= 0]
    keys, key = compact(names.keys, form_keys, document_names.values, headings.values)
    key_tokens = take_rows(names.key_tokens, np.flatnonzero(key >= 0))
    words, word = compact(segment.tokens.vocabulary, tokens.values, key_tokens.values)
    relations, relation = compact(facts.relations, triples.values[:, 1])
    heads, codes, tails = triples.values.T
    return Segment(
        passages=_select_passages(segment.passages, positions),
        names=SegmentNames(forms, take(key, form_keys), keys, _renumber(key_tokens, word)),
        facts=SegmentFacts(
            _renumber(mentions, form),
            facts.mention_spans[row_positions(facts.mentions.indptr, positions)[1]],
            Ragged(triples.indptr, np.column_stack([form[heads], relation[codes], form[tails]])),
            relations,
        ),
        titles=SegmentTitles(
            take(key, key_of_title),
            take(form, form_of_title),
            _renumber(document_names, key),
            _renumber(headings, key),
            take_rows(titles.links, positions),
        ),
        tokens=SegmentTokens(
            words,
            _renumber(tokens, word),
            segment.tokens.flags[row_positions(segment.tokens.tokens.indptr, positions)[1]],
        ),
        terms=_select_terms(segment.terms, positions),
        sentences=_select_sentences(segment, positions),
    )


def _renumber(lists: Ragged, new: IntArray) -> Ragged:
    return Ragged(lists.indptr, new[lists.values])


def _select_passages(passages: SegmentPassages, positions: NDArray[np.integer]) -> SegmentPassages:
    used = mark_used(len(passages.extractor_names), passages.extractors[positions])
    columns = {field.name: getattr(passages, field.name) for field in fields(passages)}
    rows: dict[str, Any] = {
        name: column.take(positions) if isinstance(column, StringArray) else column[positions]
        for name, column in columns.items()
        if name != "extractor_names"
    }
    rows["extractors"] = new_positions(used)[rows["extractors"]]
    return SegmentPassages(**rows, extractor_names=passages.extractor_names.take(np.flatnonzero(used)))


def _select_terms(terms: TermCounts, positions: NDArray[np.integer]) -> TermCounts:
    indptr, entries = row_positions(terms.indptr, positions)
    columns: LongArray = terms.terms[entries].astype(np.int64)
    used = mark_used(len(terms.hashes), columns)
    return TermCounts(
        terms.hashes[used], indptr, new_positions(used)[columns], terms.counts[entries], terms.lengths[positions]
    )


def _select_sentences(segment: Segment, positions: NDArray[np.integer]) -> SegmentSentences:
    sentences = segment.sentences
    indptr, chosen = row_positions(sentences.spans.indptr, positions)
    used = mark_used(len(segment.terms.hashes), segment.terms.terms[row_positions(segment.terms.indptr, positions)[1]])
    return SegmentSentences(
        spans=Ragged(indptr, sentences.spans.values[chosen]),
        first_tokens=sentences.first_tokens[chosen],
        mentions=sentences.mentions[row_positions(segment.facts.mentions.indptr, positions)[1]],
        terms=_renumber(take_rows(sentences.terms, chosen), new_positions(used)),
        bridging=sentences.bridging[used],
        vectors=sentences.vectors[chosen],
    )
