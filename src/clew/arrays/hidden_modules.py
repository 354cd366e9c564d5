"""Modules that an import does not find for a while, where a package looks for one that it does not need."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


@contextmanager
def hide_modules(names: Iterable[str]) -> Iterator[None]:
    """Let imports of these modules fail, in all threads, unless they are loaded already."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
