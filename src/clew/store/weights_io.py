"""Storage of weights as a readable JSON configuration and a file of arrays, without pickle.

The configuration holds a checksum of itself and of the file, since a flipped bit of an array still is a number. Weights
of before have none, and are read without it.
"""

import json
from collections.abc import Callable, Mapping, Sized
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError, ProviderError
from clew.store.atomic import atomic_file

# Weights shipped with the package, one folder for each retriever.
PRETRAINED_FOLDER = Path(__file__).parents[1] / "weights"
CONFIG_FILE = "config.json"
ARRAYS_FILE = "model.safetensors"
CHECKSUM_KEY = "checksum"
T = TypeVar("T")


def read_encoder_fingerprint(folder: Path) -> str:
    """Return the fingerprint of the encoder that weights were trained on; a damaged folder is a ProviderError."""
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        return str(config["encoder"]["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProviderError(f"the weights in {folder} cannot be read ({error}): install or train them again") from error


def adapted_weights_folder(derived: Path, name: str) -> Path:
    """Return the folder, maybe absent, of weights adapted to an index; unlike `derived` they cannot be recomputed."""
    return derived.parent / "weights" / name


def existing_weights(given: Path, label: str) -> Path:
    """Return a folder of weights that a user names in a setting; raises InputError where it holds none."""
    folder = given.expanduser()
    if not (folder / CONFIG_FILE).is_file():
        if str(given).startswith("hf:") and label.startswith("gfm"):
            raise InputError(
                f"{label} is {str(given)!r}; wanted a folder: import the checkpoint into one by clew weights import "
                "hf:OWNER/NAME --out FOLDER, and give that"
            )
        raise InputError(f"{label} is {str(given)!r}, which holds no {CONFIG_FILE}; give a folder that clew train made")
    return folder


def write_weights(folder: Path, config: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> None:
    """Write a configuration and arrays (...,) by name to a folder, created if absent; each file atomically."""
    from safetensors.numpy import save

    packed = save({name: np.asarray(array, dtype=np.float32, order="C") for name, array in arrays.items()})
    with atomic_file(folder / ARRAYS_FILE) as file:
        file.write_bytes(packed)
    with atomic_file(folder / CONFIG_FILE) as file:
        file.write_text(json.dumps(add_checksum(config, packed), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_weights(folder: Path, description: str, build: Callable[[dict[str, Any], dict[str, FloatArray]], T]) -> T:
    """Return what `build` makes of a folder's configuration and arrays, which must be finite; else a ProviderError.

    The arrays are float32, by name, in the shapes that `write_weights` was given.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        packed = (folder / ARRAYS_FILE).read_bytes()
        arrays = {name: np.asarray(array, dtype=np.float32) for name, array in load(packed).items()}
        if broken := sorted(name for name, array in arrays.items() if not np.isfinite(array).all()):
            raise ValueError(f"{broken[0]} holds NaN or infinite numbers")
        stored = config.pop(CHECKSUM_KEY, None) if isinstance(config, dict) else None
        built = build(config, arrays)  # says what does not fit, where that shows
        check_checksum(config, packed, stored)
        return built
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError, SafetensorError) as error:
        raise ProviderError(f"{description} in {folder} cannot be read ({error}): train or install it again") from error


def check_layers(layers: object, arrays: Sized) -> None:
    """Raise a ValueError where a configuration has not at least one layer, and at least one array for each.

    It is called before anything is made from the configuration: the shapes of 10^12 layers would not end.
    """
    if type(layers) is not int or not 1 <= layers <= len(arrays):
        raise ValueError(f"{layers!r} layers; wanted 1 to {len(arrays)}, the number of arrays")


def add_checksum(config: Mapping[str, Any], packed: bytes) -> dict[str, Any]:
    """Return a configuration with the checksum of it and of the bytes of its file of arrays."""
    return {**config, CHECKSUM_KEY: _checksum(config, packed)}


def check_checksum(config: Mapping[str, Any], packed: bytes, stored: object) -> None:
    """Raise a ValueError where a configuration without its checksum, or its file, is not what was written.

    `stored` is the checksum that it had, None for none.
    """
    if stored is not None and stored != _checksum(config, packed):
        raise ValueError("it is not what was written: its checksum differs")


def _checksum(config: Mapping[str, Any], packed: bytes) -> str:
    written = json.loads(json.dumps(dict(config)))  # as it is read back
    digest = blake2b(json.dumps(written, sort_keys=True).encode(), digest_size=16)
    digest.update(packed)
    return digest.hexdigest()
