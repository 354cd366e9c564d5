"""Files of named arrays, mapped into memory when they are opened, folders of `.npy` files, and a cache of arrays.

The format of a file is that of safetensors: the length of a header, the header as JSON, the arrays. It is written here
array by array, without a second copy of them all in memory.
"""

import io
import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays.mapped_files import MappedFile, map_array
from clew.errors import IndexFormatError, ProviderError
from clew.store.atomic import (
    atomic_file,
    atomic_folder,
    discard_older,
    file_hash,
    file_stamp,
    read_note,
    remove_leftovers,
    write_note,
)
from clew.store.error_mapping import is_unwritable, unreadable_error

_logger = logging.getLogger(__name__)
_ARRAY_FILE, _CHECKSUM_FILE, _CHECKED_FILE = "array.npy", "checksum", "checked.json"
_ABOUT = "__metadata__"
_HASH_KEY = "blake2b"
_NAME_KEY = "name"
_HASH_CHARACTERS = 32
_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 1 << 24
_DTYPES = {
    "BOOL": np.dtype(np.bool_), "U8": np.dtype("u1"), "U16": np.dtype("<u2"), "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"), "I8": np.dtype("i1"), "I16": np.dtype("<i2"), "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"), "F32": np.dtype("<f4"), "F64": np.dtype("<f8"),
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayFile:
    """A file of arrays that is mapped into memory."""

    arrays: dict[str, NDArray[Any]]  # in the order in which they lie in the file
    hash: str  # of the arrays, as it stands in the file's header
    size: int  # bytes
    file: MappedFile

    @classmethod
    def open(cls, file: Path) -> "ArrayFile":
        """Map a file; one that is missing or damaged in its header is an IndexFormatError."""
        try:
            opened = MappedFile(file)
            mapped = opened.data
            size = int.from_bytes(mapped[:_LENGTH_BYTES].tobytes(), "little")
            start = _LENGTH_BYTES + size
            if size > _MAX_HEADER_BYTES or start > len(mapped):
                raise ValueError(f"its header has {size} bytes, and the file {len(mapped)}")
            header = json.loads(mapped[_LENGTH_BYTES:start].tobytes())
            about = header.pop(_ABOUT)
            hash_ = about[_HASH_KEY]
            if about.get(_NAME_KEY, file.name) != file.name:
                raise ValueError(f"it was written as {about[_NAME_KEY]}")
            end = 0
            arrays: dict[str, NDArray[Any]] = {}
            for name, entry in header.items():
                dtype, shape = _DTYPES[entry["dtype"]], [_whole_number(count) for count in entry["shape"]]
                begin, end = end, end + prod(shape) * dtype.itemsize
                if entry["data_offsets"] != [begin, end] or start + end > len(mapped):
                    raise ValueError(f"the array {name} does not lie at {entry['data_offsets']}")
                arrays[name] = np.frombuffer(mapped, dtype, prod(shape), start + begin).reshape(shape)
            if start + end != len(mapped):
                raise ValueError(f"it has {len(mapped)} bytes, not {start + end}")
        except OSError as error:
            raise unreadable_error(file, error) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise IndexFormatError(
                f"the derived file {file.name} is missing or damaged ({error}): run `clew repair`"
            ) from error
        return cls(arrays, str(hash_), len(mapped), opened)

    def is_as_written(self) -> bool:
        """Return whether the arrays have the hash in the file's header; it reads all of them."""
        return _content_hash(self.arrays) == self.hash

    def release_memory(self) -> None:
        """Give back the memory of what was read of the arrays, which stay valid: it is read again when it is needed."""
        self.file.release_memory()


def write_arrays(file: Path, arrays: Mapping[str, NDArray[Any]], *, is_named: bool = False) -> None:
    """Write arrays of any shapes, by name, as one safetensors file, atomically; equal arrays give equal bytes.

    A file that `is_named` holds its name, and under another one it is damaged: its name tells what it was made from.
    """
    # Wide types first, so that every array is aligned.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    contiguous = {name: np.ascontiguousarray(arrays[name]).reshape(arrays[name].shape) for name in names}
    about = {_HASH_KEY: _content_hash(contiguous), **({_NAME_KEY: file.name} if is_named else {})}
    header: dict[str, Any] = {_ABOUT: about}
    end = 0
    for name, array in contiguous.items():
        start, end = end, end + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with atomic_file(file) as temporary, temporary.open("wb") as stream:
        stream.write(len(text).to_bytes(_LENGTH_BYTES, "little") + text)
        for array in contiguous.values():
            stream.write(array.reshape(-1).view(np.uint8).data)


def map_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """Map a file's arrays, by name, in the shapes written; one missing or damaged in its header: IndexFormatError."""
    return ArrayFile.open(file).arrays


def file_problem(file: Path) -> str | None:
    """Return what is wrong with a file, None for nothing; it reads all of it."""
    try:
        mapped = ArrayFile.open(file)
    except IndexFormatError as error:
        return str(error)
    return None if mapped.is_as_written() else f"{file.name} is not as it was written: run `clew repair`"


def open_intact(file: Path) -> ArrayFile | None:
    """Map a file, all of which is read and checked; None where it is missing or damaged."""
    if not file.is_file():
        return None
    with suppress(IndexFormatError):
        opened = ArrayFile.open(file)
        return opened if opened.is_as_written() else None
    return None


def _whole_number(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 48:
        raise ValueError(f"a length is {value!r}")
    return value


def _content_hash(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = blake2b(digest_size=_HASH_CHARACTERS // 2)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


@final
class ArrayFolder:
    """Writes arrays into a new folder and hashes them on the way.

    `earlier` is a folder of the same kind with the hashes of its files, by name. A file of equal content is a hard link
    to that one, or written where the file system has no such links.
    """

    def __init__(self, folder: Path, earlier: Path | None = None, hashes: Mapping[str, str] | None = None) -> None:
        self.hashes: dict[str, str] = {}
        self.linked: list[str] = []
        self._folder = folder
        self._earlier = earlier
        self._known = hashes or {}

    def write(self, name: str, array: NDArray[Any]) -> None:
        """Write an array (...,) as `NAME.npy`."""
        header = io.BytesIO()
        array = np.asarray(array, order="C")
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
        digest = blake2b(header.getvalue(), digest_size=16)
        digest.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
        file = f"{name}.npy"
        self.hashes[file] = digest.hexdigest()
        if not self._link(file, len(header.getvalue()) + array.nbytes):
            with (self._folder / file).open("wb") as stream:
                stream.write(header.getvalue())
                array.tofile(stream)

    def _link(self, file: str, size: int) -> bool:
        """Link the earlier folder's file in if it is the same; its content was hashed when it was written."""
        if self._earlier is None or self._known.get(file) != self.hashes[file]:
            return False
        try:
            if (self._earlier / file).stat().st_size != size:
                return False
            os.link(self._earlier / file, self._folder / file)
        except OSError:
            return False
        self.linked.append(file)
        return True


def load_or_compute(folder: Path, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return a folder's array (...,), memory-mapped; compute and store it when absent or damaged.

    Where the place is full or may not be written it stays in memory; another failure to write is a
    ProviderError. The folder `.../VERSION/NAME` names all that the array depends on; of other versions only the newest
    stays. A file is hashed once, and again when its size or time of modification has changed; `array_problems` always
    hashes.
    """
    if not _is_intact(folder):
        array = compute()
        try:
            _store(folder, array)
        except ProviderError as error:
            if not is_unwritable(error):
                raise
            _logger.info("%s is computed in each process: %s", folder, error)
            return array
        discard_older(folder.parent, "[0-9a-z]*")
        for parent in (folder.parent, folder.parent.parent):
            remove_leftovers(parent)
    return map_array(folder / _ARRAY_FILE)


def _store(folder: Path, array: NDArray[Any]) -> None:
    with atomic_folder(folder, replace=lambda other: not _is_intact(other)) as temporary:
        np.save(temporary / _ARRAY_FILE, array, allow_pickle=False)
        (temporary / _CHECKSUM_FILE).write_text(file_hash(temporary / _ARRAY_FILE), encoding="ascii")
        write_note(temporary / _CHECKED_FILE, file_stamp(temporary / _ARRAY_FILE))


def array_problems(version: Path) -> list[str]:
    """Return a line for each array of a version, `.../VERSION`, that is not as it was written; every file is hashed."""
    folders = sorted(path.parent for path in version.glob(f"[!.]*/{_ARRAY_FILE}"))
    damaged = [folder for folder in folders if not _has_checksum(folder)]
    return [f"arrays/{version.name}/{folder.name} is not as it was written: run `clew repair`" for folder in damaged]


def _is_intact(folder: Path) -> bool:
    stamp = file_stamp(folder / _ARRAY_FILE)
    if stamp is not None and read_note(folder / _CHECKED_FILE) == stamp:
        return True
    if not _has_checksum(folder):
        return False
    write_note(folder / _CHECKED_FILE, stamp)
    return True


def _has_checksum(folder: Path) -> bool:
    try:
        return (folder / _CHECKSUM_FILE).read_text(encoding="ascii") == file_hash(folder / _ARRAY_FILE)
    except (OSError, ValueError):
        return False
