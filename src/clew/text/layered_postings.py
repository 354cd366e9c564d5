"""Postings of BM25 in layers of impact, and the search for the best passages that skips most of them.

A term's impact in a passage is its saturated frequency there, between 0 and 1; its contribution to a score is the
impact times the term's weight in the question. The postings of frequent terms are in layers by impact, strongest first,
each with the highest impact in it. The search first scores some promising passages, whose scores are a threshold, and
then reads only so many layers, from above, that a passage in none of them stays below it. For each passage read, the
bounds of its layers are added up, and it is scored only if the sum reaches the threshold. The result is exact.

Source: Turtle and Flood, "Query Evaluation: Strategies and Optimizations" (1995), MaxScore, for the lists that need not
be read; Anh and Moffat, "Pruned query evaluation using pre-computed impacts" (2006), for layers by impact.
Differs from the source: each layer is a list of MaxScore of its own; impacts are not rounded, since the passages that
remain are scored from the terms of the passage.
"""

import numpy as np

from clew.arrays import FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit

LAYERS = 8
_HIGHEST, _STEP = 0.75, 0.07  # the first layer has impacts of at least 0.75, each further one of 0.07 less
_MIN_LAYERED = 256  # postings of a term with layers; shorter lists are read whole
_SLACK = 1.00001  # bounds are raised by this, more than rounding can lower them
_SEED_POSTINGS, _SEEDS = 2000, 16
_SCORE_COST = 32  # scoring a passage costs as much as reading this many postings
_PLANS = 3


def length_norms(k1: float, b: float, mean_length: float) -> tuple[float, float]:
    """Return x and y such that a term that occurs c times in a passage of n terms has the impact c / (c + x + y n)."""
    return k1 * (1.0 - b), k1 * b / mean_length if mean_length else 0.0


def layer_postings(
    row_offsets: LongArray,
    row_terms: IntArray,
    row_counts: IntArray,
    lengths: IntArray,
    frequencies: LongArray,
    base: float,
    slope: float,
) -> tuple[LongArray, IntArray, FloatArray, IntArray, LongArray, FloatArray]:
    """Return offsets, passages, bounds, layered terms, layer offsets and layer bounds (see `BM25Index`).

    The rows of P passages hold m terms, of which each of v occurs in `frequencies` (v,) passages.
    """
    offsets = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
    layered_terms = np.flatnonzero(frequencies >= _MIN_LAYERED).astype(np.int32)
    layer_of_term = np.full(len(frequencies), -1, dtype=np.int32)
    layer_of_term[layered_terms] = np.arange(len(layered_terms), dtype=np.int32)
    rows = row_offsets, row_terms, row_counts, lengths, base, slope
    sizes = np.zeros((len(layered_terms), LAYERS), dtype=np.int64)
    layer_bounds = np.zeros((len(layered_terms), LAYERS), dtype=np.float32)
    bounds = np.zeros(len(frequencies), dtype=np.float32)
    _measure_layers(*rows, layer_of_term, sizes, layer_bounds, bounds)
    layer_offsets = np.zeros((len(layered_terms), LAYERS + 1), dtype=np.int64)
    np.cumsum(sizes, axis=1, out=layer_offsets[:, 1:])
    layer_offsets += offsets[layered_terms][:, None]
    passages = np.empty(len(row_terms), dtype=np.int32)
    _place_postings(*rows, layer_of_term, offsets[:-1].copy(), layer_offsets[:, :-1].copy(), passages)
    return offsets, passages, bounds, layered_terms, layer_offsets, layer_bounds


@njit
def fill_rows(indptr, terms, counts, columns, places, row_offsets, row_terms, row_counts, frequencies):  # type: ignore[no-untyped-def]
    """Copy the terms of texts (n,) to their places (n,) in the rows of an index; `columns` renumbers the terms."""
    for text in range(len(places)):
        target = row_offsets[places[text]]
        for entry in range(indptr[text], indptr[text + 1]):
            column = columns[terms[entry]]
            row_terms[target] = column
            row_counts[target] = min(counts[entry], 65535)
            frequencies[column] += 1
            target += 1


@njit
def _impact(count, length, base, slope):  # type: ignore[no-untyped-def]
    return count / (count + base + slope * length)


@njit
def _layer(impact):  # type: ignore[no-untyped-def]
    return min(max(int((_HIGHEST - impact) / _STEP + 1.0), 0), LAYERS - 1)


@njit
def _measure_layers(
    row_offsets, row_terms, row_counts, lengths, base, slope, layer_of_term, sizes, layer_bounds, bounds
):  # type: ignore[no-untyped-def]
    for passage in range(len(lengths)):
        for entry in range(row_offsets[passage], row_offsets[passage + 1]):
            term = row_terms[entry]
            impact = _impact(float(row_counts[entry]), lengths[passage], base, slope)
            bounds[term] = max(bounds[term], np.float32(impact))
            row = layer_of_term[term]
            if row >= 0:
                layer = _layer(impact)
                sizes[row, layer] += 1
                layer_bounds[row, layer] = max(layer_bounds[row, layer], np.float32(impact))


@njit
def _place_postings(
    row_offsets, row_terms, row_counts, lengths, base, slope, layer_of_term, cursors, layer_cursors, out
):  # type: ignore[no-untyped-def]
    for passage in range(len(lengths)):
        for entry in range(row_offsets[passage], row_offsets[passage + 1]):
            term = row_terms[entry]
            row = layer_of_term[term]
            if row >= 0:
                layer = _layer(_impact(float(row_counts[entry]), lengths[passage], base, slope))
                out[layer_cursors[row, layer]] = passage
                layer_cursors[row, layer] += 1
            else:
                out[cursors[term]] = passage
                cursors[term] += 1


@njit
def score_row(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, passage):  # type: ignore[no-untyped-def]
    """Return the BM25 score of one passage for terms (q,), ascending, with their weights (q,)."""
    score = np.float32(0.0)
    low, end = row_offsets[passage], row_offsets[passage + 1]
    for i in range(len(terms)):
        term, high = terms[i], end
        while low < high:
            middle = (low + high) >> 1
            if row_terms[middle] < term:
                low = middle + 1
            else:
                high = middle
        if low == end:
            break
        if row_terms[low] == term:
            score += np.float32(weights[i] * _impact(float(row_counts[low]), lengths[passage], base, slope))
    return score


@njit
def score_rows(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, passages):  # type: ignore[no-untyped-def]
    """Return the BM25 scores (n,) of passages (n,)."""
    scores = np.empty(len(passages), dtype=np.float32)
    for i in range(len(passages)):
        scores[i] = score_row(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, passages[i])
    return scores


# A list is a layer of a term, or all postings of a term without layers. `limits[t, depth]` is the highest contribution
# of the lists of term t from `depth` on; a passage in none of the lists that are read scores at most the sum of these.
@njit
def best_passages(  # type: ignore[no-untyped-def]
    row_offsets, row_terms, row_counts, lengths, base, slope, offsets, passages, bounds, layer_offsets, layer_bounds,
    terms, weights, layered, k, allowed, scratch,
):  # fmt: skip
    """Return passages that hold the `k` best of the allowed ones, in no order, and their scores (n,).

    `layered` (q,) is the row in `layer_offsets` of each term, -1 for none; `allowed` is (P,), or (0,) for all passages;
    `scratch` are zeros (P,), and zeros afterwards.
    """
    starts, limits = _list_limits(offsets, bounds, layer_offsets, layer_bounds, terms, weights, layered)
    step_terms, step_depths = _order_steps(starts, limits)
    best = np.zeros(k, dtype=np.float32)  # the k highest scores, ascending
    depths = _choose_depths(starts, limits, step_terms, step_depths, 0.0, _SEED_POSTINGS + 8 * k)
    touched = _add_limits(starts, limits, depths, passages, allowed, scratch)
    for passage in _highest(touched, scratch, k + _SEEDS):
        _insert(best, score_row(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, passage))
    _clear(touched, scratch)
    threshold = best[0]
    target = float(threshold)
    rest = 0.0
    for plan in range(_PLANS):
        depths = _choose_depths(starts, limits, step_terms, step_depths, target, -1)
        rest = 0.0
        for i in range(len(terms)):
            rest += limits[i, depths[i]]
        touched = _add_limits(starts, limits, depths, passages, allowed, scratch)
        candidates = 0
        for passage in touched:
            if scratch[passage] + rest >= threshold:
                candidates += 1
        if plan + 1 == _PLANS or rest == 0.0 or candidates * _SCORE_COST < len(touched) + 1024:
            break
        _clear(touched, scratch)
        target = 0.6 * rest
    found, scores = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.float32)
    count = 0
    best[:] = 0.0
    for passage in touched:
        if scratch[passage] + rest < threshold:
            continue
        score = score_row(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, passage)
        if score >= threshold and score > 0.0:
            if count == len(found):
                found, scores = np.concatenate((found, found)), np.concatenate((scores, scores))
            found[count], scores[count] = passage, score
            count += 1
            _insert(best, score)
            threshold = max(threshold, best[0])
    _clear(touched, scratch)
    return found[:count], scores[:count]


@njit
def _list_limits(offsets, bounds, layer_offsets, layer_bounds, terms, weights, layered):  # type: ignore[no-untyped-def]
    starts = np.zeros((len(terms), LAYERS + 1), dtype=np.int64)
    limits = np.zeros((len(terms), LAYERS + 1))
    for i in range(len(terms)):
        if layered[i] >= 0:
            starts[i] = layer_offsets[layered[i]]
            for layer in range(LAYERS):
                limits[i, layer] = weights[i] * layer_bounds[layered[i], layer] * _SLACK
        else:
            starts[i] = offsets[terms[i] + 1]
            starts[i, 0] = offsets[terms[i]]
            limits[i, 0] = weights[i] * bounds[terms[i]] * _SLACK
        for layer in range(LAYERS - 1, -1, -1):  # an empty layer has the limit of the next one
            limits[i, layer] = max(limits[i, layer], limits[i, layer + 1])
    return starts, limits


@njit
def _order_steps(starts, limits):  # type: ignore[no-untyped-def]
    """Return the terms and depths (s,) of the steps that lower the sum of limits most for each posting read."""
    terms, depths = np.empty(starts.size, dtype=np.int64), np.empty(starts.size, dtype=np.int64)
    ratios = np.empty(starts.size)
    count = 0
    for i in range(len(starts)):
        depth = 0
        while limits[i, depth] > 0.0:
            best_ratio, best_depth = 0.0, depth + 1
            for other in range(depth + 1, LAYERS + 1):
                ratio = (limits[i, depth] - limits[i, other]) / (starts[i, other] - starts[i, depth] + 1)
                if ratio >= best_ratio:
                    best_ratio, best_depth = ratio, other
            terms[count], depths[count], ratios[count] = i, best_depth, -best_ratio
            count += 1
            depth = best_depth
    _sort_steps(ratios[:count], terms, depths)
    return terms[:count], depths[:count]


# Shell's sort: numpy's takes seconds to compile.
@njit
def _sort_steps(keys, terms, depths):  # type: ignore[no-untyped-def]
    gap = len(keys) // 2
    while gap > 0:
        for i in range(gap, len(keys)):
            key, term, depth = keys[i], terms[i], depths[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j], terms[j], depths[j] = keys[j - gap], terms[j - gap], depths[j - gap]
                j -= gap
            keys[j], terms[j], depths[j] = key, term, depth
        gap //= 2


@njit
def _choose_depths(starts, limits, step_terms, step_depths, target, max_postings):  # type: ignore[no-untyped-def]
    """Return how many lists of each term (q,) are read: until the sum of limits is below the target, if that is not 0,
    and at most about `max_postings`, if that is not negative.
    """
    depths = np.zeros(len(starts), dtype=np.int64)
    rest, read = limits[:, 0].sum(), 0
    for step in range(len(step_terms)):
        if (target > 0.0 and rest < target) or 0 <= max_postings <= read:
            break
        i, depth = step_terms[step], step_depths[step]
        rest -= limits[i, depths[i]] - limits[i, depth]
        read += starts[i, depth] - starts[i, depths[i]]
        depths[i] = max(depths[i], depth)
    return depths


@njit
def _add_limits(starts, limits, depths, passages, allowed, scratch):  # type: ignore[no-untyped-def]
    """Add to `scratch` for each allowed passage in a list that is read its limit, less the limit of unread lists.

    Return these passages (n,), each once.
    """
    total = 0
    for i in range(len(starts)):
        total += starts[i, depths[i]] - starts[i, 0]
    touched = np.empty(total, dtype=np.int32)
    count = 0
    for i in range(len(starts)):
        for layer in range(depths[i]):
            # Never 0, which marks a passage that was not touched.
            limit = np.float32(max(limits[i, layer] - limits[i, depths[i]], 1e-30))
            for entry in range(starts[i, layer], starts[i, layer + 1]):
                passage = passages[entry]
                if len(allowed) and not allowed[passage]:
                    continue
                if scratch[passage] == 0.0:
                    touched[count] = passage
                    count += 1
                scratch[passage] += limit
    return touched[:count]


@njit
def _clear(touched, scratch):  # type: ignore[no-untyped-def]
    for passage in touched:
        scratch[passage] = 0.0


@njit
def _highest(touched, scratch, count):  # type: ignore[no-untyped-def]
    """Return `count` of the touched passages with the highest sums, or all if there are fewer."""
    if len(touched) <= count:
        return touched
    highest = np.zeros(count, dtype=np.float32)
    for passage in touched:
        _insert(highest, scratch[passage])
    chosen = np.empty(count, dtype=np.int32)
    size = 0
    for passage in touched:
        if scratch[passage] >= highest[0] and size < count:
            chosen[size] = passage
            size += 1
    return chosen[:size]


@njit
def _insert(best, score):  # type: ignore[no-untyped-def]
    if score <= best[0]:
        return
    i = 1
    while i < len(best) and best[i] < score:
        best[i - 1] = best[i]
        i += 1
    best[i - 1] = score
