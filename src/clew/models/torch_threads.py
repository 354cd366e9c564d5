"""One processor thread for the kernels of the calling thread, and for no other."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch's kernels in the calling thread without helpers.

    Kernels cut in two wait for their slower half: on two cores shared with five processes a question took 15 ms in one
    thread and 200 ms in two, and a batch a worker ran two to three times as fast as two threads a batch. torch's
    `set_num_threads` would change the whole process, so the two libraries below torch are told directly; where they
    are absent (macOS, Windows) nothing changes but the speed.
    """
    import torch

    torch.get_num_threads()  # torch sets a thread's count on first use and would undo ours
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


def worker_count() -> int:
    """Return how many threads may each run kernels of one thread: torch's own number, or 1 where that cannot be set."""
    import torch

    return torch.get_num_threads() if _kernel_library() else 1


@cache
def _kernel_library() -> ctypes.CDLL | None:
    import torch

    path = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    wanted = ("omp_get_max_threads", "omp_set_num_threads", "MKL_Set_Num_Threads_Local")
    return library if all(hasattr(library, name) for name in wanted) else None
