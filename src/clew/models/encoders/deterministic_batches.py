"""Batches of fixed shapes: a row's bits depend on its own text only.

A matrix product may sum its terms in another order when the number of rows changes, so that a text would differ in its
last bits with the batch it is in. Here the shape of a text's batch depends only on its number of tokens; a batch that
is not full is padded with unused rows.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

BATCH_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512)
"""Lengths of a batch in tokens; a text goes to the shortest that holds it."""

BATCH_TOKENS = 512
"""Tokens in a batch: fewer are slower on many texts, more waste time on few."""


GPU_BATCH_TOKENS = 65_536
"""Tokens in a batch on a GPU."""


def encode_rows(
    tokens: "Sequence[IntArray]",
    dimension: int,
    forward: "Callable[[LongArray, BoolArray], FloatArray]",
    workers: int = 1,
    batch_tokens: int = BATCH_TOKENS,
) -> "FloatArray":
    """Run `forward` over all texts in batches of fixed shapes.

    Args:
        tokens: One array a text, (n,) with 1 <= n <= 512.
        dimension: Width of the rows that `forward` returns.
        forward: Takes token ids (B, L) and a bool mask of the tokens that are not padding (B, L), and returns rows
            (B, dimension).
        workers: Number of threads that call `forward`.
        batch_tokens: Tokens in a batch.

    Returns:
        Rows (len(tokens), dimension), in the order of the texts.
    """
    rows = np.empty((len(tokens), dimension), dtype=np.float32)

    def run(batch: tuple[list[int], int]) -> None:
        members, length = batch
        ids = np.zeros((max(1, batch_tokens // length), length), dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=np.bool_)
        mask[:, 0] = True  # a row of padding alone would divide by zero
        for row, member in enumerate(members):
            text = tokens[member]
            ids[row, : len(text)] = text
            mask[row, : len(text)] = True
        rows[members] = forward(ids, mask)[: len(members)]

    batches = list(_group_by_length([len(ids) for ids in tokens], batch_tokens))
    if workers == 1 or len(batches) < 2:
        for batch in batches:
            run(batch)
        return rows
    with ThreadPoolExecutor(min(workers, len(batches)), thread_name_prefix="clew-encode") as threads:
        for _ in threads.map(run, batches):
            pass  # each writes its own rows; iterating raises the errors of the threads
    return rows


def _group_by_length(counts: Sequence[int], batch_tokens: int) -> Iterator[tuple[list[int], int]]:
    """Yield (texts, length) so that every text is in one batch, short batches first."""
    by_length: dict[int, list[int]] = {}
    for text, count in enumerate(counts):
        by_length.setdefault(BATCH_LENGTHS[bisect_left(BATCH_LENGTHS, count)], []).append(text)
    for length, texts in sorted(by_length.items()):
        size = max(1, batch_tokens // length)
        yield from ((texts[start : start + size], length) for start in range(0, len(texts), size))
