"""Batches of fixed shapes: a row's bits depend on its own text only.

A matrix product may add its terms in another order when the number of rows changes, so a text encoded beside others
would differ in its last bits from the same text encoded alone. Here a text of n tokens always lies in a batch of the
shape that n decides; a batch that is not full is filled with rows that nobody reads.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

BATCH_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512)
"""Widths of a batch in tokens; a text goes to the narrowest that holds it."""

BATCH_TOKENS = 512
"""Tokens in a batch: fewer lose speed on long runs, more waste time on short ones."""


def encode_rows(
    tokens: "Sequence[IntArray]",
    dimension: int,
    forward: "Callable[[LongArray, BoolArray], FloatArray]",
    workers: int = 1,
) -> "FloatArray":
    """Run `forward` over all texts in batches of fixed shapes.

    Args:
        tokens: One array a text, (n,) with 1 <= n <= 512.
        dimension: Width of the rows that `forward` returns.
        forward: Takes token ids (B, L) and which of them are real (B, L), and returns rows (B, dimension).
        workers: Threads that call `forward`, each with batches of its own.

    Returns:
        Rows (len(tokens), dimension), in the order of the texts.
    """
    rows = np.empty((len(tokens), dimension), dtype=np.float32)

    def run(batch: tuple[list[int], int]) -> None:
        members, length = batch
        ids = np.zeros((max(1, BATCH_TOKENS // length), length), dtype=np.int64)
        real = np.zeros(ids.shape, dtype=np.bool_)
        real[:, 0] = True  # a row without any real token would divide by zero
        for place, member in enumerate(members):
            own = tokens[member]
            ids[place, : len(own)] = own
            real[place, : len(own)] = True
        rows[members] = forward(ids, real)[: len(members)]

    batches = list(_group_by_length([len(ids) for ids in tokens]))
    if workers == 1 or len(batches) < 2:
        for batch in batches:
            run(batch)
        return rows
    with ThreadPoolExecutor(min(workers, len(batches)), thread_name_prefix="clew-encode") as threads:
        for _ in threads.map(run, batches):
            pass  # each writes its own rows; asking for the results raises what a thread raised
    return rows


def _group_by_length(counts: Sequence[int]) -> Iterator[tuple[list[int], int]]:
    """Yield (texts, width) so that every text is in one batch, narrow batches first."""
    shelves: dict[int, list[int]] = {}
    for text, count in enumerate(counts):
        shelves.setdefault(BATCH_LENGTHS[bisect_left(BATCH_LENGTHS, count)], []).append(text)
    for length in sorted(shelves):
        size = max(1, BATCH_TOKENS // length)
        shelf = shelves[length]
        yield from ((shelf[start : start + size], length) for start in range(0, len(shelf), size))
