"""Checks of the vectors that somebody else's encoder returns, before any is stored or searched with."""

from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import FloatArray

_LENGTH_TOLERANCE = 1e-3  # of a unit row; half precision differs by less


def check_rows(rows: object, count: int, dimension: int, name: str) -> "FloatArray":
    """Return rows (count, dimension) in single precision, as they are but for that.

    Raises:
        InputError: They have another shape, hold no numbers, one that is not finite, or are no unit rows.
    """
    wanted = f"wanted unit rows ({count}, {dimension})"
    try:
        array = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"the encoder {name} returned {type(rows).__name__}, {error}; {wanted}") from error
    if array.shape != (count, dimension):
        raise InputError(f"the encoder {name} returned an array of shape {array.shape}; {wanted}")
    lengths = np.linalg.norm(array.astype(np.float64), axis=1)
    bad = np.flatnonzero(~(np.abs(lengths - 1.0) <= _LENGTH_TOLERANCE))  # NaN is bad, too
    if len(bad):
        row = int(bad[0])
        raise InputError(f"row {row} of the encoder {name} has the length {lengths[row]:g}; {wanted}: divide by it")
    checked: FloatArray = np.ascontiguousarray(array)
    return checked
