"""Passages and sentences of all segments in the order of the snapshot, ascending by id of the passage.

A sentence names the entities of the mentions that start in it, of the titles matched there, and of its passage's title.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray, expand_ranges
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency, unweighted_rows
from clew.graph.segments.segment import Ragged, Segment
from clew.graph.sentence_index import (
    MAX_BRIDGE_PASSAGES,
    MAX_TERM_PASSAGES,
    MIN_ENTITY_PASSAGES,
    MIN_TERM_PASSAGES,
    SentenceRows,
)
from clew.graph.string_array import StringArray, take_strings
from clew.indexing.merging.passage_facts import PassageFacts
from clew.indexing.merging.title_matches import TitleMatches, is_inside_match
from clew.indexing.merging.title_names import TitleNames
from clew.indexing.merging.vocabularies import positions_of_hashes, union_of_hashes
from clew.indexing.merging.workspace import Workspace
from clew.indexing.segments.store import read_parts
from clew.indexing.segments.vocabularies import rank_strings

_INSERTION_LIMIT = 32


def order_mentions(
    facts: Sequence[PassageFacts], positions: Sequence[IntArray], entity_of_key: IntArray, count: int
) -> Adjacency:
    """Return the entities that each of `count` passages mentions, ascending, with their weights.

    `positions` are for each segment those (p,) of its passages in the snapshot; `entity_of_key` (k,) is the entity of
    each of the joined keys.
    """
    indptr = _row_pointers([f.mention_indptr for f in facts], positions, count)
    indices = np.empty(int(indptr[-1]), dtype=np.int32)
    weights: FloatArray = np.empty(int(indptr[-1]), dtype=np.float32)
    for own, position in zip(facts, positions, strict=True):
        _write_mentions(
            own.mention_indptr, own.mentioned, own.weights, position, entity_of_key, indptr, indices, weights
        )
    return Adjacency(indptr, indices, weights)


def order_triples(
    facts: Sequence[PassageFacts],
    positions: Sequence[IntArray],
    entity_of_key: IntArray,
    relation_numbers: IntArray,
    imported: int,
    count: int,
) -> tuple[IntArray, IntArray]:
    """Return triples (t, 3) of entities and relations, and the passages (t,) that state them, ascending.

    After them is room for `imported` triples of imported graphs, with the passage -1. Positions (p,) and entities (k,)
    are as in `order_mentions`; `relation_numbers` (r,) are those of the relations of all segments in the snapshot.
    """
    indptr = _row_pointers([f.triple_indptr for f in facts], positions, count)
    stated = int(indptr[-1])
    triples = np.empty((stated + imported, 3), dtype=np.int32)
    passages = np.full(len(triples), -1, dtype=np.int32)
    for own, position in zip(facts, positions, strict=True):
        _write_triples(
            own.triple_indptr, own.triples, position, entity_of_key, relation_numbers, indptr, triples, passages
        )
    return triples, passages


def _row_pointers(parts: Sequence[LongArray], positions: Sequence[IntArray], count: int) -> LongArray:
    sizes = np.zeros(count + 1, dtype=np.int64)
    for indptr, position in zip(parts, positions, strict=True):
        sizes[position + 1] = np.diff(indptr)
    return np.cumsum(sizes)


@njit
def _write_mentions(  # type: ignore[no-untyped-def]
    own_indptr, keys, own_weights, positions, entity_of_key, indptr, indices, weights
):
    for row in range(len(positions)):
        begin = indptr[positions[row]]
        source = own_indptr[row]
        size = own_indptr[row + 1] - source
        if size > _INSERTION_LIMIT:
            entities = entity_of_key[keys[source : source + size]]
            order = np.argsort(entities)  # they are distinct
            for i in range(size):
                indices[begin + i] = entities[order[i]]
                weights[begin + i] = own_weights[source + order[i]]
            continue
        for i in range(size):
            entity, weight = entity_of_key[keys[source + i]], own_weights[source + i]
            j = begin + i
            while j > begin and indices[j - 1] > entity:
                indices[j], weights[j] = indices[j - 1], weights[j - 1]
                j -= 1
            indices[j], weights[j] = entity, weight


@njit
def _write_triples(  # type: ignore[no-untyped-def]
    own_indptr, own_triples, positions, entity_of_key, relation_numbers, indptr, triples, passages
):
    for row in range(len(positions)):
        to = indptr[positions[row]]
        for i in range(own_indptr[row], own_indptr[row + 1]):
            triples[to, 0] = entity_of_key[own_triples[i, 0]]
            triples[to, 1] = relation_numbers[own_triples[i, 1]]
            triples[to, 2] = entity_of_key[own_triples[i, 2]]
            passages[to] = positions[row]
            to += 1


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassageOrder:
    """The P passages of all segments."""

    ids: StringArray  # P, ascending
    places: LongArray  # (P,) number of the segment << 32 | row in it
    positions: Sequence[IntArray]  # for each segment the position of each of its rows among the P


def order_passages(segments: Sequence[Segment]) -> PassageOrder:
    """Return the order of the passages of segments."""
    sizes = [len(segment) for segment in segments]
    bounds = np.cumsum([0, *sizes])
    places = np.concatenate(
        [np.zeros(0, dtype=np.int64), *(number << 32 | np.arange(size) for number, size in enumerate(sizes))]
    )
    if len(segments) == 1:
        return PassageOrder(segments[0].passages.ids, places, [np.arange(sizes[0], dtype=np.int32)])
    joined = _concatenate([segment.passages.ids for segment in segments])
    ranks = rank_strings(joined)
    order, positions = np.argsort(ranks), ranks.astype(np.int32)
    return PassageOrder(take_strings(joined, order), places[order], np.split(positions, bounds[1:])[:-1])


def _concatenate(parts: Sequence[StringArray]) -> StringArray:
    if not parts:
        return StringArray.pack(())
    bytes_before = np.cumsum([0, *(part.offsets[-1] for part in parts)])
    offsets = [part.offsets[:-1] + before for part, before in zip(parts, bytes_before[:-1], strict=True)]
    return StringArray(np.concatenate([part.data for part in parts]), np.concatenate([*offsets, bytes_before[-1:]]))


def name_sentences(
    segment: Segment,
    own_titles: IntArray,
    form_keys: IntArray,
    matches: TitleMatches,
    targets: Ragged,
    titles: TitleNames,
    meanings: LongArray,
    entity_of_key: IntArray,
) -> Ragged:
    """Return the entities (s lists, ascending and distinct) of each sentence of a segment.

    `own_titles` (p,) are the keys of its passages' titles and `form_keys` (f,) those of its forms, -1 for none,
    `targets` the titles of the names in its matches, `meanings` (k,) how many keys each key may mean, and
    `entity_of_key` (k,) the entity of each.
    """
    facts, sentences = segment.facts, segment.sentences
    form_sizes = np.where(form_keys >= 0, meanings[form_keys], 0)
    matched = int(np.diff(targets.indptr)[matches.names].sum())
    capacity = int(form_sizes.max(initial=0)) * len(facts.mentions.values) + matched
    indptr, entities = _name_sentences(
        sentences.spans.indptr, sentences.first_tokens, sentences.mentions,
        facts.mentions.indptr, facts.mentions.values, facts.mention_spans, own_titles, form_keys,
        titles.single, titles.ambiguous.indptr, titles.ambiguous.values,
        matches.indptr, matches.first, matches.last, matches.names,
        targets.indptr, targets.values, entity_of_key, capacity + len(sentences.first_tokens),
    )  # fmt: skip
    return Ragged(indptr, entities)


def merge_sentences(
    segments: Sequence[Segment],
    positions: Sequence[IntArray],
    entities: Sequence[Ragged],
    entity_passages: LongArray,
    space: Workspace,
) -> SentenceRows:
    """Return the sentences of P passages in their order.

    Args:
        segments: The segments.
        positions: For each segment the position of each of its passages among the P.
        entities: For each segment the entities of each of its sentences.
        entity_passages: (E,) the number of passages that mention each entity.
        space: Keeps what is finished.
    """
    count = sum(map(len, segments))
    offsets = np.zeros(count + 1, dtype=np.int64)
    for segment, position in zip(segments, positions, strict=True):
        offsets[position + 1] = np.diff(segment.sentences.spans.indptr)
    np.cumsum(offsets, out=offsets)
    targets = [
        _positions_of_sentences(segment.sentences.spans.indptr, position, offsets)
        for segment, position in zip(segments, positions, strict=True)
    ]
    named = space.keep(_order_rows(entities, targets, int(offsets[-1])))
    del entities
    bridges = space.keep(join_by_entities(named, entity_passages))
    vocabulary = union_of_hashes(read_parts(segments, lambda segment: segment.terms.hashes))
    columns = [positions_of_hashes(vocabulary, segment.terms.hashes) for segment in segments]
    joining = _joining_terms(segments, columns, len(vocabulary))
    del vocabulary
    rows = read_parts(segments, lambda segment: segment.sentences.terms)
    terms = space.keep(_order_rows(rows, targets, int(offsets[-1]), columns))
    del columns, targets
    return SentenceRows(
        offsets, named, terms, bridges, space.keep(unweighted_rows(*_transpose(terms.indptr, terms.indices, joining)))
    )


def join_by_entities(named: Adjacency, entity_passages: LongArray) -> Adjacency:
    """Return the sentences (E rows) of each entity that joins those of different passages.

    Args:
        named: The entities of each sentence.
        entity_passages: (E,) the number of passages that mention each entity.
    """
    is_bridge = (entity_passages >= MIN_ENTITY_PASSAGES) & (entity_passages <= MAX_BRIDGE_PASSAGES)
    return unweighted_rows(*_transpose(named.indptr, named.indices, is_bridge))


def _joining_terms(segments: Sequence[Segment], columns: Sequence[IntArray], count: int) -> BoolArray:
    """Return which of `count` terms join sentences of different passages."""
    bridging, passages = np.zeros(count, dtype=bool), np.zeros(count, dtype=np.int64)
    for segment, column in zip(segments, columns, strict=True):
        bridging[column] |= segment.sentences.bridging
        passages[column] += np.bincount(segment.terms.terms, minlength=len(column))
    return bridging & (passages >= MIN_TERM_PASSAGES) & (passages <= MAX_TERM_PASSAGES)


def _positions_of_sentences(indptr: LongArray, positions: IntArray, offsets: LongArray) -> LongArray:
    """Return the number in the snapshot of each sentence of a segment."""
    return expand_ranges(offsets[positions], np.diff(indptr))[0]


def _order_rows(
    parts: Sequence[Ragged], targets: Sequence[LongArray], count: int, numbers: Sequence[IntArray] | None = None
) -> Adjacency:
    """Return lists of all segments in the order of `count` sentences.

    `targets` has the number of each sentence, and `numbers` for each segment new numbers of the values.
    """
    indptr = np.zeros(count + 1, dtype=np.int64)
    for part, target in zip(parts, targets, strict=True):
        indptr[target + 1] = np.diff(part.indptr)
    np.cumsum(indptr, out=indptr)
    values = np.empty(int(indptr[-1]), dtype=np.int32)
    for number, (part, target) in enumerate(zip(parts, targets, strict=True)):
        own = part.values if numbers is None else numbers[number][part.values]
        _copy_rows(part.indptr, own, target, indptr, values)
    return unweighted_rows(indptr, values)


@njit
def _copy_rows(own_indptr, own_values, targets, indptr, values):  # type: ignore[no-untyped-def]
    for row in range(len(targets)):
        to = indptr[targets[row]] - own_indptr[row]
        for i in range(own_indptr[row], own_indptr[row + 1]):
            values[to + i] = own_values[i]


@njit
def _transpose(indptr, values, chosen):  # type: ignore[no-untyped-def]
    """Return for each of the chosen values (n,) the rows that have it, ascending; none for the others."""
    out_indptr = np.zeros(len(chosen) + 1, dtype=np.int64)
    for i in range(len(values)):
        out_indptr[values[i] + 1] += chosen[values[i]]
    for value in range(len(chosen)):
        out_indptr[value + 1] += out_indptr[value]
    cursor = out_indptr[:-1].copy()
    rows = np.empty(out_indptr[-1], dtype=np.int32)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            if chosen[values[i]]:
                rows[cursor[values[i]]] = row
                cursor[values[i]] += 1
    return out_indptr, rows


@njit
def _name_sentences(  # type: ignore[no-untyped-def]  # noqa: C901
    sentence_indptr, first_tokens, mention_sentences, mention_indptr, mention_forms, mention_spans, own_titles,
    form_keys, single, several_indptr, several, match_indptr, match_first, match_last, match_names,
    target_indptr, targets, entity_of_key, capacity,
):  # fmt: skip
    indptr = np.zeros(len(first_tokens) + 1, dtype=np.int64)
    pairs = np.empty(capacity, dtype=np.int64)  # sentence << 32 | entity
    entities = np.empty(capacity, dtype=np.int32)
    written = 0
    for row in range(len(own_titles)):
        begin, end = sentence_indptr[row], sentence_indptr[row + 1]
        own, count = own_titles[row], 0
        first_match, end_match = match_indptr[row], match_indptr[row + 1]
        for i in range(mention_indptr[row], mention_indptr[row + 1]):
            key = form_keys[mention_forms[i]]
            if mention_sentences[i] < 0 or key < 0:
                continue
            if is_inside_match(mention_spans[i], first_match, end_match, match_first, match_last):
                continue
            sentence = begin + mention_sentences[i]
            if single[key] >= 0:
                pairs[count] = sentence << 32 | np.int64(entity_of_key[single[key]])
                count += 1
                continue
            means_own = False
            for j in range(several_indptr[key], several_indptr[key + 1]):
                means_own = means_own or several[j] == own
            for j in range(several_indptr[key], several_indptr[key + 1]):
                if not means_own or several[j] == own:
                    pairs[count] = sentence << 32 | np.int64(entity_of_key[several[j]])
                    count += 1
        sentence = begin
        for i in range(first_match, end_match):
            while sentence + 1 < end and first_tokens[sentence + 1] <= match_first[i]:
                sentence += 1
            for j in range(target_indptr[match_names[i]], target_indptr[match_names[i] + 1]):
                if targets[j] != own:
                    pairs[count] = np.int64(sentence) << 32 | np.int64(entity_of_key[targets[j]])
                    count += 1
        if own >= 0:
            for sentence in range(begin, end):
                pairs[count] = np.int64(sentence) << 32 | np.int64(entity_of_key[own])
                count += 1
        ordered = np.sort(pairs[:count])
        for i in range(count):
            if i == 0 or ordered[i] != ordered[i - 1]:
                indptr[(ordered[i] >> 32) + 1] += 1
                entities[written] = ordered[i] & 0xFFFFFFFF
                written += 1
    for sentence in range(len(first_tokens)):
        indptr[sentence + 1] += indptr[sentence]
    return indptr, entities[:written].copy()
