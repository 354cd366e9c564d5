"""Machine code from numba's cache, read without numba's registries."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

from clew.arrays import kernel_cache

REGISTRIES = (
    "numba.np.random.generator_core"  # a module that numba loads to fill its registries, and for nothing else here
)

KERNELS = """
import numpy as np
from clew.arrays.kernels import njit
from numba import prange

@njit
def doubled(value):
    return value * FACTOR

@njit
def doubled_all(values):
    out = np.zeros_like(values)
    for i in range(len(values)):
        out[i] = doubled(values[i])
    return out, values.sum()

@njit(parallel=True)
def doubled_at_once(values):
    out = np.empty(len(values))
    for i in prange(len(values)):
        out[i] = doubled(values[i])
    return out

@njit
def checked(value):
    if value < 0:
        raise ValueError("below 0")
    return value
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    file = tmp_path / "some_kernels.py"
    file.write_text(KERNELS.replace("FACTOR", "2"), encoding="utf-8")
    return file


def run(file: Path, *statements: str) -> list[str]:
    """Run statements in a process that imports the kernels; return what it prints, and whether registries were read."""
    program = "; ".join(
        [
            "import sys, numpy as np, some_kernels as k",
            "from clew.arrays.kernels import hide_optional_modules",
            "hide_optional_modules()",
            *statements,
            f"print({REGISTRIES!r} in sys.modules)",
        ]
    )
    paths = os.pathsep.join([str(file.parent), *sys.path])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment, timeout=300
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_machine_code_is_loaded_without_registries_until_its_source_changes(kernels: Path) -> None:
    asked = "print(k.doubled_all(np.arange(3.0)), k.doubled_all.dispatcher().stats.cache_hits.total())"
    assert run(kernels, asked) == ["(array([0., 2., 4.]), 3.0) 0", "True"]
    assert run(kernels, asked) == ["(array([0., 2., 4.]), 3.0) 1", "False"]
    kernels.write_text(KERNELS.replace("FACTOR", "3"), encoding="utf-8")
    later = time.time() + 5
    os.utime(kernels, (later, later))
    assert run(kernels, asked) == ["(array([0., 3., 6.]), 3.0) 0", "True"]
    assert run(kernels, asked) == ["(array([0., 3., 6.]), 3.0) 1", "False"]


@pytest.mark.slow
def test_a_function_is_compiled_after_another_was_loaded(kernels: Path) -> None:
    first = "print(k.doubled_all(np.arange(3.0))[0].tolist())"
    run(kernels, first)
    other = "print(k.doubled_all(np.arange(3, dtype=np.float32))[0].tolist())"  # calls `doubled` of another type
    assert run(kernels, first, other) == ["[0.0, 2.0, 4.0]", "[0.0, 2.0, 4.0]", "True"]
    assert run(kernels, other, first) == ["[0.0, 2.0, 4.0]", "[0.0, 2.0, 4.0]", "False"]


def test_what_needs_more_symbols_is_loaded_in_numba_s_own_way(kernels: Path) -> None:
    for _ in range(2):  # LLVM would end the process: numba's threads are not started yet
        printed = run(kernels, "print(k.doubled_at_once(np.arange(3.0)).tolist())")
        assert printed == ["[0.0, 2.0, 4.0]", "True"]


def test_errors_of_loaded_machine_code_are_raised(kernels: Path) -> None:
    asked = "import contextlib", "print(k.checked(1))"
    refused = "[print(type(e).__name__, e) for e in [k.checked.dispatcher()(-1)]]"
    run(kernels, *asked)
    with pytest.raises(subprocess.CalledProcessError) as raised:
        run(kernels, *asked, refused)
    assert "ValueError: below 0" in raised.value.stderr


@pytest.mark.parametrize("error", [AttributeError, ImportError, KeyError, TypeError, ValueError])
def test_another_numba_takes_its_own_way(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise error("another form")

    def add(left, right):  # type: ignore[no-untyped-def]
        return left + right

    monkeypatch.setattr(kernel_cache._MachineCodeCache, "_load_machine_code", fail)
    assert isinstance(add, FunctionType)
    compiled = kernel_cache.compile_lazily(add, {})
    assert compiled(1, 2) == 3
    assert compiled(np.float32(1), np.float32(2)) == 3
