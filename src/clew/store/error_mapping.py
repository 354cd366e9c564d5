"""Mapping of errors of Lance, Arrow and the operating system to Clew's own."""

import errno
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from clew.errors import ClewError, IndexFormatError, IndexLockedError, InputError, ProviderError

T = TypeVar("T")
_DISK_FULL_SIGNS = ("no space left", "os error 28", "disk quota", "not enough space on the disk")
_OPEN_FILES_SIGNS = ("too many open files", "os error 24)", "os error 23)")
_FORBIDDEN_SIGNS = ("permission denied", "read-only file system", "not a directory", "operation not permitted")
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}
_CONFLICT_SIGNS = ("concurrent writers", "commit conflict", "conflicting transaction", "concurrent transaction")
_NETWORK_SIGNS = ("generic s3", "generic gcs", "generic microsoftazure", "error sending request", "timed out")
_BUCKET_SIGNS = ("nosuchbucket", "specified bucket does not exist", "containernotfound")
_MISSING_FILE_SIGNS = ("not found", "no such file")
_INTERRUPT_SIGN = "external error: keyboardinterrupt"
"""Arrow's message for a Ctrl-C that came while Lance called back into Python from a scan."""


class map_errors:  # noqa: N801 - used as a function, `with map_errors(...)`
    """Context manager that maps OSError, ValueError, RuntimeError and Rust panics to Clew errors.

    A Ctrl-C that Arrow reports as an error of its own becomes a KeyboardInterrupt again.

    It is a class because a panic in Lance does not derive from `Exception`, and only `__exit__` receives it without
    catching KeyboardInterrupt too. Keep the block to the foreign call: our own ValueErrors would be mapped as well.
    """

    def __init__(self, name: str, action: str) -> None:
        self._name = name
        self._action = action

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or kind is None:
            return
        if isinstance(error, ValueError | OSError) and _INTERRUPT_SIGN in str(error).lower():
            raise KeyboardInterrupt from error
        if isinstance(error, (OSError, ValueError, RuntimeError)) or kind.__name__ == "PanicException":
            raise to_clew_error(error, self._name, self._action) from error


def read_batches(batches: Callable[[], Iterable[T]], name: str) -> Iterator[T]:
    """Yield what a scan of the index `name` gives; its errors are mapped, and none of those who take it."""
    with map_errors(name, "reading"):
        scan = iter(batches())
    while True:
        with map_errors(name, "reading"):
            batch = next(scan, None)
        if batch is None:
            return
        yield batch


def to_clew_error(error: BaseException, name: str, action: str) -> ClewError:
    """Return the Clew error that corresponds to `error`, which occurred during `action` on the index `name`."""
    detail = shorten_message(error)
    if getattr(error, "errno", None) == errno.ENAMETOOLONG:
        return InputError(f"{name} is too long for a path: choose another place")
    if isinstance(error, FileExistsError | NotADirectoryError):
        return InputError(f"{action} {name}: a file is where a folder must be ({detail}); choose another place")
    text = f"{error} {errno.errorcode.get(getattr(error, 'errno', None) or 0, '')}".lower()
    if any(sign in text for sign in _DISK_FULL_SIGNS) or getattr(error, "errno", None) == errno.EDQUOT:
        message = f"the disk is full while {action} {name} ({detail}): free some space and run the same command again"
        return ProviderError(f"{message}; what was committed before is kept")
    if any(sign in text for sign in _OPEN_FILES_SIGNS):
        message = f"too many files are open while {action} {name} ({detail})"
        return ProviderError(f"{message}: close other indexes, or raise the limit (`ulimit -n`), and run it again")
    if any(sign in text for sign in _FORBIDDEN_SIGNS):
        message = f"{action} {name} is not possible here ({detail})"
        return ProviderError(f"{message}: check the path and its permissions, or choose another folder")
    if any(sign in text for sign in _CONFLICT_SIGNS):
        message = f"another machine changed {name} while {action} it, and this step was undone"
        return IndexLockedError(f"{message}: run the same command again when it has finished ({detail})")
    if any(sign in text for sign in _BUCKET_SIGNS):
        return InputError(f"{name} names a bucket that does not exist: create it, or correct the name")
    if any(sign in text for sign in _NETWORK_SIGNS):
        return ProviderError(f"{action} {name} failed at the object store ({detail}): check its address and keys")
    if any(sign in text for sign in _MISSING_FILE_SIGNS):
        message = f"a file of {name} is missing while {action} it ({detail})"
        return IndexFormatError(f"{message}: if it was compacted meanwhile open it again, else run `clew repair`")
    if "(os error " in text or (isinstance(error, OSError) and error.errno is not None):
        return ProviderError(f"{action} {name} failed ({detail}): check the disk and run the same command again")
    return IndexFormatError(f"{name} looks damaged while {action} it ({detail}): run `clew verify`, then `clew repair`")


def is_unwritable(error: BaseException) -> bool:
    """Return whether an error, or what caused it, is that of a place that is full or may not be written."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            text = str(cause).lower()
            return cause.errno in _UNWRITABLE or any(sign in text for sign in _DISK_FULL_SIGNS + _FORBIDDEN_SIGNS)
        cause = cause.__cause__
    return False


def unreadable_error(path: Path, error: OSError) -> ClewError:
    """Return the error for a derived file that cannot be opened: damage only where it is not there."""
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return IndexFormatError(f"the derived file {path.name} is missing or damaged ({error}): run `clew repair`")
    return to_clew_error(error, str(path), "reading")


def shorten_message(error: BaseException) -> str:
    """Return an error's message as one short line, without Rust source positions."""
    text = re.sub(r",? (/\S+?\.rs:\d+:\d+|location: \S+)", "", " ".join(str(error).split()))
    return (text[:297] + "...") if len(text) > 300 else (text or type(error).__name__)
