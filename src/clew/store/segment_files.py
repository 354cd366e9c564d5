"""The files of segments and of inverted lists of vectors: their names, and what is done with those out of use.

The name of a segment tells what it is made from. Centroids have a key, a hash of their content, in the name of their
own file and of the lists made by them. Lists go with their segment (see `discard_segments`).
"""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import IndexFormatError, ProviderError
from clew.store.array_file import file_problem, map_arrays
from clew.store.atomic import discard, file_stamp, read_note, write_note
from clew.store.error_mapping import unreadable_error
from clew.text.bm25 import BM25Index

if TYPE_CHECKING:
    from lance.fragment import FragmentMetadata

SEGMENT_FORMAT = "segment-4"
SEGMENT_SUFFIX = ".safetensors"
SEGMENT_NAMES_FILE = "segments.json"  # in a snapshot's folder
_CHECKED_FILE = "checked-segments.json"
LISTED_PASSAGES = 30_000
"""Passages from which on an index has inverted lists."""
_LISTS_FORMAT = "lists-1"
_CENTROIDS = "centroids"


@final
@dataclass(frozen=True, slots=True)
class FragmentState:
    """A fragment of the passages table in one version: its files, and the rows deleted from them."""

    number: int  # of the fragment in its table
    files: tuple[str, ...]  # names of data files
    deletions: tuple[int, ...]  # what identifies the deletion file, () without one

    @classmethod
    def read(cls, metadata: "FragmentMetadata") -> "FragmentState":
        """Return the state that Lance's record of a fragment describes."""
        deleted = metadata.deletion_file
        files = tuple(file.path for file in metadata.files)
        return cls(metadata.id, files, (deleted.read_version, deleted.id) if deleted else ())

    def segment_name(self, salt: int) -> str:
        """Return the name of the file of the segment of this state, hashed with a salt."""
        return f"{self.segment_stem(salt)}-{_hash(self.deletions) if self.deletions else '0'}{SEGMENT_SUFFIX}"

    def segment_stem(self, salt: int) -> str:
        """Return how the names begin of the segments of this fragment, whatever is deleted from it."""
        # Words and terms depend on the tables of Unicode and on the stemmer, too.
        return _hash([SEGMENT_FORMAT, BM25Index.fingerprint(), unicodedata.unidata_version, self.files, salt])


def segments_folder(derived: Path) -> Path:
    """Return the folder of an index's segments, in that of its derived data; it need not exist."""
    return derived / "segments"


def find_intact(folder: Path, names: Iterable[str]) -> set[str]:
    """Return which of the segments in a folder are there and as they were written.

    A file is read whole once, and again when its size or time of modification has changed.
    """
    checked = _read_stamps(folder)
    intact: dict[str, list[int]] = {}
    for name in names:
        stamp = file_stamp(folder / name)
        if stamp is not None and (checked.get(name) == stamp or file_problem(folder / name) is None):
            intact[name] = stamp
    if not intact.items() <= checked.items():
        note_as_intact(folder, intact)
    return set(intact)


def note_as_intact(folder: Path, names: Iterable[str]) -> None:
    """Note that segments are as they were written, so that `find_intact` does not read them."""
    noted = {**_read_stamps(folder), **{name: file_stamp(folder / name) for name in names}}
    present = {name: stamp for name, stamp in noted.items() if stamp is not None and (folder / name).is_file()}
    write_note(folder.parent / _CHECKED_FILE, present)


def _read_stamps(folder: Path) -> dict[str, Any]:
    content = read_note(folder.parent / _CHECKED_FILE)
    return content if isinstance(content, dict) else {}


def find_siblings(folder: Path, fragment: FragmentState, salt: int) -> list[str]:
    """Return the names of the segments of any state of a fragment, sorted."""
    names = (file.name for file in folder.glob(f"{fragment.segment_stem(salt)}-*{SEGMENT_SUFFIX}"))
    return sorted(name for name in names if name == _owner(name))


def discard_segments(folder: Path, needed: Sequence[str]) -> None:
    """Discard the segments that are neither needed nor named by a snapshot that is still there.

    What else is kept by the name of a segment (`NAME-links` and the like) goes with it.
    """
    if not folder.is_dir():
        return
    used = set(needed)
    for names in sorted(folder.parent.glob(f"snapshots/*/{SEGMENT_NAMES_FILE}")):
        with suppress(IndexFormatError):
            used.update(read_segment_names(names.parent))
    for file in sorted(folder.glob(f"[0-9a-z]*{SEGMENT_SUFFIX}")):
        if _owner(file.name) not in used:
            with suppress(ProviderError):  # another process has removed it, or Windows has it open
                discard(file)


def _owner(name: str) -> str:
    """Return the name of the segment that a file belongs to."""
    return "-".join(name.removesuffix(SEGMENT_SUFFIX).split("-")[:2]) + SEGMENT_SUFFIX


def read_segment_names(folder: Path) -> list[str]:
    """Return the names of the segments that a snapshot reads, in order; IndexFormatError where the list is damaged."""
    try:
        names = json.loads((folder / SEGMENT_NAMES_FILE).read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable_error(folder / SEGMENT_NAMES_FILE, error) from error
    except (ValueError, RecursionError) as error:
        raise IndexFormatError(f"{folder.name}/{SEGMENT_NAMES_FILE} is damaged ({error}): run `clew repair`") from error
    if not isinstance(names, list) or not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise IndexFormatError(f"{folder.name}/{SEGMENT_NAMES_FILE} is not a list of names: run `clew repair`")
    return names


def _hash(content: object) -> str:
    return blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


@final
@dataclass(frozen=True, slots=True)
class CentroidsFile:
    """A file of centroids, named by the number of passages that they were trained on, their encoder and their key."""

    path: Path

    @classmethod
    def name(cls, derived: Path, passages: int, fingerprint: str, centroids: FloatArray) -> "CentroidsFile":
        """Return the file, which need not exist, of centroids (c, d) trained on an index with an encoder."""
        parts = f"{passages:010d}", encoder_key(fingerprint), _short_hash(np.ascontiguousarray(centroids).tobytes())
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
        array = map_arrays(self.path).get(_CENTROIDS)
        if array is None or array.ndim != 2:
            raise IndexFormatError(f"the derived file {self.path.name} holds no centroids: run `clew repair`")
        return array


def centroids_folder(derived: Path) -> Path:
    """Return the folder of an index's centroids, in that of its derived data; it need not exist."""
    return derived / "centroids"


def encoder_key(fingerprint: str) -> str:
    """Return what stands for an encoder in the names of files of centroids."""
    return _short_hash(f"{_LISTS_FORMAT} {fingerprint}".encode())


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


def _short_hash(content: bytes) -> str:
    return blake2b(content, digest_size=6).hexdigest()
