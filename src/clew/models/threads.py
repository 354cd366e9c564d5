"""One thread beside the caller, and threads for many parts of the same work."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from clew.arrays.threads import map_in_threads as map_in_threads
from clew.arrays.threads import worker_count as worker_count

ResultT = TypeVar("ResultT")


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
