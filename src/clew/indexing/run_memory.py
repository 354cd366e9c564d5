"""The budget of memory of an indexing run."""

import re

from clew.errors import InputError
from clew.indexing.merging.memory_needs import MERGE_PROCESS_BYTES
from clew.indexing.pipeline import BatchLimits

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
PROCESS_BYTES = 300_000_000
"""Memory of a process with its libraries and the default encoder, measured: 240 to 290 MB."""
PASSAGE_BYTES = 40_000
"""Memory of a passage of a batch: its text, what was extracted from it as objects, and its row; 15 to 40 kB."""
CHARACTER_BYTES = 12  # of a text, in all its forms together
_BATCHES_PER_WORKER = 2  # one is being written, and one waits or is on its way
_LEAST_PASSAGES = 64
_MARGIN = 1.2  # of the least budget over the processes alone, for the smallest batches


def parse_memory(text: str) -> int:
    """Return the bytes of a text such as `4GB` or `512MiB`; another form is an InputError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None or match[2].upper() not in _UNITS or not float(match[1]):
        raise InputError(f"--memory is {text!r}: give a size such as 4GB or 512MB")
    return round(float(match[1]) * _UNITS[match[2].upper()])


def batch_limits(memory: int, workers: int) -> BatchLimits:
    """Return the batches that fit a budget of bytes, which all processes of a run share; 0 for what is usual.

    Raises:
        InputError: The processes alone take more than the budget.
    """
    if not memory:
        return BatchLimits()
    processes, needed = _processes(workers), _least_bytes(workers)
    if memory < needed:
        size = f"{memory / 10**6:.0f}MB" if memory >= 10**6 else f"{memory} bytes"
        running = "a process takes" if processes == 1 else f"{processes} processes take"
        advice = "give more" if processes == 1 else "give more, or fewer --workers"
        raise InputError(f"--memory is {size}, and {running} {needed / 10**6:.0f}MB: {advice}")
    share = (memory - processes * PROCESS_BYTES) // (2 * _BATCHES_PER_WORKER * workers)
    usual = BatchLimits()
    passages = max(_LEAST_PASSAGES, share // PASSAGE_BYTES)
    return BatchLimits(passages, max(1, min(usual.characters, share // CHARACTER_BYTES)))


def check_run_memory(memory: int, workers: int, *, merges: bool) -> None:
    """Refuse a budget of bytes, 0 for none, that no run keeps; `merges` is whether it merges the graph at its end.

    Raises:
        InputError: The processes, or a merge of the smallest index, take more.
    """
    batch_limits(memory, workers)
    if merges and 0 < memory < MERGE_PROCESS_BYTES:
        raise InputError(
            f"--memory is {memory / 10**6:.0f}MB, and the merge at the end takes at least "
            f"{MERGE_PROCESS_BYTES / 10**6:.0f}MB: give that, or write a part with --shard"
        )


def affordable_workers(memory: int, workers: int) -> int:
    """Return the number of workers, at most `workers` and at least 1, that fit a budget of bytes; 0 is none."""
    while memory and workers > 1 and memory < _least_bytes(workers):
        workers -= 1
    return workers


def _processes(workers: int) -> int:
    return workers + (workers > 1)


def _least_bytes(workers: int) -> int:
    return round(_MARGIN * _processes(workers) * PROCESS_BYTES)
