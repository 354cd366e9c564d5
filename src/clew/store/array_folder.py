"""Folders of `.npy` files, of which those that an earlier folder has already are linked and not written again."""

import io
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray


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
