"""Lines of the loggers `clew.*` on standard error, and how many there are: `-q`, nothing, `-v` or `-vv`.

The library logs and installs no handler; the command line installs this one while a command runs.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from clew.text.sanitize import escape_control

_logger = logging.getLogger("clew")
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class StderrHandler(logging.Handler):
    """Writes one line a record: as a note, or with milliseconds and the logger's name where `-v` is given."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; where the root logger has handlers, as in a server, those write it."""
        if _writes_elsewhere():
            return
        text = " ".join(record.getMessage().split())
        head = (
            f"{record.relativeCreated:7.0f} ms {record.name}: "
            if logging.NOTSET < _logger.level < logging.WARNING
            else "note: "
        )
        sys.stderr.write(escape_control(f"{head}{text}") + "\n")


@contextmanager
def log_on_stderr() -> Iterator[None]:
    """Write the warnings of `clew.*` on standard error during the block, and what `-v` adds."""
    level, handler = _logger.level, StderrHandler()
    _logger.addHandler(handler)
    try:
        yield
    finally:
        _logger.removeHandler(handler)
        _logger.setLevel(level)


def raise_level(times: int) -> None:
    """Let through more records: for 1 what a command does, for 2 or more all."""
    if times:
        _logger.setLevel(_LEVELS[min(times, len(_LEVELS) - 1)])


def set_quiet(given: bool) -> None:
    """Let through errors alone, if the option is given; notes and progress are left out with it."""
    if given:
        _logger.setLevel(logging.ERROR)


def is_quiet() -> bool:
    """Return whether notes and progress are left out."""
    return not _logger.isEnabledFor(logging.WARNING)


def _writes_elsewhere() -> bool:
    return any(type(handler) is logging.StreamHandler for handler in logging.getLogger().handlers)
