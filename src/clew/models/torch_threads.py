"""Limit torch's kernels to one thread, for the calling thread only: in workers, and in a child by fork."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch's kernels in the calling thread alone.

    A parallel kernel waits for its slowest thread: on two cores shared with five processes a question took 15 ms in
    one thread and 200 ms in two, and one batch per worker ran two to three times as fast as two threads per batch.
    torch's `set_num_threads` would change the whole process, so OpenMP and MKL are set directly; where they are absent
    (macOS, Windows) only the speed differs.
    """
    import torch

    torch.get_num_threads()  # torch sets the count of a thread on first use, which would undo ours
    library = _kernel_library()
    if library is None:
        yield
        return
    openmp = library.omp_get_max_threads()
    library.omp_set_num_threads(1)
    mkl = library.MKL_Set_Num_Threads_Local(1)
    try:
        yield
    finally:
        library.MKL_Set_Num_Threads_Local(mkl)
        library.omp_set_num_threads(openmp)


def one_thread_worker_count() -> int:
    """Return the number of workers that run kernels under `one_thread`: torch's thread count, 1 where unsupported."""
    import torch

    return torch.get_num_threads() if _kernel_library() else 1


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


def _kernel_library() -> ctypes.CDLL | None:
    import torch

    return _open_library(Path(torch.__file__).parent)


@cache
def _open_library(folder: Path) -> ctypes.CDLL | None:
    """Return torch's library of kernels, given the package's folder; None where it cannot be told its threads."""
    path = folder / "lib" / "libtorch_cpu.so"
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    symbols = ("omp_get_max_threads", "omp_set_num_threads", "MKL_Set_Num_Threads_Local")
    return library if all(hasattr(library, name) for name in symbols) else None
