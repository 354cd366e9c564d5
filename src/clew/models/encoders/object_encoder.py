"""Encoders that are given as objects: checked when they are given, and known to the index by name and fingerprint."""

from collections.abc import Mapping
from typing import Any

from clew.errors import InputError
from clew.models.encoders.given_encoder import GivenEncoder, check_encoder
from clew.models.encoders.registry import ENCODERS
from clew.plugins.arguments import FROM_PYTHON, is_own, origin_of
from clew.protocols import Encoder


def accept_encoder(given: object) -> Encoder:
    """Return an encoder that was given as an object, with its rows checked, under the name that an index keeps.

    The name is its own where that opens it again: for an encoder of this package, or of one that adds it by an entry
    point. Else it is `python:NAME`, and opening the index needs the object. What it can do beside the members of
    `clew.Encoder` is not used.

    Raises:
        InputError: It lacks a member of `clew.Encoder`, or one is of another type.
    """
    encoder = check_encoder(given)
    if is_own(encoder):
        return encoder
    return GivenEncoder(encoder, stored_name(encoder), origin_of(given, "encoder"))


def stored_name(encoder: Encoder) -> str:
    """Return the name that an index keeps of an encoder; see `accept_encoder`."""
    kind = encoder.name.partition(":")[0]
    has_entry = kind in ENCODERS and kind not in ENCODERS.entries
    return encoder.name if is_own(encoder) or has_entry else f"{FROM_PYTHON}{encoder.name}"


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
