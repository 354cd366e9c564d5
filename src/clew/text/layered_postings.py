"""Postings of BM25 in layers of impact: of a frequent term those passages first in which it counts most.

The postings of frequent terms are in layers by impact, strongest first, each with the highest impact in it; those of
other terms are in one list. `clew.text.best_passages` searches them.

Source: Anh and Moffat, "Pruned query evaluation using pre-computed impacts" (2006).
Differs from the source: impacts are not rounded, since passages are scored from the terms in their rows.
"""

import numpy as np

from clew.arrays import FloatArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.text.row_scores import term_impact

LAYERS = 16
_FIRST_LAYER, _STEP = 0.8, 0.035  # the first layer has impacts of at least 0.8, each further one of 0.035 less
_MIN_LAYERED = 256  # postings of a term with layers; shorter lists are read whole


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
