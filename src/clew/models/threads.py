"""Work in threads on a processor: how many, the same work for many parts, and one thread beside the caller."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

ResultT = TypeVar("ResultT")


def worker_count() -> int:
    """Return the number of threads to run: `OMP_NUM_THREADS` if set, else the cores that this process may use."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class BackgroundThread:
    """One thread that does what it is handed, in order; it starts with the first work.

    No thread survives a fork: an executor that a process takes over from its parent would wait for ever. So each
    process starts a thread of its own.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._owner = 0  # process of the executor
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, work: Callable[[], ResultT]) -> "Future[ResultT]":
        """Return the future result of some work."""
        if self._executor is None or self._owner != os.getpid():
            self._executor, self._owner = ThreadPoolExecutor(1, thread_name_prefix=self._name), os.getpid()
        return self._executor.submit(work)


def map_in_threads(work: Callable[[int], ResultT], count: int, most: int | None = None) -> list[ResultT]:
    """Return the results of some work for the numbers 0 to `count` - 1, done side by side in `worker_count` threads.

    `most` is a lower number of threads.

    It takes less time only where the work leaves the interpreter's lock: in compiled functions and with large arrays.
    """
    threads = min(worker_count(), count, worker_count() if most is None else most)
    if threads < 2:
        return [work(number) for number in range(count)]
    with ThreadPoolExecutor(threads, thread_name_prefix="clew-map") as pool:
        return list(pool.map(work, range(count)))
