"""The number of threads for work on a processor."""

import os


def worker_count() -> int:
    """Return the number of threads to run: `OMP_NUM_THREADS` if set, else the cores that this process may use."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1
