"""Memory that was freed in small pieces is no longer counted to the process."""

import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from clew.arrays.mapped_files import return_free_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1])

pieces = [np.ones(10_000) for _ in range(2000)]  # 160 MB
last = np.ones(10_000)  # keeps the end of the heap in use
del pieces
before = resident()
return_free_memory()
print(before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc, and depends on glibc")
def test_freed_arrays_are_given_back() -> None:
    environment = {"PYTHONPATH": ":".join(sys.path), "MALLOC_MMAP_THRESHOLD_": "1000000000"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20_000  # pages: half of what was freed
