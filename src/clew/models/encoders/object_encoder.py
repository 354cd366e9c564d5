"""Encoders that are given as objects: checked when they are given, and known to the index by name and fingerprint."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, final

from clew.errors import InputError
from clew.models.encoders.registry import ENCODERS
from clew.models.encoders.row_check import check_rows
from clew.plugins.arguments import FROM_PYTHON, check_members
from clew.protocols import Encoder

if TYPE_CHECKING:
    from clew.types import FloatArray

_OWN = "clew."


@final
class GivenEncoder:
    """An encoder of somebody else whose rows are checked at each call.

    Args:
        encoder: The object.
        name: The name by which an index knows it.
    """

    def __init__(self, encoder: Encoder, name: str) -> None:
        self._encoder = encoder
        self._name = name

    @property
    def name(self) -> str:
        """The name by which an index knows the encoder."""
        return self._name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return int(self._encoder.dimension)

    @property
    def fingerprint(self) -> str:
        """That of the object."""
        return self._encoder.fingerprint

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension); InputError: the object returned something else."""
        return check_rows(self._encoder.encode(texts), len(texts), self.dimension, self._encoder.name)

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension); InputError: the object returned something else."""
        return check_rows(self._encoder.encode_queries(texts), len(texts), self.dimension, self._encoder.name)


def accept_encoder(given: object) -> Encoder:
    """Return an encoder that was given as an object, with its rows checked, under the name that an index keeps.

    The name is its own where that opens it again: for an encoder of this package, or of one that adds it by an entry
    point. Else it is `python:NAME`, and opening the index needs the object. What it can do beside the members of
    `clew.Encoder` is not used.

    Raises:
        InputError: It lacks a member of `clew.Encoder`, or one is of another type.
    """
    members = {"name": str, "dimension": int, "fingerprint": str, "encode": None, "encode_queries": None}
    check_members(given, "encoder", members)
    encoder = cast("Encoder", given)
    if encoder.dimension < 0 or not encoder.name or not encoder.fingerprint:
        raise InputError(
            f"the encoder {encoder.name!r} has the dimension {encoder.dimension} and the fingerprint "
            f"{encoder.fingerprint!r}; give a name and a fingerprint, and 0 only where it makes no vectors"
        )
    if type(encoder).__module__.startswith(_OWN):
        return encoder
    return GivenEncoder(encoder, stored_name(encoder))


def stored_name(encoder: Encoder) -> str:
    """Return the name that an index keeps of an encoder; see `accept_encoder`."""
    kind = encoder.name.partition(":")[0]
    is_own = type(encoder).__module__.startswith(_OWN)
    has_entry = kind in ENCODERS and kind not in ENCODERS.entries
    return encoder.name if is_own or has_entry else f"{FROM_PYTHON}{encoder.name}"


def accept_index_encoder(given: object, settings: Mapping[str, Any], dimension: int, location: str) -> Encoder:
    """Return the encoder of an index that is opened with it, given the index's settings and the width of its vectors.

    Raises:
        InputError: It is no encoder, or not the one that the index was made with.
    """
    encoder, wanted = accept_encoder(given), settings["encoder_fingerprint"]
    if encoder.dimension != dimension or encoder.fingerprint != wanted:
        name = str(settings["encoder"]).removeprefix(FROM_PYTHON)
        raise InputError(
            f"{location} was made with the encoder {name} of fingerprint {wanted} and dimension {dimension}, and the "
            f"one given, {encoder.name.removeprefix(FROM_PYTHON)}, has {encoder.fingerprint} and {encoder.dimension}: "
            "give that one, or change the vectors by index.reencode"
        )
    return encoder
