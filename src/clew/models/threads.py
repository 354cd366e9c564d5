"""One thread beside the caller, threads for many parts of the same work, and values that no fork may share.

The device that torch runs on, and its threads on the processor.
"""

import ctypes
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar, final

from clew.arrays.threads import map_in_threads as map_in_threads
from clew.arrays.threads import worker_count as worker_count
from clew.errors import InputError
from clew.plugins.extras import import_extra


def keep_child_in_one_thread() -> None:
    """Run torch's kernels in the thread that a fork left, where the process had loaded torch.

    The other threads of OpenMP are not in the child, whose first parallel kernel would wait for them for ever.
    """
    # Not imported: a thread that was loading torch at the fork holds the lock of that import for ever.
    file = getattr(sys.modules.get("torch"), "__file__", None)
    library = None if file is None else _open_library(Path(file).parent)
    if library is not None:
        library.omp_set_num_threads(1)
        library.MKL_Set_Num_Threads_Local(1)


@cache
def _open_library(folder: Path) -> ctypes.CDLL | None:
    """Return torch's library of kernels, given the package's folder; None where it cannot be told its threads."""
    path = folder / "lib" / "libtorch_cpu.so"
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    symbols = ("omp_get_max_threads", "omp_set_num_threads", "MKL_Set_Num_Threads_Local")
    return library if all(hasattr(library, name) for name in symbols) else None


DEVICES = ("auto", "cpu", "cuda", "mps")


def check_device(name: str) -> None:
    """Raise an InputError where a device is unknown, or this machine lacks it; "auto" and "cpu" load no torch."""
    if name not in ("auto", "cpu"):
        choose_device(name)


def choose_device(name: str) -> str:
    """Return the name of a torch device: "auto" is a CUDA device where torch can use one, else the processor.

    Raises InputError where there is no such device, or torch cannot use it on this machine; MissingPackageError where
    a device is asked for and torch is not installed.
    """
    if name not in DEVICES:
        raise InputError(
            f"the device is {name!r}; wanted one of {', '.join(DEVICES)}: give another --device, or correct "
            "clew.toml or CLEW_DEVICE"
        )
    if name == "cpu" or (name == "auto" and importlib.util.find_spec("torch") is None):
        return "cpu"
    torch = import_extra("torch", "train", f"the device {name!r}", "use cpu")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    backend = torch.cuda if name == "cuda" else torch.backends.mps
    if not backend.is_available():
        raise InputError(f"the device is {name!r}, and torch finds none on this machine: use cpu, or repair the driver")
    return name


ResultT = TypeVar("ResultT")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=keep_child_in_one_thread)


_LOCK_SECONDS = 5e-3  # after which a thread is given the interpreter's lock at the latest
_HEAD_START = 1e-4  # seconds: what an encoder takes until it runs without that lock


class BackgroundThread:
    """One thread that does what it is handed, in order; it starts with the first work.

    No thread survives a fork: an executor that a process takes over from its parent would wait for ever. So each
    process starts a thread of its own.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._owner = 0  # process of the executor
        self._executor: ThreadPoolExecutor | None = None
        self._latest: Future[Any] | None = None
        self._callers: list[object] = []  # of `borrow`; without a lock, which a fork might find held

    @contextmanager
    def borrow(self) -> Iterator["BackgroundThread | None"]:
        """Lend this thread, or None where another caller is inside: the cores have work, and handing it over costs."""
        caller = object()
        self._callers.append(caller)
        try:
            yield self if len(self._callers) == 1 else None
        finally:
            self._callers.remove(caller)

    def submit(self, work: Callable[[], ResultT]) -> "Future[ResultT]":
        """Return the future result of some work, which has begun unless other work is before it.

        Without this wait for its beginning the thread would wait for the interpreter's lock, up to 5 ms, while the
        caller goes on.
        """
        if self._executor is None or self._owner != os.getpid():
            self._executor, self._owner = ThreadPoolExecutor(1, thread_name_prefix=self._name), os.getpid()
            self._latest = None
        is_idle, begun = self._latest is None or self._latest.done(), threading.Event()

        def run() -> ResultT:
            begun.set()
            return work()

        self._latest = future = self._executor.submit(run)
        if is_idle:
            begun.wait(_LOCK_SECONDS)  # no longer: the work of another caller may have come before it
            time.sleep(_HEAD_START)
        return future


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
