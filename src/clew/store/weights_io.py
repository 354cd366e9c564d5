"""Weights of small models on disk: a configuration anyone can read, and arrays beside it; no pickle."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.errors import ProviderError
from clew.store.atomic import atomic_file

if TYPE_CHECKING:
    from clew.types import FloatArray

CONFIG_FILE, ARRAYS_FILE = "config.json", "model.safetensors"
T = TypeVar("T")


def write_weights(folder: Path, config: Mapping[str, Any], arrays: "Mapping[str, FloatArray]") -> None:
    """Write a configuration and arrays into a folder, made when absent; each file appears whole or not at all.

    Raises:
        ProviderError: The disk refused.
    """
    from safetensors.numpy import save

    packed = save({name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()})
    with atomic_file(folder / ARRAYS_FILE) as file:
        file.write_bytes(packed)
    with atomic_file(folder / CONFIG_FILE) as file:
        file.write_text(json.dumps(dict(config), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_weights(folder: Path, description: str, build: "Callable[[dict[str, Any], dict[str, FloatArray]], T]") -> T:
    """Return what is made of a folder's configuration and arrays, all of whose values are finite.

    Args:
        folder: As `write_weights` left it.
        description: It is called in messages.
        build: Makes it; a KeyError, TypeError or ValueError says that they do not fit.

    Raises:
        ProviderError: A file is missing or damaged, or does not fit.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        arrays = {name: np.asarray(array, dtype=np.float32) for name, array in load_file(folder / ARRAYS_FILE).items()}
        if broken := sorted(name for name, array in arrays.items() if not np.isfinite(array).all()):
            raise ValueError(f"{broken[0]} holds NaN or infinite numbers")
        return build(config, arrays)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ProviderError(f"{description} in {folder} cannot be read ({error}): train or install it again") from error
