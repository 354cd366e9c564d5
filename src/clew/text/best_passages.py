"""Search for the passages with the best BM25 scores that skips most postings, and the layers that it skips.

The postings of frequent terms are in layers by impact, strongest first, each with the highest impact in it; those of
other terms are in one list. The search first scores some promising passages, whose scores are a threshold, and then
reads only so many layers, from above, that a passage in none of them stays below it. For each passage read, the
bounds of its layers are added up, and it is scored only if the sum reaches the threshold. The result is exact.

Source: Turtle and Flood, "Query Evaluation: Strategies and Optimizations" (1995), MaxScore, for the lists that need not
be read; Anh and Moffat, "Pruned query evaluation using pre-computed impacts" (2006), for layers by impact.
Differs from the source: impacts are not rounded; each layer is a list of MaxScore of its own; the passages that remain
are scored from the terms in their rows.
"""

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.text.row_scores import score_row, term_impact

LAYERS = 16
_FIRST_LAYER, _STEP = 0.8, 0.035  # the first layer has impacts of at least 0.8, each further one of 0.035 less
_MIN_LAYERED = 256  # postings of a term with layers; shorter lists are read whole
_SLACK = 1.00001  # bounds are raised by this, more than rounding can lower them
_HIGHEST, _NEEDED = 255, 100  # units: a sum that would be higher stays at the highest
_SEED_POSTINGS, _SEED_SHARE, _SEEDS = 2000, 32, 16
_READ_SHARE = 0.4  # postings are read until unread ones have less than this share of the threshold: scoring costs more


# A list is a layer of a term, or all postings of a term without layers. `limits[t, depth]` is the highest contribution
# of the lists of term t from `depth` on; a passage in none of the lists that are read scores at most the sum of these.
@njit
def best_passages(
    row_offsets: LongArray,
    row_terms: IntArray,
    row_counts: NDArray[np.uint16],
    lengths: IntArray,
    base: float,
    slope: float,
    offsets: LongArray,
    passages: IntArray,
    bounds: FloatArray,
    layer_offsets: LongArray,
    layer_bounds: FloatArray,
    terms: IntArray,
    weights: DoubleArray,
    slots: IntArray,
    layered: LongArray,
    k: int,
    allowed: BoolArray,
    sums: NDArray[np.uint8],
) -> tuple[IntArray, FloatArray]:
    """Return passages that hold the `k` best of the allowed ones, in no order, and their scores (n,).

    `layered` (q,) is the row in `layer_offsets` of each term, -1 for none; `allowed` is (P,), or (0,) for all passages;
    `sums` are zeros (P,), and zeros afterwards.
    """
    starts, limits = _list_limits(offsets, bounds, layer_offsets, layer_bounds, terms, weights, layered)
    step_terms, step_depths = _order_steps(starts, limits)
    best = np.zeros(k, dtype=np.float32)  # the k highest scores of some passages, ascending
    threshold = np.float32(0.0)
    # First a few postings for a threshold, then as many as it asks for.
    most = _SEED_POSTINGS + 8 * k + (starts[:, LAYERS] - starts[:, 0]).sum() // _SEED_SHARE
    depths = _choose_depths(starts, limits, step_terms, step_depths, 0.0, most)
    found, found_sums = _collect(starts, limits, depths, passages, allowed, sums, limits[:, 0].sum() / _HIGHEST, 1)
    for passage in found[_highest(found_sums, k + _SEEDS)]:
        _insert(
            best, score_row(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, slots, passage)
        )
    threshold = best[0]
    depths = _choose_depths(starts, limits, step_terms, step_depths, _READ_SHARE * threshold, -1)
    rest = 0.0
    for i in range(len(terms)):
        rest += limits[i, depths[i]]
    # Limits are added up as whole numbers of units, rounded up; what a passage needs for the threshold is 100 of them.
    unit = (threshold - rest if threshold > rest else limits[:, 0].sum()) / _NEEDED
    found, found_sums = _collect(
        starts, limits, depths, passages, allowed, sums, unit, _least_sum(threshold, rest, unit)
    )
    best[:] = 0.0
    for passage in found[_highest(found_sums, k + _SEEDS)]:
        _insert(
            best, score_row(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, slots, passage)
        )
    threshold = max(threshold, best[0])
    best[:] = 0.0
    least = _least_sum(threshold, rest, unit)
    scores = np.empty(len(found), dtype=np.float32)
    count = 0
    for i in range(len(found)):
        if found_sums[i] < least:
            continue
        passage = found[i]
        score = score_row(row_offsets, row_terms, row_counts, lengths, base, slope, terms, weights, slots, passage)
        if score >= threshold and score > 0.0:
            found[count], scores[count] = passage, score
            count += 1
            _insert(best, score)
            if best[0] > threshold:
                threshold = best[0]
                least = _least_sum(threshold, rest, unit)
    return found[:count], scores[:count]


@njit
def _least_sum(threshold, rest, unit):  # type: ignore[no-untyped-def]
    """Return the least sum of a passage that may have a score of at least the threshold."""
    return min(max(int((threshold - rest) / unit), 1), _HIGHEST)


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
def _choose_depths(starts, limits, step_terms, step_depths, target, most):  # type: ignore[no-untyped-def]
    """Return how many lists of each term (q,) are read.

    As many as bring the sum of limits below the target, unless it is 0, and about `most` postings at most, unless it is
    negative.
    """
    depths = np.zeros(len(starts), dtype=np.int64)
    rest, read = limits[:, 0].sum(), 0
    for step in range(len(step_terms)):
        if (target > 0.0 and rest < target) or 0 <= most <= read:
            break
        i, depth = step_terms[step], step_depths[step]
        if 0 <= 4 * most < starts[i, depth] - starts[i, depths[i]] and read > 0:
            continue
        rest -= limits[i, depths[i]] - limits[i, depth]
        read += starts[i, depth] - starts[i, depths[i]]
        depths[i] = max(depths[i], depth)
    return depths


@njit
def _collect(starts, limits, depths, passages, allowed, sums, unit, least):  # type: ignore[no-untyped-def]
    """Return the allowed passages whose limits in the lists that are read add up to at least `least` units, and these.

    The limit of a list is reduced by that of the unread lists of its term, since that is in the sum of the unread ones.
    """
    total = 0
    for i in range(len(starts)):
        for layer in range(depths[i]):
            limit = min(int((limits[i, layer] - limits[i, depths[i]]) / unit + 1.0), _HIGHEST)
            total += starts[i, layer + 1] - starts[i, layer]
            for entry in range(starts[i, layer], starts[i, layer + 1]):
                passage = passages[entry]
                sums[passage] = min(sums[passage] + limit, _HIGHEST)
    found, found_sums = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.uint8)
    count = 0
    for i in range(len(starts)):
        for entry in range(starts[i, 0], starts[i, depths[i]]):
            passage = passages[entry]
            value = sums[passage]
            sums[passage] = 0
            if value >= least and (len(allowed) == 0 or allowed[passage]):
                found[count], found_sums[count] = passage, value
                count += 1
    return found[:count], found_sums[:count]


@njit
def _highest(values, count):  # type: ignore[no-untyped-def]
    """Return the positions of `count` of the highest values, or of all if there are fewer."""
    if len(values) <= count:
        return np.arange(len(values))
    highest = np.zeros(count, dtype=np.float32)
    for value in values:
        _insert(highest, np.float32(value))
    chosen = np.empty(count, dtype=np.int64)
    size = 0
    for i in range(len(values)):
        if values[i] >= highest[0] and size < count:
            chosen[size] = i
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
def _layer(impact):  # type: ignore[no-untyped-def]
    return min(max(int((_FIRST_LAYER - impact) / _STEP + 1.0), 0), LAYERS - 1)


@njit
def _measure_layers(  # type: ignore[no-untyped-def]
    row_offsets, row_terms, row_counts, lengths, base, slope, layer_of_term, sizes, layer_bounds, bounds
):
    for passage in range(len(lengths)):
        for entry in range(row_offsets[passage], row_offsets[passage + 1]):
            term = row_terms[entry]
            impact = term_impact(float(row_counts[entry]), lengths[passage], base, slope)
            bounds[term] = max(bounds[term], np.float32(impact))
            row = layer_of_term[term]
            if row >= 0:
                layer = _layer(impact)
                sizes[row, layer] += 1
                layer_bounds[row, layer] = max(layer_bounds[row, layer], np.float32(impact))


@njit
def _place_postings(  # type: ignore[no-untyped-def]
    row_offsets, row_terms, row_counts, lengths, base, slope, layer_of_term, cursors, layer_cursors, out
):
    for passage in range(len(lengths)):
        for entry in range(row_offsets[passage], row_offsets[passage + 1]):
            term = row_terms[entry]
            row = layer_of_term[term]
            if row >= 0:
                layer = _layer(term_impact(float(row_counts[entry]), lengths[passage], base, slope))
                out[layer_cursors[row, layer]] = passage
                layer_cursors[row, layer] += 1
            else:
                out[cursors[term]] = passage
                cursors[term] += 1
