"""Functions that numba compiles on their first call, so that a process that calls none does not load numba.

`njit` is numba's decorator of that name, with the machine code cached on disk and the interpreter's lock released.
Functions compiled this way may call each other, also across modules. None starts threads (numba's end a child that is
made by fork): `clew.arrays.threads` has them for callers.
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, update_wrapper
from importlib.machinery import ModuleSpec
from pathlib import Path
from threading import RLock, get_ident
from types import FunctionType, ModuleType
from typing import Any

_logger = logging.getLogger(__name__)
_lock = RLock()
_NOTICEABLE_SECONDS = 1.0
_spent: list[float] = []  # seconds of each compilation in this process

_hidden: list[str] = []


def _acquire_compiler_locks() -> None:
    """Wait for threads that compile: a child made while one holds a lock would wait for it for ever."""
    _lock.acquire()
    numba_lock = sys.modules.get("numba.core.compiler_lock")  # loaded under `_lock` alone
    _held[:] = [_lock, *([numba_lock.global_compiler_lock] if numba_lock is not None else [])]
    for lock in _held[1:]:
        lock.acquire()


def _release_compiler_locks() -> None:
    for lock in _held[::-1]:
        lock.release()


_held: list[Any] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_acquire_compiler_locks, after_in_parent=_release_compiler_locks, after_in_child=_release_compiler_locks
    )


@contextmanager
def hide_modules(names: Iterable[str]) -> Iterator[None]:
    """Let imports of these modules fail in this thread, unless they are loaded already."""
    finder = _HidingFinder(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _HidingFinder:
    # Not None in `sys.modules`, which pyarrow's compiled modules take for a module, and other threads see.
    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._thread = get_ident()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for a hidden module; leave all others to the next finder."""
        del path, target
        if name in self._names and get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}: it is hidden for now", name=name)
        return None


def hide_optional_modules() -> None:
    """Let numba load without the packages that it can do without, for a process that compiles functions of Clew alone.

    Loading them takes a fifth of a second. They are scipy (for numpy.cov and the like in compiled functions), cffi (for
    functions of C) and, unless this folder has numba's settings file, yaml, which reads it.
    """
    _hidden[:] = ["scipy", "scipy.linalg.cython_blas", "cffi"]
    if not Path(".numba_config.yaml").is_file():
        _hidden.append("yaml")


def _load_numba() -> ModuleType:
    with hide_modules(_hidden if "numba" not in sys.modules else ()):
        from clew.arrays import kernel_cache
    return kernel_cache


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Return a function that is compiled on its first call; options are those of numba's `njit`."""
    if function is None:
        return lambda decorated: CompiledFunction(decorated, options)
    return CompiledFunction(function, options)


def _note_compiling(seconds: float) -> None:
    """Count the seconds of one compilation; log a note when they have become noticeable."""
    before, after = sum(_spent), sum(_spent) + seconds
    _spent.append(seconds)
    if before < _NOTICEABLE_SECONDS <= after:
        _logger.warning("compiling, once: %.0f s so far; later runs load the compiled code", after)


class CompiledFunction:
    """A function that numba compiles on its first call, or loads from its cache on disk."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        assert isinstance(function, FunctionType)
        update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._dispatcher: Any = None
        self._is_first_call = True

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        if not self._is_first_call:
            return self._dispatcher(*arguments)
        started = time.perf_counter()
        result = self.dispatcher()(*arguments)
        seconds = time.perf_counter() - started
        if self._dispatcher.stats.cache_misses:
            _note_compiling(seconds)
        self._is_first_call = False
        return result

    def dispatcher(self) -> Any:
        """Return numba's object for this function, with those of the functions that it calls in place."""
        with _lock:
            if self._dispatcher is None:
                kernel_cache, hide = _load_numba(), partial(hide_modules, tuple(_hidden))
                self._dispatcher = kernel_cache.compile_lazily(self.py_func, self._options, hide)
                # numba finds the functions that this one calls by their names, when it compiles.
                names = self.py_func.__globals__
                for name in self.py_func.__code__.co_names:
                    if isinstance(names.get(name), CompiledFunction):
                        names[name] = names[name].dispatcher()
            return self._dispatcher
