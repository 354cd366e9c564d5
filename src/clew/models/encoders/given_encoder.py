"""Encoders of somebody else: their rows are checked at each call.

Checks of the vectors that somebody else's encoder returns, before any is stored or searched with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, final

import numpy as np

from clew.errors import InputError
from clew.models.validation import require_unicode
from clew.plugins.arguments import Origin, check_members
from clew.protocols import Encoder

if TYPE_CHECKING:
    from clew.types import FloatArray


_MEMBERS = {"name": str, "dimension": int, "fingerprint": str, "encode": None, "encode_queries": None}


@final
@dataclass(frozen=True, slots=True, eq=False)
class GivenEncoder:
    """An encoder of somebody else whose rows are checked at each call."""

    encoder: Encoder  # the object
    name: str  # by which an index knows it
    origin: Origin  # where it comes from, for messages

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return int(self.encoder.dimension)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the object."""
        return self.encoder.fingerprint

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension); InputError: the object returned something else."""
        return self._run(self.encoder.encode, texts)

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension); InputError: the object returned something else."""
        return self._run(self.encoder.encode_queries, texts)

    def _run(self, encode: "Callable[[Sequence[str]], FloatArray]", texts: Sequence[str]) -> "FloatArray":
        require_unicode(texts)
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self.origin.map_errors():
            rows = encode(texts)
        return check_rows(rows, len(texts), self.dimension, self.encoder.name)


def check_encoder(given: object, kind: str = "encoder") -> Encoder:
    """Return an object that is an encoder; `kind` is what messages call it.

    Raises InputError where it lacks a member of `clew.Encoder`, or one is of another type or empty.
    """
    check_members(given, kind, _MEMBERS)
    encoder = cast("Encoder", given)
    if encoder.dimension < 0 or not encoder.name or not encoder.fingerprint:
        raise InputError(
            f"the encoder {encoder.name!r} has the dimension {encoder.dimension} and the fingerprint "
            f"{encoder.fingerprint!r}; give a name and a fingerprint, and 0 only where it makes no vectors"
        )
    return encoder


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
