"""Python's search for unreachable objects, left out where it finds next to nothing and takes a tenth of a second."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collection() -> Iterator[None]:
    """Look for no unreachable objects, also later among those of this time: one question makes few.

    Almost all that it makes is loaded code and the opened index, which stay to the end.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()  # or the next object that is made starts a search through all of them
            gc.enable()


def exit_without_collection() -> None:
    """Let the process end without a last look at all that it has loaded; nothing of ours waits to be closed by it."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
