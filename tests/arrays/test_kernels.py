"""Functions that are compiled on their first call."""

import sys
import threading
from importlib import import_module

import numpy as np
import pytest

from clew.arrays import kernels
from clew.arrays.kernels import hide_modules, njit
from tests.faults.python_process import run_python


@njit
def square(x):  # type: ignore[no-untyped-def]
    return x * x


@njit
def sum_of_squares(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for value in values:
        total += square(value)
    return total


@njit
def factorial(n):  # type: ignore[no-untyped-def]
    return 1 if n < 2 else n * factorial(n - 1)


def test_compiled_functions_call_each_other_and_themselves() -> None:
    values = np.arange(5.0)
    assert sum_of_squares(values) == 30.0
    assert factorial(5) == 120


def test_threads_may_call_first_at_once() -> None:
    results: list[float] = []
    threads = [threading.Thread(target=lambda: results.append(sum_of_squares(np.ones(3)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3.0] * 4


def test_numba_is_loaded_by_the_first_call_and_not_before() -> None:
    program = (
        "import sys, numpy as np; from clew.graph.ppr import forward_push; from clew.inference import layers;"
        "assert 'numba' not in sys.modules;"
        "x = np.ones((2, 4), np.float32); w = {'n.weight': x[0], 'n.bias': x[0]};"
        "layers.add_normalised(x, x, w, 'n'); assert 'numba' in sys.modules"
    )
    run_python(program)


def test_compiling_is_announced_once_when_it_takes_a_second(caplog, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(kernels, "_spent", [])

    @njit
    def cube(x):  # type: ignore[no-untyped-def]
        return x * x * x

    cube.dispatcher().stats.cache_misses.clear()
    assert cube(2) == 8
    assert len(kernels._spent) == len(cube.dispatcher().stats.cache_misses)
    kernels._spent.clear()
    lines = []
    for _ in range(40):
        kernels._note_compiling(0.25)
        lines.append(len(caplog.records))
    assert (lines.index(1), lines[-1]) == (3, 1)
    assert caplog.records[0].getMessage() == "compiling, once: 1 s so far; later runs load the compiled code"


MODULE = "xml.dom.expatbuilder"  # nothing here loads it


@pytest.fixture(autouse=True)
def _unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)


def test_a_hidden_module_is_not_found_and_then_is() -> None:
    with hide_modules([MODULE]), pytest.raises(ModuleNotFoundError, match=MODULE) as raised:
        import_module(MODULE)
    assert raised.value.name == MODULE
    assert import_module(MODULE)


def test_a_module_that_is_loaded_stays() -> None:
    import_module(MODULE)
    with hide_modules([MODULE, "sys"]):
        assert import_module(MODULE)


def test_other_threads_find_it() -> None:
    found: list[object] = []
    with hide_modules([MODULE]):
        thread = threading.Thread(target=lambda: found.append(import_module(MODULE)))
        thread.start()
        thread.join()
    assert len(found) == 1
