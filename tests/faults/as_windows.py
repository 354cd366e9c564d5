"""Imports every module of Clew, then indexes and searches, where no module of POSIX can be imported by Clew.

Started by `test_other_platforms.py` in a process of its own, with a folder to work in. Packages of others are as they
are here; to Clew alone the platform is Windows: `sys.platform` says so, `fcntl`, `resource` and the like are missing,
and so are functions of `os` and `signal` that Windows lacks. `msvcrt` has its lock of bytes, within this process.
"""

import builtins
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

HIDDEN = frozenset({"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"})
LACKING: dict[ModuleType, str] = {
    os: "O_DIRECTORY O_NOFOLLOW chown fork forkpty getpgid getuid geteuid killpg mkfifo posix_fadvise pread pwrite "
    "sched_getaffinity sched_setaffinity setsid",
    signal: "SIGALRM SIGHUP SIGKILL SIGUSR1 SIGUSR2 SIGXCPU setitimer",
}


class FakeMsvcrt(ModuleType):
    """The lock of a byte of an open file, as between the descriptors of one process."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.holders: dict[tuple[int, int, int], int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        """Lock or free bytes from where the descriptor stands."""
        status = os.fstat(descriptor)
        place = (status.st_dev, status.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        if mode == self.LK_UNLCK:
            self.holders.pop(place, None)
        elif self.holders.get(place, descriptor) != descriptor and is_open_on(self.holders[place], status):
            raise OSError(36, "Resource deadlock avoided")
        else:
            self.holders[place] = descriptor
        assert count == 1


def is_open_on(descriptor: int, status: os.stat_result) -> bool:
    """Return whether a descriptor is open, on the file of a status; one that is closed has no lock any more."""
    try:
        return os.path.samestat(os.fstat(descriptor), status)
    except OSError:
        return False


def main(folder: Path) -> None:
    """Import, index and search in a folder."""
    names = [module.name for module in pkgutil.walk_packages(["src/clew"], "clew.") if module.name != "clew.__main__"]
    names = list(filter(can_be_imported, names))  # so the packages of others are loaded as they are here
    for name in [name for name in sys.modules if name.partition(".")[0] == "clew"]:
        del sys.modules[name]
    become_windows()
    for name in names:
        importlib.import_module(name)
    use(folder)


def can_be_imported(name: str) -> bool:
    """Import a module; return False where it needs a package of others that is not installed here."""
    from clew.errors import MissingPackageError

    try:
        importlib.import_module(name)
    except MissingPackageError:
        return False
    except ModuleNotFoundError as error:
        if str(error.name).startswith("clew"):
            raise
        return False
    return True


def become_windows() -> None:
    """Hide from Clew what Windows lacks."""
    plain_import = builtins.__import__

    def import_module(name: str, globals: Any = None, *others: Any, **named: Any) -> Any:  # noqa: A002
        if name.partition(".")[0] in HIDDEN and str((globals or {}).get("__name__", "")).startswith("clew."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return plain_import(name, globals, *others, **named)

    builtins.__import__ = import_module
    sys.modules["msvcrt"] = FakeMsvcrt()
    sys.platform = "win32"
    for module, missing in LACKING.items():
        for name in missing.split():
            if hasattr(module, name):
                delattr(module, name)


def use(folder: Path) -> None:
    """Index a file, add to it, search, ask, check and repair, by the commands."""
    text = folder / "voyage.txt"
    text.write_text("Louis Palander\n\nLouis Palander commanded the Vega. He was born in Karlskrona.", encoding="utf-8")
    index = str(folder / "index")
    for arguments in (
        ("index", str(text), "--index", index, "--encoder", "none"),
        ("index", str(text), "--index", index),
        ("search", "Where was Louis Palander born?", "--index", index),
        ("ask", "Where was Louis Palander born?", "--index", index),
        ("verify", "--index", index),
        ("compact", "--index", index),
        ("repair", "--index", index, "--yes"),
        ("doctor", "--index", index),
        ("remove", "voyage.txt", "--index", index),
    ):
        run = run_command(arguments)
        assert run == 0, (arguments, run)


def run_command(arguments: tuple[str, ...]) -> object:
    """Run a command in this process and return its exit code."""
    main_function: Callable[[], None] = importlib.import_module("clew.commands.app").main
    sys.argv = ["clew", *arguments]
    try:
        main_function()
    except SystemExit as end:
        return end.code
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
