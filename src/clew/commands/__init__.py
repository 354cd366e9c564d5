"""The command line, one file a group of commands; here is what concerns the process of a command."""

import atexit
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

_STARTED = time.perf_counter()  # this package is what a command imports first


def seconds_since_start() -> float:
    """Return the seconds that a user has waited for this command: loading, work, and making the index ready."""
    return time.perf_counter() - _STARTED


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
