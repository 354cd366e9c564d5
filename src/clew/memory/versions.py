"""The version of an index that questions read, and its replacement by a newer one when its last question has ended."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import final

from clew.index import Index


@final
class SharedVersion:
    """A version that several threads read; a replaced one is closed with the last of them."""

    def __init__(self, index: Index) -> None:
        self._current = index
        self._readers: Counter[int] = Counter()  # by the `id` of a version
        self._lock = Lock()

    @contextmanager
    def lease(self) -> Iterator[Index]:
        """Hold the version that is the newest now."""
        with self._lock:
            index = self._current
            self._readers[id(index)] += 1
        try:
            yield index
        finally:
            with self._lock:
                self._readers[id(index)] -= 1
                is_over = index is not self._current and not self._readers[id(index)]
            if is_over:
                index.close()

    def replace(self, index: Index) -> None:
        """Lease another version from now on."""
        with self._lock:
            old, self._current = self._current, index
            is_unused = not self._readers[id(old)]
        if is_unused:
            old.close()

    def close(self) -> None:
        """Close the version, of which the last question has ended."""
        self._current.close()
