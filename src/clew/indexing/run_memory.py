"""The budget of memory of an indexing run."""

import re

from clew.errors import InputError
from clew.indexing.pipeline import BatchLimits

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
PROCESS_BYTES = 300_000_000
"""Memory of a process with its libraries and the default encoder, measured: 240 to 290 MB."""
PASSAGE_BYTES = 40_000
"""Memory of a passage of a batch: its text, what was extracted from it as objects, and its row; 15 to 40 kB."""
CHARACTER_BYTES = 12  # of a text, in all its forms together
_BATCHES_PER_WORKER = 2  # one is being written, and one waits or is on its way
_LEAST_PASSAGES = 64


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
    processes = workers + (workers > 1)
    if memory < 1.2 * processes * PROCESS_BYTES:
        needed = round(1.2 * processes * PROCESS_BYTES / 10**6)
        raise InputError(
            f"--memory is {memory / 10**6:.0f}MB, and {processes} processes take {needed}MB: give more, or fewer "
            "--workers"
        )
    share = (memory - processes * PROCESS_BYTES) // (2 * _BATCHES_PER_WORKER * workers)
    usual = BatchLimits()
    passages = max(_LEAST_PASSAGES, share // PASSAGE_BYTES)
    return BatchLimits(passages, max(1, min(usual.characters, share // CHARACTER_BYTES)))
