"""Cosines of stored sentences, rows of 8-bit integers, with the vectors of a question, in exact integer arithmetic."""

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray
from clew.arrays.kernels import njit

_QUERY_SCALE = 32767.0  # a sum of 384 products with 8-bit values stays below 2 ** 31


def round_queries(vectors: FloatArray) -> NDArray[np.int16]:
    """Return unit rows (m, d) as integers, for `byte_similarities`."""
    rounded: NDArray[np.int16] = np.rint(vectors * np.float32(_QUERY_SCALE)).astype(np.int16)
    return rounded


@njit
def byte_similarities(codes: NDArray[np.int8], queries: NDArray[np.int16]) -> FloatArray:
    """Return the cosines (n, m) of the codes (n, d) with rounded queries (m, d); 0 for a zero row."""
    similarities = np.zeros((len(codes), len(queries)), dtype=np.float32)
    for i in range(len(codes)):
        row = codes[i]
        square = np.int32(0)
        for j in range(len(row)):
            square += np.int32(np.int16(row[j])) * np.int32(np.int16(row[j]))
        if square == 0:
            continue
        norm = np.sqrt(np.float64(square)) * _QUERY_SCALE
        for k in range(len(queries)):
            query = queries[k]
            product = np.int32(0)
            for j in range(len(row)):
                product += np.int32(np.int16(row[j])) * np.int32(query[j])
            similarities[i, k] = product / norm
    return similarities
