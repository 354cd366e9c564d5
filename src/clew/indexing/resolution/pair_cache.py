"""Storage of the pairs that an earlier synonym search found, so that the next one compares only new names."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, IntArray
from clew.errors import IndexFormatError, ProviderError

KEY_BYTES = 16
_FORMAT = 2


@final
@dataclass(frozen=True, slots=True)
class PairCache:
    """The pairs of an earlier run, before the limit for each name was applied."""

    threshold: float  # similarity threshold of that run
    limit: int  # limit of pairs for each name in that run; about twice as many of a name's best pairs are stored
    keys: NDArray[np.uint8]  # hashes of names and vectors, (n, 16) bytes
    left: IntArray  # one end of each pair, a row of `keys`, (m,)
    right: IntArray  # the other end, (m,)
    score: FloatArray  # cosines, (m,)
    lists: int  # number of lists of names that were compared with each other, 0 where all names were
    floor: FloatArray  # (n,) score above which no pair of a name is missing, 0 when none is


_ARRAYS = {"keys": "u1", "left": "<i4", "right": "<i4", "score": "<f4", "floor": "<f4"}


def save_pairs(cache: PairCache, folder: Path) -> None:
    """Write one .npy file for each field into `folder`; equal values give equal bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "settings.npy", np.asarray([_FORMAT, cache.threshold, cache.limit, cache.lists], dtype="<f8"))
        for name, kind in _ARRAYS.items():
            np.save(folder / f"{name}.npy", getattr(cache, name).astype(kind))
    except OSError as error:
        raise ProviderError(
            f"cannot write pairs to {folder} ({error}): free some space or allow writing, and run it again"
        ) from error


def load_pairs(folder: Path) -> PairCache:
    """Read a folder of `save_pairs`; a file that is absent, damaged or does not match is an IndexFormatError."""
    advice = "delete the folder: it is made again from the vectors"
    try:
        number, threshold, limit, lists = np.load(folder / "settings.npy", allow_pickle=False).tolist()
        arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
    except (OSError, ValueError, EOFError, TypeError) as error:
        raise IndexFormatError(f"cannot read the pair cache in {folder}: {error}; {advice}") from error
    if number != _FORMAT:
        raise IndexFormatError(f"the pair cache in {folder} has format {number}; wanted {_FORMAT}; {advice}")
    cache = PairCache(threshold=threshold, limit=int(limit), lists=int(lists), **arrays)
    count, pairs = len(cache.keys), len(cache.left)
    ends = np.concatenate([cache.left, cache.right])
    is_consistent = (
        all(arrays[name].dtype == np.dtype(kind) for name, kind in _ARRAYS.items())
        and cache.keys.shape == (count, KEY_BYTES)
        and cache.left.shape == cache.right.shape == cache.score.shape == (pairs,)
        and cache.floor.shape == (count,)
        and (not pairs or (ends.min() >= 0 and ends.max() < count))
    )
    if not is_consistent:
        raise IndexFormatError(f"the arrays of the pair cache in {folder} do not match; {advice}")
    return cache
