"""Steps of chains of sentences, in compiled functions: the bridges of sentences, where they lead, and the best step to each.

A bridge is numbered as an entity e, or as -1 - t for a term t. The sentences that the bridges of some sentences lead to
are numbered as places, in the order in which they are found.
"""

import numpy as np

from clew.arrays.kernels import njit
from clew.graph.ppr.node_table import find_slot, table_size


@njit
def passage_of(sentence, offsets):  # type: ignore[no-untyped-def]
    """Return the passage of a sentence."""
    low, high = 0, len(offsets) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if offsets[middle] <= sentence:
            low = middle
        else:
            high = middle
    return low


@njit
def passages_of(sentences, offsets):  # type: ignore[no-untyped-def]
    """Return the passages (n,) of sentences (n,)."""
    passages = np.empty(len(sentences), dtype=np.int32)
    for i in range(len(sentences)):
        passages[i] = passage_of(sentences[i], offsets)
    return passages


@njit
def cover_words(sentences, indptr, terms, near_terms, near_offsets, near_words, near_values, weights):  # type: ignore[no-untyped-def]
    """Return how much of the w words of a question each of n sentences covers, times the weights (w,) of the words.

    The term near_terms[i] covers the words near_words[near_offsets[i] : near_offsets[i + 1]] to the degree near_values.
    """
    covered = np.zeros((len(sentences), len(weights)))
    for i in range(len(sentences)):
        place = 0
        for entry in range(indptr[sentences[i]], indptr[sentences[i] + 1]):
            term = terms[entry]
            while place < len(near_terms) and near_terms[place] < term:
                place += 1
            if place == len(near_terms):
                break
            if near_terms[place] == term:
                for near in range(near_offsets[place], near_offsets[place + 1]):
                    word = near_words[near]
                    covered[i, word] = max(covered[i, word], weights[word] * near_values[near])
    return covered


@njit
def find_steps(  # type: ignore[no-untyped-def]
    starts, offsets, allowed, entity_rows, entities, term_rows, terms, named_rows, named, held_rows, held,
    closed_entities, closed_terms,
):  # fmt: skip
    """Return the bridges of sentences (m,), and the sentences that each bridge leads to.

    That is: for each start its bridges, as rows of numbers; for each number the bridge, how many passages it joins, and
    its places, as rows; for each place its sentence and passage. Passages that are not allowed (P,), unless that is
    empty, are not led to.
    """
    count, bridge_count, edge_count, member_count = 0, 0, 0, 0
    bridge_rows = np.zeros(len(starts) + 1, dtype=np.int64)
    edges = np.empty(1024, dtype=np.int32)
    bridges, sizes = np.empty(1024, dtype=np.int64), np.empty(1024, dtype=np.int32)
    member_rows, members = np.zeros(1025, dtype=np.int64), np.empty(4096, dtype=np.int32)
    bridge_slots = np.zeros(2048, dtype=np.int64)
    sentences, passages = np.empty(4096, dtype=np.int32), np.empty(4096, dtype=np.int32)
    slots = np.zeros(8192, dtype=np.int64)
    for start in range(len(starts)):
        sentence = starts[start]
        for kind in range(2):
            rows, values = (entity_rows, entities) if kind == 0 else (term_rows, terms)
            joined_rows, joined = (named_rows, named) if kind == 0 else (held_rows, held)
            closed = closed_entities if kind == 0 else closed_terms
            for entry in range(rows[sentence], rows[sentence + 1]):
                value = values[entry]
                first, last = joined_rows[value], joined_rows[value + 1]
                if first == last or _holds(closed, value):
                    continue
                key = np.int64(value) * 2 + kind
                slot = find_slot(bridge_slots, key)
                if bridge_slots[slot] == 0:
                    if bridge_count == len(bridges):
                        bridges, sizes = _longer(bridges), _longer(sizes)
                        member_rows = _longer(member_rows)
                    if 2 * bridge_count >= len(bridge_slots):
                        bridge_slots = _rehash(bridges, bridge_count, 2 * len(bridge_slots), True)
                        slot = find_slot(bridge_slots, key)
                    bridge_slots[slot] = (key + 1) << 32 | bridge_count
                    bridges[bridge_count] = value if kind == 0 else -1 - np.int64(value)
                    passage, end, size = -1, np.int64(-1), 0
                    for place in range(first, last):
                        other = joined[place]
                        if other >= end:
                            passage = passage_of(other, offsets)
                            end = offsets[passage + 1]
                            size += 1
                        if len(allowed) and not allowed[passage]:
                            continue
                        other_slot = find_slot(slots, other)
                        if slots[other_slot] == 0:
                            if count == len(sentences):
                                sentences, passages = _longer(sentences), _longer(passages)
                                slots = _rehash(sentences, count, 4 * len(sentences), False)
                                other_slot = find_slot(slots, other)
                            slots[other_slot] = (np.int64(other) + 1) << 32 | count
                            sentences[count], passages[count] = other, passage
                            count += 1
                        if member_count == len(members):
                            members = _longer(members)
                        members[member_count] = slots[other_slot] & 0xFFFFFFFF
                        member_count += 1
                    sizes[bridge_count] = size
                    bridge_count += 1
                    member_rows[bridge_count] = member_count
                if edge_count == len(edges):
                    edges = _longer(edges)
                edges[edge_count] = bridge_slots[slot] & 0xFFFFFFFF
                edge_count += 1
        bridge_rows[start + 1] = edge_count
    return (
        bridge_rows, edges[:edge_count].copy(), bridges[:bridge_count].copy(), sizes[:bridge_count].copy(),
        member_rows[: bridge_count + 1].copy(), members[:member_count].copy(), sentences[:count].copy(),
        passages[:count].copy(),
    )  # fmt: skip


@njit
def best_steps(  # type: ignore[no-untyped-def]
    bases, covered, passages, passages_before, bridge_rows, edges, bridges, prices, member_rows, members, values, novelty,
    place_covered, place_passages, place_titles, title_bonus,
):  # fmt: skip
    """Return the best step to each of n places, and from each of m starts: score, start or place, and bridge's number.

    A step scores bases[start] + values[place] + `novelty` times what the place covers (n, w)
    beyond the start's `covered` (m, w), less the price of its bridge, plus the bonus where the bridge is the title (n,) of the place's passage. It leads to
    another passage than the start's, and than the one before it. Of equal steps the first counts: starts in order, the
    bridges of each in order, the places of each in order. -1 stands for none.
    """
    count, starts, words = len(values), len(bases), covered.shape[1]
    scores, from_start, by_bridge = _no_steps(count)
    start_scores, to_place, through = _no_steps(starts)
    whole = np.zeros(count)  # all that a place covers: no step gains more
    for place in range(count):
        for word in range(words):
            whole[place] += novelty * place_covered[place, word]
    for start in range(starts):
        for edge in range(bridge_rows[start], bridge_rows[start + 1]):
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
def first_of_best(passages, scores):  # type: ignore[no-untyped-def]
    """Return for each distinct passage, ascending, the position (p,) of its highest score above -inf, the first of equals."""
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
    for other in values:
        if other == value:
            return True
    return False


@njit
def _longer(array):  # type: ignore[no-untyped-def]
    longer = np.empty(2 * len(array), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@njit
def _rehash(values, count, size, are_bridges):  # type: ignore[no-untyped-def]
    slots = np.zeros(table_size(size), dtype=np.int64)
    for position in range(count):
        key = np.int64(values[position])
        if are_bridges:
            key = key * 2 if key >= 0 else (-1 - key) * 2 + 1
        slots[find_slot(slots, key)] = (key + 1) << 32 | position
    return slots
