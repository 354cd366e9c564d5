"""Registry of encoders by name, extended by entry points of the group `clew.encoders`.

Encoders that are given as objects: checked when they are given, and known to the index by name and fingerprint.

Encoders whose vectors a network may read that was trained on another encoder's.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.models.encoders.given_encoder import GivenEncoder, check_encoder
from clew.models.encoders.hashing import HashingEncoder, NoEncoder
from clew.models.encoders.int4_e5 import Int4E5
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.sentence_transformer import EmbeddingConfig, SentenceTransformerEncoder
from clew.plugins.arguments import FROM_PYTHON, is_own, origin_of
from clew.plugins.registry import Registry
from clew.plugins.spec import nearest
from clew.protocols import Encoder, SpanEncoder, TokenEncoder

if TYPE_CHECKING:
    from clew.protocols import Encoder


DEFAULT_ENCODER = "all-MiniLM-L6-v2-int8"
FP32_MINILM = "all-MiniLM-L6-v2"
"""The published form of the default encoder's weights, which sentence-transformers opens."""
ENGLISH_ENCODERS = (DEFAULT_ENCODER, f"sentence-transformers/{FP32_MINILM}")
MULTILINGUAL_ENCODER = "multilingual-e5-small-int4"
OPENAI_EMBEDDINGS, OLLAMA_EMBEDDINGS = "openai-embeddings", "ollama-embeddings"

USE_DEFAULT = f"use --encoder {DEFAULT_ENCODER}, which needs no torch"
"""The way out where an encoder cannot be opened that an option or a setting names."""

_WITHOUT_ARGUMENT = (DEFAULT_ENCODER, FP32_MINILM, MULTILINGUAL_ENCODER, "none")
_SIMILAR_MODEL = 0.85  # of the letters of a name in common, beside all of its digits, which tell models apart
_ALIASES = {
    "bundled": DEFAULT_ENCODER,
    "multilingual": MULTILINGUAL_ENCODER,
    FP32_MINILM: f"sentence-transformers/{FP32_MINILM}",
}


@dataclass(frozen=True, slots=True)
class EncoderEntry:
    """A registered encoder; an installed package adds one by an entry point of the group `clew.encoders`.

    Attributes:
        summary: One line for listings.
        build: Builds the encoder from the text after the colon of its name, "" for none. The encoder's `name` must open
            it again.
    """

    summary: str
    build: "Callable[[str], Encoder]"


def _build_hashing(argument: str) -> "Encoder":
    if not argument:
        return HashingEncoder()
    if not (argument.isascii() and argument.isdigit()):
        raise InputError(f"encoder 'hashing:{argument}'; wanted a whole number after the colon, such as hashing:512")
    return HashingEncoder(int(argument))


def _build_remote(kind: str, protocol: str, argument: str) -> "Encoder":
    from clew.models.encoders.remote import request
    from clew.models.encoders.remote.encoder import RemoteEncoder

    return RemoteEncoder(kind, argument, getattr(request, protocol)())


ENCODERS = Registry(
    "encoder",
    "clew.encoders",
    {
        DEFAULT_ENCODER: EncoderEntry(
            "384 dimensions, 8-bit integers; its weights are bundled", lambda _: Int8MiniLM()
        ),
        MULTILINGUAL_ENCODER: EncoderEntry(
            "a hundred languages, 384 dimensions, 4-bit integers; needs the extra multilingual", lambda _: Int4E5()
        ),
        "hashing": EncoderEntry("hashed words; no weights", _build_hashing),
        "none": EncoderEntry("no vectors", lambda _: NoEncoder()),
        OLLAMA_EMBEDDINGS: EncoderEntry(
            "a model of Ollama: ollama-embeddings:MODEL", partial(_build_remote, OLLAMA_EMBEDDINGS, "OllamaEmbeddings")
        ),
        OPENAI_EMBEDDINGS: EncoderEntry(
            "a server with OpenAI's protocol: openai-embeddings:MODEL or openai-embeddings:MODEL@URL",
            partial(_build_remote, OPENAI_EMBEDDINGS, "OpenAIEmbeddings"),
        ),
    },
    EncoderEntry,
)


def open_encoder(
    name: str, config: EmbeddingConfig | None = None, device: str = "auto", otherwise: str = USE_DEFAULT
) -> "Encoder":
    """Return the encoder of a name; nothing is loaded or downloaded before its first use.

    Args:
        name: "all-MiniLM-L6-v2-int8" (or "bundled"), "multilingual-e5-small-int4" (or "multilingual"), "hashing",
            "hashing:512", "none", "openai-embeddings:MODEL" or "ollama-embeddings:MODEL" for a model that a server
            runs, one that an installed package adds, or any name that sentence-transformers opens: "owner/name",
            "owner/name@revision", or a folder.
        config: Normalisation and prompts that a network was trained with; None for the model's own. It applies to
            sentence-transformers models only.
        device: Where a model runs that torch runs: "auto", "cpu", "cuda" or "mps".
        otherwise: What to do where the encoder cannot be opened, for the end of messages.

    Raises:
        InputError: The name is empty or resembles that of a registered encoder, the width after "hashing:" is not a
            whole number of at least 1.
    """
    name = _ALIASES.get(name, name)
    kind, _, argument = name.partition(":")
    if name in ENCODERS or (kind in ENCODERS and kind not in _WITHOUT_ARGUMENT and name != "hashing:"):
        return _open_entry(kind, argument)
    if name == "hashing:":
        raise InputError("encoder 'hashing:'; wanted a whole number after the colon, such as hashing:512")
    if not name.strip():
        raise InputError(f"encoder {name!r}; wanted {DEFAULT_ENCODER}, hashing, none or a sentence-transformers name")
    if "/" not in name and not Path(name).exists() and (similar := _similar_encoder(name)):
        raise InputError(f"encoder {name!r}; did you mean {similar}?")
    model, _, revision = name.rpartition("@")
    if model and not Path(name).exists():
        return SentenceTransformerEncoder(model, revision, config, device, otherwise)
    return SentenceTransformerEncoder(name, None, config, device, otherwise)


def _open_entry(kind: str, argument: str) -> "Encoder":
    """Return a registered encoder; the rows of an installed package's are checked, unless it gives those of parts."""
    encoder: Encoder = ENCODERS.build(kind, argument)
    if kind in ENCODERS.entries:
        return encoder
    origin = ENCODERS.origin(kind)
    checked = check_encoder(encoder, origin.label)
    return encoder if isinstance(encoder, SpanEncoder | TokenEncoder) else GivenEncoder(checked, checked.name, origin)


def _similar_encoder(name: str) -> str:
    """Return the registered encoder that a name may stand for, "" for a name that sentence-transformers may know."""
    kind, colon, _ = name.partition(":")
    without_argument = (*_WITHOUT_ARGUMENT, *_ALIASES)
    if colon:
        known = [other for other in ENCODERS if other not in without_argument]
        return nearest(kind, without_argument if kind in without_argument else known)
    models = (DEFAULT_ENCODER, FP32_MINILM)
    if similar := nearest(name, [other for other in (*ENCODERS, "bundled", "multilingual") if other not in models]):
        return similar
    # Other models have names much like these: all-MiniLM-L12-v2, all-MiniLM-L6-v1.
    closest = nearest(name, models)
    folded, others = name.casefold().replace("_", "-"), closest.casefold()
    same_digits = re.findall(r"\d", folded) == re.findall(r"\d", others)
    alike = same_digits and SequenceMatcher(None, folded, others).ratio() >= _SIMILAR_MODEL
    return closest if alike or folded.startswith(FP32_MINILM.casefold()) else ""


def open_index_encoder(settings: Mapping[str, Any], dimension: int, device: str, location: str) -> "Encoder":
    """Return the encoder that an index was made with, given its settings and the width of its vectors.

    `location` is that of the index, for messages.

    Raises:
        InputError: The encoder installed here has other weights.
    """
    way_out = f"run clew reencode --index {location} --encoder {DEFAULT_ENCODER}"
    name = str(settings["encoder"]).removeprefix(FROM_PYTHON)
    if name != settings["encoder"] and name.partition(":")[0] not in ENCODERS:
        raise InputError(
            f"the index was made with the encoder {name!r}, an object of Python: give it, "
            f"clew.open({location!r}, encoder=...), install a package that adds it, or {way_out}"
        )
    encoder = open_encoder(name, None, device, f"{way_out}, which needs no torch")
    wanted = settings["encoder_fingerprint"]
    if encoder.dimension != dimension or encoder.fingerprint != wanted:
        raise InputError(
            f"the index was made with the encoder {encoder.name} of fingerprint {wanted}, and the one installed "
            f"has {encoder.fingerprint}: install the weights it was made with, or {way_out}"
        )
    return encoder


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
