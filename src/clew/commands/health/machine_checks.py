"""Python, platform, clock, text encoding, cache folder and compiled code."""

import locale
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import clew
from clew.commands.health.findings import FAULT, OK, WARNING, Finding
from clew.errors import InputError
from clew.plugins.folders import cache_folder
from clew.text.counts import format_count

_TESTED = ((3, 11), (3, 13))  # versions of Python that the tests run on: the first and the last
_MIN_FREE_BYTES = 1 << 30
_MAX_FILES = 100_000  # counted in a folder
_COMPILED = "*.nbi"  # numba's index of the machine code of a function


def check_machine() -> list[Finding]:
    """Return findings on what Clew runs on."""
    return [
        _check_python(), _check_platform(), _check_clock(), _check_encoding(), _check_cache(), _check_compiled_code()
    ]  # fmt: skip


def _check_python() -> Finding:
    seen = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    if sys.implementation.name != "cpython":
        return Finding("python", WARNING, seen, "numba and Lance have wheels for CPython alone: use that")
    if sys.version_info[:2] > _TESTED[1]:
        return Finding("python", WARNING, seen, f"tested up to Python {_TESTED[1][0]}.{_TESTED[1][1]}")
    return Finding("python", OK, seen)


def _check_platform() -> Finding:
    seen = (
        f"{platform.system()} {platform.release()}, {platform.machine()}, {format_count(os.cpu_count() or 1, 'core')}"
    )
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        return Finding("platform", WARNING, seen, "torch has no wheels for Intel Macs: the extra train is not for this")
    return Finding("platform", OK, seen)


def _check_clock() -> Finding:
    seen = time.strftime("%Y-%m-%d %H:%M:%S %z")
    installed = Path(clew.__file__).stat().st_mtime
    if time.time() < installed:
        return Finding("clock", WARNING, f"{seen}, earlier than the installation of Clew", "set the clock")
    return Finding("clock", OK, seen)


def _check_encoding() -> Finding:
    encodings = {
        "files": locale.getpreferredencoding(do_setlocale=False),
        "names": sys.getfilesystemencoding(),
        "output": getattr(sys.stdout, "encoding", None) or "unknown",
    }
    seen = ", ".join(f"{name} {encoding}" for name, encoding in encodings.items())
    if any(encoding.lower().replace("-", "") not in ("utf8", "unknown") for encoding in encodings.values()):
        return Finding("encoding", WARNING, seen, "letters may be shown as escapes: set PYTHONUTF8=1")
    return Finding("encoding", OK, seen)


def _check_cache() -> Finding:
    try:
        folder = cache_folder()
    except InputError as error:
        return Finding("cache folder", FAULT, str(error), "set CLEW_CACHE to a folder that can be written")
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        seen = f"{folder} cannot be written ({error.strerror})"
        return Finding("cache folder", FAULT, seen, "set CLEW_CACHE to a folder that can be written")
    free = shutil.disk_usage(existing).free
    seen = f"{folder}, {_size(folder) / 1e6:,.0f} MB; {free / 1e9:,.1f} GB are free"
    if free < _MIN_FREE_BYTES:
        return Finding("cache folder", WARNING, seen, "free some space, or set CLEW_CACHE to another disk")
    return Finding("cache folder", OK, seen)


def _check_compiled_code() -> Finding:
    package = Path(clew.__file__).parent
    own = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(own)] if own else [package]
    count = sum(1 for folder in folders for _ in folder.rglob(_COMPILED))
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return Finding("compiled code", WARNING, "NUMBA_DISABLE_JIT is set", "unset it: all is some 100 times slower")
    if not count:
        seen = f"none in {folders[0]} yet: the first commands compile for some seconds, once"
        return Finding("compiled code", OK, seen)
    return Finding("compiled code", OK, f"{format_count(count, 'function')} in {folders[0]}")


def _size(folder: Path) -> int:
    total = 0
    for number, file in enumerate(folder.rglob("*")):
        if number == _MAX_FILES:
            break
        if file.is_file() and not file.is_symlink():
            total += file.stat().st_size
    return total
