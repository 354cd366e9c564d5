"""One thread beside the caller, threads for many parts of the same work, and values that no fork may share."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar, final

from clew.arrays.threads import map_in_threads as map_in_threads
from clew.arrays.threads import worker_count as worker_count
from clew.models.torch_threads import keep_child_in_one_thread

ResultT = TypeVar("ResultT")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=keep_child_in_one_thread)


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


@final
class PerProcess(Generic[ResultT]):
    """A value with locks or threads of its own, such as a session of ONNX Runtime, made at first use in each process.

    A child by fork takes over the locks that other threads of its parent held at that moment, and no thread that would
    open them, so that it makes the value anew.
    """

    def __init__(self, make: Callable[[], ResultT]) -> None:
        self._make = make
        self._state: _ProcessState[ResultT] = _ProcessState()
        self._inherited: list[_ProcessState[ResultT]] = []  # never freed: freeing may wait for such a lock, too

    def get(self) -> ResultT:
        """Return the value of this process."""
        if self._state.owner != os.getpid():
            self._inherited.append(self._state)
            self._state = _ProcessState()
        state = self._state
        with state.lock:
            if not state.values:
                state.values.append(self._make())
            return state.values[0]


class _ProcessState(Generic[ResultT]):
    """The value in one process, once it is made."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.values: list[ResultT] = []
