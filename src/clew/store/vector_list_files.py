"""The files of inverted lists of vectors: the centroids of an index, and for each segment its lists by them.

Centroids have a key, a hash of their content, in the name of their own file and of the lists made by them. Lists go
with their segment (see `discard_segments`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import IndexFormatError
from clew.store.array_file import file_problem, map_arrays
from clew.store.segment_files import SEGMENT_SUFFIX, segments_folder

LISTED_PASSAGES = 100_000
"""Passages from which on an index has inverted lists."""
_FORMAT = "lists-1"
_ARRAY = "centroids"


@final
@dataclass(frozen=True, slots=True)
class CentroidsFile:
    """A file of centroids, named by the number of passages that they were trained on, their encoder and their key."""

    path: Path

    @classmethod
    def name(cls, derived: Path, passages: int, fingerprint: str, centroids: FloatArray) -> "CentroidsFile":
        """Return the file, which need not exist, of centroids (c, d) trained on an index with an encoder."""
        parts = f"{passages:010d}", encoder_key(fingerprint), _hash(np.ascontiguousarray(centroids).tobytes())
        return cls(centroids_folder(derived) / f"{'-'.join(parts)}{SEGMENT_SUFFIX}")

    @property
    def passages(self) -> int:
        """The number of passages of the index that the centroids were trained on."""
        return int(self.path.stem.split("-")[0])

    def lists_path(self, segment: str) -> Path:
        """Return the file, which need not exist, of the lists of a segment by these centroids."""
        key = self.path.stem.split("-")[2]
        stem = segment.removesuffix(SEGMENT_SUFFIX)
        return segments_folder(self.path.parent.parent) / f"{stem}-lists-{key}{SEGMENT_SUFFIX}"

    def read(self) -> FloatArray:
        """Map the centroids (c, d) into memory; a damaged file is an IndexFormatError."""
        array = map_arrays(self.path).get(_ARRAY)
        if array is None or array.ndim != 2:
            raise IndexFormatError(f"the derived file {self.path.name} holds no centroids: run `clew repair`")
        return array


def centroids_folder(derived: Path) -> Path:
    """Return the folder of an index's centroids, in that of its derived data; it need not exist."""
    return derived / "centroids"


def encoder_key(fingerprint: str) -> str:
    """Return what stands for an encoder in the names of files of centroids."""
    return _hash(f"{_FORMAT} {fingerprint}".encode())


def find_centroids(derived: Path, encoder: str = "*") -> list[CentroidsFile]:
    """Return the files of centroids, the newest first, of all encoders or of an `encoder_key`."""
    paths = sorted(centroids_folder(derived).glob(f"[0-9]*-{encoder}-*{SEGMENT_SUFFIX}"), reverse=True)
    return [CentroidsFile(path) for path in paths]


def find_complete(derived: Path, segments: Sequence[str]) -> CentroidsFile | None:
    """Return the newest centroids by which all of some segments have lists, None without any."""
    for file in find_centroids(derived):
        if all(file.lists_path(name).is_file() for name in segments):
            return file
    return None


def list_problems(derived: Path) -> list[str]:
    """Return a line for each file of centroids or lists that is not as it was written; it reads them all."""
    lists = sorted(segments_folder(derived).glob(f"[0-9a-z]*-lists-*{SEGMENT_SUFFIX}"))
    paths = [*(file.path for file in find_centroids(derived)), *lists]
    return [problem for path in paths if (problem := file_problem(path))]


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=6).hexdigest()
