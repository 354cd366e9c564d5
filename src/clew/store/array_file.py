"""Files of named arrays, mapped into memory when they are opened: one file in place of a folder of many."""

import json
import mmap
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.errors import IndexFormatError
from clew.store.atomic import atomic_file

_HASH_KEY = "blake2b"
_LENGTH_BYTES = 8


def write_arrays(file: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, str] | None = None) -> None:
    """Write arrays as one safetensors file, atomically; `about` are texts that `read_about` returns."""
    from safetensors.numpy import save_file

    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    digest = blake2b(digest_size=16)
    for name, array in sorted(contiguous.items()):
        digest.update(name.encode())
        digest.update(array.data if array.size else b"")
    with atomic_file(file) as temporary:
        save_file(contiguous, temporary, {**(about or {}), _HASH_KEY: digest.hexdigest()})


def map_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """Map the arrays of a file into memory; one that is missing or damaged in its header is an IndexFormatError."""
    try:
        with file.open("rb") as stream:
            header, start = _read_header(stream.read(_LENGTH_BYTES), stream)
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        return {
            name: np.frombuffer(
                mapped, _DTYPES[entry["dtype"]], int(np.prod(entry["shape"])), start + entry["data_offsets"][0]
            ).reshape(entry["shape"])
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexFormatError(
            f"the derived file {file.name} is missing or damaged ({error}): run `clew repair`"
        ) from error


def file_problem(file: Path) -> str | None:
    """Return what is wrong with a file's content, None for nothing; it reads all of it."""
    try:
        arrays = map_arrays(file)
        with file.open("rb") as stream:
            header, _ = _read_header(stream.read(_LENGTH_BYTES), stream)
    except (IndexFormatError, OSError, ValueError) as error:
        return str(error)
    digest = blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(name.encode())
        digest.update(array.data if array.size else b"")
    intact = header.get("__metadata__", {}).get(_HASH_KEY) == digest.hexdigest()
    return None if intact else f"{file.name} is not as it was written: run `clew repair`"


_DTYPES = {
    "BOOL": np.dtype(np.bool_), "U8": np.dtype("u1"), "U16": np.dtype("<u2"), "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"), "I8": np.dtype("i1"), "I16": np.dtype("<i2"), "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"), "F32": np.dtype("<f4"), "F64": np.dtype("<f8"),
}  # fmt: skip


def _read_header(length: bytes, stream: Any) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file and where its arrays begin."""
    size = int.from_bytes(length, "little")
    return json.loads(stream.read(size)), _LENGTH_BYTES + size
