"""Ways to damage a folder of weights."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import load_file, save_file

if TYPE_CHECKING:
    from clew.types import FloatArray


def change_config(**values: object) -> Callable[[Path], object]:
    """Return a function that changes values of the configuration."""

    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps({**config, **values}), encoding="utf-8")

    return change


def change_arrays(**values: "FloatArray | None") -> Callable[[Path], object]:
    """Return a function that replaces arrays, adds them, or removes those that are None."""

    def change(folder: Path) -> None:
        arrays = {**load_file(folder / "model.safetensors"), **values}
        save_file({n: array for n, array in arrays.items() if array is not None}, folder / "model.safetensors")

    return change


def write_bytes(name: str, content: bytes) -> Callable[[Path], object]:
    """Return a function that overwrites a file."""
    return lambda folder: (folder / name).write_bytes(content)


def zeros(*shape: int) -> "FloatArray":
    """Return an array of zeros in single precision."""
    return np.zeros(shape, dtype=np.float32)
