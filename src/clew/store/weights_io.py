"""Storage of weights as a readable JSON configuration and a file of arrays, without pickle."""

import json
from collections.abc import Callable, Mapping, Sized
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from clew.arrays import FloatArray
from clew.errors import ProviderError
from clew.store.atomic import atomic_file
from clew.store.pretrained import CONFIG_FILE

ARRAYS_FILE = "model.safetensors"
T = TypeVar("T")


def write_weights(folder: Path, config: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> None:
    """Write a configuration and arrays to a folder, created if absent; each file is written atomically."""
    from safetensors.numpy import save

    packed = save({name: np.asarray(array, dtype=np.float32, order="C") for name, array in arrays.items()})
    with atomic_file(folder / ARRAYS_FILE) as file:
        file.write_bytes(packed)
    with atomic_file(folder / CONFIG_FILE) as file:
        file.write_text(json.dumps(dict(config), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_weights(folder: Path, description: str, build: Callable[[dict[str, Any], dict[str, FloatArray]], T]) -> T:
    """Return what `build` makes of a folder's configuration and arrays, which must be finite; else a ProviderError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        arrays = {name: np.asarray(array, dtype=np.float32) for name, array in load_file(folder / ARRAYS_FILE).items()}
        if broken := sorted(name for name, array in arrays.items() if not np.isfinite(array).all()):
            raise ValueError(f"{broken[0]} holds NaN or infinite numbers")
        return build(config, arrays)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise ProviderError(f"{description} in {folder} cannot be read ({error}): train or install it again") from error


def check_layers(layers: object, arrays: Sized) -> None:
    """Raise a ValueError where a configuration has not at least one layer, and at least one array for each.

    It is called before anything is made from the configuration: the shapes of 10^12 layers would not end.
    """
    if type(layers) is not int or not 1 <= layers <= len(arrays):
        raise ValueError(f"{layers!r} layers; wanted 1 to {len(arrays)}, the number of arrays")
