"""The command line, one file a group of commands."""

import time

_STARTED = time.perf_counter()  # this package is what a command imports first


def seconds_since_start() -> float:
    """Return the seconds that a user has waited for this command: loading, work, and making the index ready."""
    return time.perf_counter() - _STARTED
