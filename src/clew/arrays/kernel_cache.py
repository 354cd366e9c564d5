"""Numba's cache of machine code on disk, read without the registries that numba compiles with.

Numba fills its registries of all functions that it can compile before it reads its cache; that takes as long as loading
numba, and machine code needs none of it. Importing this module imports numba.

This uses names that numba does not publish. Where another version of numba lacks one or gives it another form, and
where machine code needs a symbol that is not there yet, numba's own way is taken, which is slower and does the same.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import FunctionType
from typing import Any

import numba

# By name, since versions of numba differ in which of their modules have types.
_llvm: Any = import_module("llvmlite.binding")
try:
    _function_cache: Any = import_module("numba.core.caching").FunctionCache
except (ImportError, AttributeError):
    _function_cache = type("NoFunctionCache", (), {})  # no function has one: numba's own way is taken

_FOREIGN_FORM = (AttributeError, ImportError, LookupError, OSError, TypeError, ValueError)
"""Errors of names and records that another version of numba has in another form, and of files that it cannot read."""


def compile_lazily(
    function: FunctionType, options: dict[str, Any], hide: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Any:
    """Return numba's object for a function, which compiles it or loads it from the cache when it is called.

    Args:
        function: The function.
        options: Those of numba's `njit`.
        hide: Hides modules while numba loads parts of itself.
    """
    compiled = numba.njit(cache=True, nogil=True, **options)(function)
    # `compiled` is `function` where NUMBA_DISABLE_JIT is set.
    if isinstance(getattr(compiled, "_cache", None), _function_cache):
        compiled._cache = _MachineCodeCache(function, hide)  # noqa: SLF001
    return compiled


class _MachineCodeCache(_function_cache):  # type: ignore[misc]  # its type is unknown
    """Numba's cache of one function: the same files, read without numba's registries where they are not needed."""

    def __init__(self, function: FunctionType, hide: Callable[[], AbstractContextManager[object]]) -> None:
        super().__init__(function)
        self._hide = hide

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature, None if it is not in the cache."""
        with self._hide():
            try:
                loaded = self._load_machine_code(signature, target_context)
            except _FOREIGN_FORM:
                loaded = None
            return super().load_overload(signature, target_context) if loaded is None else loaded

    def _load_machine_code(self, signature: Any, target_context: Any) -> Any:
        if not self._enabled:
            return None
        record = self._cache_file.load(self._index_key(signature, target_context.codegen()))
        if record is None:
            return None
        _, kind, (_, bitcode) = record[0]
        if kind != "object" or not _has_all_symbols(bitcode):
            return None
        return self._impl.rebuild(target_context, record)


def _has_all_symbols(bitcode: bytes) -> bool:
    """Return whether every function that machine code calls has an address; LLVM ends the process where one has none.

    Those of numba's memory management are registered first, as numba does when it fills its registries.
    """
    runtime: Any = import_module("numba.core.runtime._nrt_python")
    for name, address in runtime.c_helpers.items():
        _llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    module = _llvm.parse_bitcode(bitcode)
    declared = [one.name for one in (*module.functions, *module.global_variables) if one.is_declaration]
    return all(name.startswith("llvm.") or _llvm.address_of_symbol(name) for name in declared)
