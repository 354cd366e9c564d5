"""The facts of each passage of a segment: entities it mentions, triples it states, and how names are written.

An entity is a number of the joined keys of all segments, until they are numbered among the entities.

Sorting of triples by counting: millions in seconds, with one number for each beside the triples themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.csr import Adjacency
from clew.graph.segments.segment import Ragged, Segment
from clew.graph.string_array import StringArray, take_strings
from clew.indexing.merging.match_texts import MatchTexts
from clew.indexing.merging.title_matches import TitleMatches, is_inside_match
from clew.indexing.merging.title_names import TitleNames, pack_pairs
from clew.indexing.merging.vocabularies import JoinedVocabulary

LINK_RELATION = "links to"
_NO_KEY = -2  # in place of the only key of a form; -1: it may mean several


@final
@dataclass(frozen=True, slots=True, eq=False)
class SegmentNumbers:
    """The numbers of a segment's entries in the whole corpus."""

    own_titles: IntArray  # (p,) key of each passage's title, -1 for none
    form_keys: IntArray  # (f,) key of each form, -1 for none
    relations: IntArray  # (r,) relation of each relation of a triple
    match_relations: IntArray  # (m,) relation of each match
    links: Ragged  # p lists of keys that the links of a passage lead to
    link_relation: int  # relation of a link


@final
@dataclass(frozen=True, slots=True, eq=False)
class PassageFacts:
    """The facts of the p passages of a segment."""

    mention_indptr: LongArray  # (p + 1,)
    mentioned: IntArray  # (m,) keys, distinct in a passage
    weights: FloatArray  # (m,) 1, or less where a name is ambiguous
    triple_indptr: LongArray  # (p + 1,)
    triples: IntArray  # (t, 3) head key, relation, tail key; a passage may state one twice
    form_counts: LongArray  # (f,) how often each form stands for the only key that it can mean
    # (c, 2) a key and a form, for each use of an ambiguous name
    other_forms: IntArray
    # (c, 2) a key and a match, for each title that a match may mean
    match_forms: IntArray


def find_facts(
    segment: Segment,
    numbers: SegmentNumbers,
    matches: TitleMatches,
    targets: Ragged,
    titles: TitleNames,
    scratch: "Scratch",
) -> PassageFacts:
    """Return the facts of a segment's passages; `targets` are those of the names in `matches`."""
    facts = segment.facts
    sizes = scratch.meanings
    is_known = numbers.form_keys >= 0
    form_sizes = np.zeros(len(is_known), sizes.dtype)
    form_sizes[is_known] = sizes[numbers.form_keys[is_known]]
    uses_of_forms = len(facts.mentions.values) + 2 * len(facts.triples.values)
    used = int(form_sizes.max(initial=0)) * uses_of_forms  # at most: what is not written takes no memory
    matched = int(np.diff(targets.indptr)[matches.names].sum())
    linked = int(sizes[numbers.links.values].sum())
    capacities = (
        used + matched + linked + len(segment),
        len(facts.triples.values) + len(matches.names) + linked,
        used,
        matched,
    )
    uses = np.zeros((len(numbers.form_keys), 2), dtype=np.int32)
    uses[:, 0] = np.where(numbers.form_keys >= 0, titles.single[numbers.form_keys], _NO_KEY)
    results = _find_facts(
        facts.mentions.indptr, facts.mentions.values, facts.mention_spans,
        facts.triples.indptr, facts.triples.values, numbers.own_titles, numbers.form_keys, uses, numbers.relations,
        matches.indptr, matches.first, matches.last, matches.names, numbers.match_relations,
        targets.indptr, targets.values, numbers.links.indptr, numbers.links.values, numbers.link_relation,
        titles.single, titles.ambiguous.indptr, titles.ambiguous.values,
        scratch.state, scratch.stamp, capacities,
    )  # fmt: skip
    scratch.stamp += len(segment)
    indptr, mentioned, weights, triple_indptr, triples, other_forms, match_forms = results
    counts = uses[:, 1].astype(np.int64)
    return PassageFacts(indptr, mentioned, weights, triple_indptr, triples, counts, other_forms, match_forms)


class Scratch:
    """Working memory of `find_facts` for the k keys of titles, for one segment after the other."""

    def __init__(self, titles: TitleNames) -> None:
        count = len(titles.single)
        self.meanings = titles.count_meanings()
        # For each key the last passage that mentions it, where that mention stands, and the last one that states a
        # triple of it; side by side, since reading them from memory takes most of the time.
        self.state = np.full((count, 4), -1, dtype=np.int32)
        self.stamp = 0


@njit
def _add_mention(key, size, passage, state, mentioned, weights, count):  # type: ignore[no-untyped-def]
    """Add a mention of one of several keys, or make it heavier, and return the number of mentions."""
    weight = np.float32(1.0 / size)
    if state[key, 0] == passage:
        weights[state[key, 1]] = max(weights[state[key, 1]], weight)
        return count
    state[key, 0] = passage
    state[key, 1] = count
    mentioned[count] = key
    weights[count] = weight
    return count + 1


@njit
def _resolve(form, own, form_keys, uses, indptr, values, targets, other_forms, other_count):  # type: ignore[no-untyped-def]
    """Write the keys that a form stands for in a passage with this title, and count it for them.

    Return the number of keys, and that of the entries in `other_forms`.
    """
    if uses[form, 0] >= 0:
        targets[0] = uses[form, 0]
        uses[form, 1] += 1
        return 1, other_count
    if uses[form, 0] == _NO_KEY:
        return 0, other_count
    key, count = form_keys[form], 0
    for i in range(indptr[key], indptr[key + 1]):
        if values[i] == own:
            targets[0] = own
            count = 1
            break
        targets[count] = values[i]
        count += 1
    for i in range(count):
        other_forms[other_count, 0] = targets[i]
        other_forms[other_count, 1] = form
        other_count += 1
    return count, other_count


@njit
def _find_facts(  # type: ignore[no-untyped-def]  # noqa: C901
    mention_indptr, mention_forms, mention_spans, triple_indptr, triple_forms, own_titles, form_keys, uses, relations,
    match_indptr, match_first, match_last, match_names, match_relations, target_indptr, target_values,
    link_indptr, link_keys, link_relation, single, several_indptr, several, state, stamp,
    capacities,
):  # fmt: skip
    count = len(own_titles)
    out_mentions = np.zeros(count + 1, dtype=np.int64)
    out_triples = np.zeros(count + 1, dtype=np.int64)
    mentioned = np.empty(capacities[0], dtype=np.int32)
    weights = np.empty(capacities[0], dtype=np.float32)
    triples = np.empty((capacities[1], 3), dtype=np.int32)
    other_forms = np.empty((capacities[2], 2), dtype=np.int32)
    match_forms = np.empty((capacities[3], 2), dtype=np.int32)
    heads, tails = np.empty(8, dtype=np.int32), np.empty(8, dtype=np.int32)
    m = t = o = f = 0
    for row in range(count):
        passage, own = stamp + row, own_titles[row]
        for i in range(triple_indptr[row], triple_indptr[row + 1]):
            head, tail = triple_forms[i, 0], triple_forms[i, 2]
            head_count, o = _resolve(head, own, form_keys, uses, several_indptr, several, heads, other_forms, o)
            tail_count, o = _resolve(tail, own, form_keys, uses, several_indptr, several, tails, other_forms, o)
            if head_count and tail_count and heads[0] != tails[0]:
                triples[t, 0], triples[t, 1], triples[t, 2] = heads[0], relations[triple_forms[i, 1]], tails[0]
                t += 1
                state[heads[0], 2] = passage
                state[tails[0], 2] = passage
                for j in range(head_count):
                    m = _add_mention(heads[j], head_count, passage, state, mentioned, weights, m)
                for j in range(tail_count):
                    m = _add_mention(tails[j], tail_count, passage, state, mentioned, weights, m)
        first_match, end_match = match_indptr[row], match_indptr[row + 1]
        for i in range(mention_indptr[row], mention_indptr[row + 1]):
            if is_inside_match(mention_spans[i], first_match, end_match, match_first, match_last):
                continue
            form = mention_forms[i]
            head_count, o = _resolve(form, own, form_keys, uses, several_indptr, several, heads, other_forms, o)
            for j in range(head_count):
                m = _add_mention(heads[j], head_count, passage, state, mentioned, weights, m)
        for i in range(first_match, end_match):
            name = match_names[i]
            others = 0
            for j in range(target_indptr[name], target_indptr[name + 1]):
                if target_values[j] != own:
                    heads[others] = target_values[j]
                    others += 1
            for j in range(others):
                match_forms[f, 0], match_forms[f, 1] = heads[j], i
                f += 1
                m = _add_mention(heads[j], others, passage, state, mentioned, weights, m)
            if own >= 0 and state[heads[0], 2] != passage:
                triples[t, 0], triples[t, 1], triples[t, 2] = own, match_relations[i], heads[0]
                t += 1
                state[heads[0], 2] = passage
        for i in range(link_indptr[row], link_indptr[row + 1]):
            key = link_keys[i]
            begin, end = several_indptr[key], several_indptr[key + 1]
            for j in range(max(end - begin, 1)):
                target = single[key] if single[key] >= 0 else several[begin + j]
                if target == own:
                    continue
                m = _add_mention(target, 1, passage, state, mentioned, weights, m)
                if own >= 0 and state[target, 2] != passage:
                    triples[t, 0], triples[t, 1], triples[t, 2] = own, link_relation, target
                    t += 1
        if own >= 0:
            m = _add_mention(own, 1, passage, state, mentioned, weights, m)
        out_mentions[row + 1], out_triples[row + 1] = m, t
    return (
        out_mentions, mentioned[:m].copy(), weights[:m].copy(), out_triples, triples[:t].copy(),
        other_forms[:o].copy(), match_forms[:f].copy(),
    )  # fmt: skip


_INSERTION_LIMIT = 32  # up to this size, sorting by insertion is the fastest


@final
@dataclass(frozen=True, slots=True, eq=False)
class DistinctTriples:
    """The T distinct triples of stated and imported ones."""

    triples: IntArray  # (T, 3) head, relation, tail; sorted
    passages: Adjacency  # T rows, the passages that state a triple
    imported: BoolArray  # (T,) whether an imported graph has it


def distinct_triples(triples: IntArray, passages: IntArray, head_count: int) -> DistinctTriples:
    """Return the distinct ones of triples (n, 3), whose heads are below `head_count`.

    `passages` (n,) state them, ascending, -1 for one of an imported graph; those stand at the end.
    """
    order = sort_triples(triples, head_count)
    out, indptr, indices, imported = _distinct(triples, passages, order)
    return DistinctTriples(out, Adjacency(indptr, indices, np.ones(len(indices), dtype=np.float32)), imported)


def sort_triples(triples: IntArray, head_count: int) -> IntArray:
    """Return the stable order (n,) that sorts triples (n, 3) by head, below `head_count`, relation and tail."""
    order: IntArray = _sort_triples(triples, head_count)
    return order


@njit
def _sort_triples(triples, head_count):  # type: ignore[no-untyped-def]
    count = len(triples)
    starts = np.zeros(head_count + 1, dtype=np.int64)
    for i in range(count):
        starts[triples[i, 0] + 1] += 1
    for head in range(head_count):
        starts[head + 1] += starts[head]
    order = np.empty(count, dtype=np.int32)
    cursor = starts[:-1].copy()
    for i in range(count):
        head = triples[i, 0]
        order[cursor[head]] = i
        cursor[head] += 1
    keys = np.empty(_INSERTION_LIMIT, dtype=np.int64)
    for head in range(head_count):
        begin, size = starts[head], starts[head + 1] - starts[head]
        if size < 2:
            continue
        if size > _INSERTION_LIMIT:
            many = np.empty(size, dtype=np.int64)
            for i in range(size):
                entry = order[begin + i]
                many[i] = np.int64(triples[entry, 1]) << 32 | np.int64(triples[entry, 2])
            permutation = np.argsort(many, kind="mergesort")  # stable
            run = order[begin : begin + size].copy()
            for i in range(size):
                order[begin + i] = run[permutation[i]]
            continue
        for i in range(size):
            entry = order[begin + i]
            key = np.int64(triples[entry, 1]) << 32 | np.int64(triples[entry, 2])
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                order[begin + j] = order[begin + j - 1]
                j -= 1
            keys[j] = key
            order[begin + j] = entry
    return order


@njit
def _differ(triples, one, other):  # type: ignore[no-untyped-def]
    return (
        triples[one, 0] != triples[other, 0]
        or triples[one, 1] != triples[other, 1]
        or triples[one, 2] != triples[other, 2]
    )


@njit
def _distinct(triples, passages, order):  # type: ignore[no-untyped-def]
    size = len(order)
    distinct = stated = 0
    for i in range(size):
        entry = order[i]
        before = order[i - 1]
        is_new = i == 0 or _differ(triples, entry, before)
        distinct += is_new
        stated += passages[entry] >= 0 and (is_new or passages[before] != passages[entry])
    out = np.empty((distinct, 3), dtype=np.int32)
    indptr = np.zeros(distinct + 1, dtype=np.int64)
    indices = np.empty(stated, dtype=np.int32)
    imported = np.zeros(distinct, dtype=np.bool_)
    row, count = -1, 0
    for i in range(size):
        entry = order[i]
        before = order[i - 1]
        is_new = i == 0 or _differ(triples, entry, before)
        if is_new:
            row += 1
            out[row, 0], out[row, 1], out[row, 2] = triples[entry, 0], triples[entry, 1], triples[entry, 2]
        if passages[entry] < 0:
            imported[row] = True
        elif is_new or passages[before] != passages[entry]:
            indices[count] = passages[entry]
            count += 1
        indptr[row + 1] = count
    return out, indptr, indices, imported


_TITLE_COUNT = 1 << 40  # of a title as its own passage writes it, which outweighs all uses elsewhere


@final
@dataclass(frozen=True, slots=True, eq=False)
class NamedKeys:
    """The entities that passages name, among k keys."""

    used: BoolArray  # (k,) whether a key is an entity
    names: StringArray  # the displayed name of each, in the order of the keys


def name_entities(
    segments: Sequence[Segment],
    facts: Sequence[PassageFacts],
    texts: Sequence[MatchTexts],
    forms: JoinedVocabulary,
    form_keys: Sequence[IntArray],
    single: IntArray,
) -> NamedKeys:
    """Return the entities with their names.

    `forms` joins the forms of the segments and then those of their matches; `form_keys` are for each segment the keys
    of its forms, and `single` (k,) is that of `TitleNames`. Equally frequent forms: the first in code-point order.
    """
    counts = np.zeros(len(forms), dtype=np.int64)
    key_of_form = np.full(len(forms), -1, dtype=np.int32)
    uses = [np.zeros(0, dtype=np.int64)]
    for number, (segment, own, match, keys) in enumerate(zip(segments, facts, texts, form_keys, strict=True)):
        numbers, match_numbers = forms.numbers[number], forms.numbers[len(segments) + number]
        key_of_form[numbers] = keys
        counts[numbers] += own.form_counts
        titles = segment.titles.forms[segment.titles.keys >= 0]
        counts[numbers] += np.bincount(titles, minlength=len(numbers)) * _TITLE_COUNT
        uses.append(pack_pairs(own.other_forms[:, 0], numbers[own.other_forms[:, 1]]))
        uses.append(pack_pairs(own.match_forms[:, 0], match_numbers[match.forms[own.match_forms[:, 1]]]))
    other, other_counts = np.unique(np.concatenate(uses), return_counts=True)
    del uses
    best = _most_frequent(counts, key_of_form, single, other, other_counts, forms.texts.data, forms.texts.offsets)
    used = best >= 0
    return NamedKeys(used, take_strings(forms.texts, best[used]))


@njit
def _is_before(data, offsets, one, other):  # type: ignore[no-untyped-def]
    """Return whether string `one` comes before string `other` in the order of code points, which is that of bytes."""
    begin, other_begin = offsets[one], offsets[other]
    size, other_size = offsets[one + 1] - begin, offsets[other + 1] - other_begin
    for byte in range(min(size, other_size)):
        a, b = data[begin + byte], data[other_begin + byte]
        if a != b:
            return a < b
    return size < other_size


@njit
def _most_frequent(counts, key_of_form, single, other, other_counts, data, offsets):  # type: ignore[no-untyped-def]
    """Return for each key (k,) the form with the highest count, the first in code-point order of several; -1 for none.

    A form counts for the single key that it means, and as often as `other_counts` for the key of `other` (a key << 32 |
    a form). Where a pair has counts of both kinds, its sum comes last and is the highest of the three.
    """
    best = np.full(len(single), -1, dtype=np.int32)
    best_counts = np.zeros(len(single), dtype=np.int64)
    for i in range(len(counts) + len(other)):
        if i < len(counts):
            if counts[i] == 0:
                continue
            form, key, count = i, single[key_of_form[i]], counts[i]
        else:
            pair = other[i - len(counts)]
            key, form = pair >> 32, pair & 0xFFFFFFFF
            count = other_counts[i - len(counts)]
            if counts[form] > 0 and single[key_of_form[form]] == key:
                count += counts[form]
        if count > best_counts[key] or (count == best_counts[key] and _is_before(data, offsets, form, best[key])):
            best[key], best_counts[key] = form, count
    return best
