"""Modules that an import does not find for a while, where a package looks for one that it does not need."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType


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
