"""The same work for many parts, in threads on a processor, and how many of them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import current_thread, main_thread
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


def worker_count() -> int:
    """Return the number of threads to run: `OMP_NUM_THREADS` if set, else the cores that this process may use."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    affinity = getattr(os, "sched_getaffinity", None)  # absent on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def map_in_threads(work: Callable[[int], ResultT], count: int, most: int | None = None) -> list[ResultT]:
    """Return the results of some work for the numbers 0 to `count` - 1, done side by side in threads.

    There are `worker_count` threads, and no more than `most`.

    It takes less time only where the work leaves the interpreter's lock: in compiled functions and with large arrays.
    """
    threads = min(worker_count(), count, count if most is None else most)
    if threads < 2:
        return [work(number) for number in range(count)]
    with ThreadPoolExecutor(threads, thread_name_prefix="clew-map") as pool:
        return list(pool.map(work, range(count)))


def one_blas_thread() -> AbstractContextManager[object]:
    """Let numpy multiply matrices in one thread inside, in the whole process; afterwards in as many as before.

    Those of a question are small. Threads that multiplied them wait for more by spinning, and on two cores the encoder
    and the reader, which have threads of their own, take twice as long beside them. Outside the main thread it does
    nothing, since of two limits that overlap the wrong one may stay, nor where OPENBLAS_NUM_THREADS is set, as by the
    commands.
    """
    if os.environ.get("OPENBLAS_NUM_THREADS") or current_thread() is not main_thread():
        return nullcontext()
    limit: AbstractContextManager[object] = _open_controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _open_controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looks through the loaded libraries: milliseconds
