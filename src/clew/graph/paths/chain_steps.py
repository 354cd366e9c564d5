"""Steps of chains of sentences, in compiled functions: the bridges of sentences, and the best steps over them.

A bridge is numbered as an entity e, or as -1 - t for a term t. The sentences that the bridges of some sentences lead to
are numbered as places, in the order in which they are found.
"""

import numpy as np

from clew.arrays import BoolArray, DoubleArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.node_table import find_slot, table_size


@njit
def passage_of(sentence: int, offsets: LongArray) -> int:
    """Return the passage of a sentence; `offsets` (P + 1,) are where the sentences of each passage begin."""
    low, high = 0, len(offsets) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if offsets[middle] <= sentence:
            low = middle
        else:
            high = middle
    return low


@njit
def cover_words(
    sentences: IntArray,
    own_titles: IntArray,
    indptr: LongArray,
    terms: IntArray,
    words: IntArray,
    weights: DoubleArray,
    named: IntArray,
    name_rows: LongArray,
    name_words: IntArray,
) -> DoubleArray:
    """Return the weights (n, w) of those words of a question (w,), ascending terms, that each of n sentences covers.

    It covers the words that it has, and those of the names whose entity, in `named` (k,), is the title (n,) of its
    passage: the words name_words[name_rows[i] : name_rows[i + 1]].
    """
    covered = np.zeros((len(sentences), len(weights)))
    mask = table_size(16 * len(words)) - 1
    may_be_word = np.zeros(mask + 1, dtype=np.bool_)  # by the low bits of a term: most terms of a sentence are no word
    for word in words:
        may_be_word[word & mask] = True
    for i in range(len(sentences)):
        for entry in range(indptr[sentences[i]], indptr[sentences[i] + 1]):
            if may_be_word[terms[entry] & mask]:
                place = np.searchsorted(words, terms[entry])
                if place < len(words) and words[place] == terms[entry]:
                    covered[i, place] = weights[place]
        for name in range(len(named)):
            if named[name] == own_titles[i]:
                for entry in range(name_rows[name], name_rows[name + 1]):
                    covered[i, name_words[entry]] = weights[name_words[entry]]
    return covered


@njit
def find_steps(
    starts: IntArray,
    offsets: LongArray,
    allowed: BoolArray,
    entity_rows: LongArray,
    entities: IntArray,
    term_rows: LongArray,
    terms: IntArray,
    named_rows: LongArray,
    named: IntArray,
    held_rows: LongArray,
    held: IntArray,
    closed_entities: IntArray,
    closed_terms: IntArray,
) -> tuple[LongArray, IntArray, LongArray, IntArray, LongArray, IntArray, IntArray, IntArray]:
    """Return the bridges of sentences (m,), and the sentences that each bridge leads to.

    That is: for each start its bridges, as rows of numbers; for each number the bridge, how many passages it joins, and
    its places, as rows; for each place its sentence and passage. Passages that are not allowed (P,), unless that is
    empty, are not led to. All arrays are read-only, so that those of entities and of terms have one type.
    """
    most = 0
    for sentence in starts:
        most += entity_rows[sentence + 1] - entity_rows[sentence] + term_rows[sentence + 1] - term_rows[sentence]
    edge_rows, edges = np.zeros(len(starts) + 1, dtype=np.int64), np.empty(most, dtype=np.int32)
    bridges, slots = np.empty(most, dtype=np.int64), np.zeros(table_size(2 * most), dtype=np.int64)
    count, member_count = 0, 0
    for start in range(len(starts)):
        edge = edge_rows[start]
        for kind in range(2):
            rows, values = (entity_rows, entities) if kind == 0 else (term_rows, terms)
            joined_rows = named_rows if kind == 0 else held_rows
            closed = closed_entities if kind == 0 else closed_terms
            for entry in range(rows[starts[start]], rows[starts[start] + 1]):
                value = values[entry]
                size = joined_rows[value + 1] - joined_rows[value]
                if size == 0 or _holds(closed, value):
                    continue
                slot = find_slot(slots, value * 2 + kind)
                if slots[slot] == 0:
                    slots[slot] = (np.int64(value) * 2 + kind + 1) << 32 | count
                    bridges[count] = value if kind == 0 else -1 - np.int64(value)
                    count += 1
                    member_count += size
                edges[edge] = slots[slot] & 0xFFFFFFFF
                edge += 1
        edge_rows[start + 1] = edge
    sizes, member_rows = np.empty(count, dtype=np.int32), np.zeros(count + 1, dtype=np.int64)
    members, slots = np.empty(member_count, dtype=np.int32), np.zeros(table_size(2 * member_count), dtype=np.int64)
    sentences, passages = np.empty(member_count, dtype=np.int32), np.empty(member_count, dtype=np.int32)
    places, member = 0, 0
    for number in range(count):
        bridge = bridges[number]
        joined_rows, joined = (named_rows, named) if bridge >= 0 else (held_rows, held)
        row = bridge if bridge >= 0 else -1 - bridge
        passage, end, size = -1, np.int64(-1), 0
        for entry in range(joined_rows[row], joined_rows[row + 1]):
            sentence = joined[entry]
            if sentence >= end:
                passage = passage_of(sentence, offsets)
                end = offsets[passage + 1]
                size += 1
            if len(allowed) and not allowed[passage]:
                continue
            slot = find_slot(slots, sentence)
            if slots[slot] == 0:
                slots[slot] = (np.int64(sentence) + 1) << 32 | places
                sentences[places], passages[places] = sentence, passage
                places += 1
            members[member] = slots[slot] & 0xFFFFFFFF
            member += 1
        sizes[number], member_rows[number + 1] = size, member
    return (
        edge_rows, edges[: edge_rows[-1]].copy(), bridges[:count].copy(), sizes, member_rows, members,
        sentences[:places].copy(), passages[:places].copy(),
    )  # fmt: skip


@njit
def best_steps(
    bases: DoubleArray,
    covered: DoubleArray,
    passages: IntArray,
    passages_before: IntArray,
    edge_rows: LongArray,
    edges: IntArray,
    bridges: LongArray,
    prices: DoubleArray,
    member_rows: LongArray,
    members: IntArray,
    values: DoubleArray,
    novelty: float,
    place_covered: DoubleArray,
    place_passages: IntArray,
    place_titles: IntArray,
    title_bonus: float,
) -> tuple[DoubleArray, IntArray, IntArray, DoubleArray, IntArray, IntArray]:
    """Return the best step to each of n places, and from each of m starts: score, start or place, and bridge's number.

    A step scores bases[start] + values[place] + `novelty` times what the place covers (n, w) beyond the start's
    `covered` (m, w), less the price of its bridge, plus the bonus where the bridge is the title (n,) of the place's
    passage. It leads to another passage than the start's, and than the one before it. Of equal steps the first counts:
    starts in order, the bridges of each in order, the places of each in order. -1 stands for none.
    """
    count, starts, words = len(values), len(bases), covered.shape[1]
    scores, from_start, by_bridge = _no_steps(count)
    start_scores, to_place, through = _no_steps(starts)
    whole = np.zeros(count)  # all that a place covers: no step gains more
    for place in range(count):
        for word in range(words):
            whole[place] += novelty * place_covered[place, word]
    for start in range(starts):
        for edge in range(edge_rows[start], edge_rows[start + 1]):
            number = edges[edge]
            base = bases[start] - prices[number]
            for entry in range(member_rows[number], member_rows[number + 1]):
                place = members[entry]
                passage = place_passages[place]
                if passage == passages[start] or passage == passages_before[start]:
                    continue
                score = base + values[place]
                if bridges[number] >= 0 and place_titles[place] == bridges[number]:
                    score += title_bonus
                bound = score + whole[place] + 1e-9
                if bound <= scores[place] and bound <= start_scores[start]:
                    continue
                for word in range(words):
                    score += novelty * max(0.0, place_covered[place, word] - covered[start, word])
                if score > scores[place]:
                    scores[place], from_start[place], by_bridge[place] = score, start, number
                if score > start_scores[start]:
                    start_scores[start], to_place[start], through[start] = score, place, number
    return scores, from_start, by_bridge, start_scores, to_place, through


@njit
def first_of_best(passages: IntArray, scores: DoubleArray) -> LongArray:
    """Return the position (p,) of the highest score above -inf of each passage, ascending; the first of equals.

    `passages` (n,) may repeat; `scores` (n,) are theirs.
    """
    slots = np.zeros(table_size(2 * len(passages)), dtype=np.int64)
    positions, owners = np.empty(len(passages), dtype=np.int64), np.empty(len(passages), dtype=np.int32)
    count = 0
    for i in range(len(passages)):
        if scores[i] == -np.inf:
            continue
        slot = find_slot(slots, passages[i])
        if slots[slot] == 0:
            slots[slot] = (np.int64(passages[i]) + 1) << 32 | count
            positions[count], owners[count] = i, passages[i]
            count += 1
        elif scores[i] > scores[positions[slots[slot] & 0xFFFFFFFF]]:
            positions[slots[slot] & 0xFFFFFFFF] = i
    return positions[:count][np.argsort(owners[:count])].copy()


@njit
def _no_steps(size):  # type: ignore[no-untyped-def]
    return np.full(size, -np.inf), np.full(size, -1, dtype=np.int32), np.full(size, -1, dtype=np.int32)


@njit
def _holds(values, value):  # type: ignore[no-untyped-def]
    for other in values:  # noqa: SIM110 (a generator is not compiled)
        if other == value:
            return True
    return False
