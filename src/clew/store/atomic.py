"""Atomic creation of files and folders, and removal of the temporary files of killed processes."""

import json
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from clew.errors import ClewError, IndexLockedError, ProviderError
from clew.store.error_mapping import map_errors
from clew.store.location import Location, locate

_DAY_SECONDS = 86_400
_TEMPORARY_NAME = re.compile(r"^\..+\.(?P<host>[0-9a-f]{8})\.(?P<pid>\d+)\.(?P<token>[0-9a-f]{8})\.tmp$")
_open_tokens: set[str] = set()  # a process in a container often has the pid of the killed one before it


@contextmanager
def atomic_folder(target: Path, *, replace: Callable[[Path], bool] | bool = True) -> Iterator[Path]:
    """Yield an empty temporary folder that is flushed to disk and renamed to `target` when the block ends.

    If the block raises, or a write fails (ProviderError), it is removed and the target stays unchanged. `replace` tells
    whether a target that exists by then gives way; else it is kept, and the new folder discarded. One that another
    process puts there at the same moment is kept, too.
    """
    with _temporary_path(target) as temporary:
        temporary.mkdir()
        yield temporary
        flush_folder(temporary)
        _replace_target(temporary, target, replace)
        _sync(target.parent)


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside a path, removed when the block ends, or as a leftover of a killed process."""
    with _temporary_path(target) as temporary:
        temporary.mkdir()
        yield temporary


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary file, flushed to disk and renamed to `target` at the block's end, or raise a ProviderError."""
    with _temporary_path(target) as temporary:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
        _sync(target.parent)


def flush_folder(folder: Path, *, below: bool = True) -> None:
    """Flush a folder to disk, and all that is `below` it."""
    for path in sorted(folder.rglob("*")) if below else ():
        _sync(path)
    _sync(folder)


def flush_files(files: Iterable[Path], name: str, *more: Path) -> None:
    """Flush files of the index `name` to disk, the two folders above each, and `more` folders, or raise a ClewError."""
    paths = list(files)
    folders = {folder for path in paths for folder in (path.parent, path.parent.parent)}
    with map_errors(name, "flushing what was written to"):
        for path in [*paths, *sorted(folders), *more]:
            _sync(path)


def write_text(target: Path, text: str) -> None:
    """Write a text file atomically, or raise a ProviderError, as for a folder that does not exist (a mistyped path)."""
    if not target.parent.is_dir():
        raise ProviderError(f"{target} could not be written (no folder {target.parent}): create it or choose another")
    with atomic_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def discard(target: Path) -> None:
    """Remove a file or folder: rename it first, so that it disappears at once, then free its space."""
    with _temporary_path(target) as temporary:
        target.rename(temporary)


def discard_older(folder: Path, pattern: str, used_versions: Container[int] = ()) -> None:
    """Discard folders of older versions beside `folder`, by their names, which begin with the number of the version.

    The newest two stay, and those of versions that are used.
    """
    siblings = sorted(folder.parent.glob(pattern), key=lambda other: other.name)
    for sibling in siblings[:-2]:
        number = sibling.name.partition("-")[0]
        if sibling != folder and not (number.isdecimal() and int(number) in used_versions):
            with suppress(ProviderError):  # another process has removed it, or Windows has it open
                discard(sibling)


def remove_leftovers(folder: Path) -> list[str]:
    """Remove temporary files in `folder` of ended writers (of other machines: a day old); return sorted names."""
    if not folder.is_dir():
        return []
    abandoned = [path for path in sorted(folder.iterdir()) if _is_abandoned(path)]
    for path in abandoned:
        _remove(path)
    return [path.name for path in abandoned]


def file_stamp(path: Path) -> list[int] | None:
    """Return the size and the time of modification of a file, None where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return [stat.st_size, stat.st_mtime_ns]


def read_note(file: Path) -> Any:
    """Return what `write_note` wrote, None where nothing can be read."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def write_note(file: Path, content: object) -> None:
    """Write what spares the work of finding it out again, as JSON, where that is possible."""
    with suppress(OSError, ProviderError), atomic_file(file) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")


def file_hash(path: Path) -> str:
    """Return a hash of a file's content."""
    with path.open("rb") as stream:
        return file_digest(stream, lambda: blake2b(digest_size=16)).hexdigest()


@contextmanager
def _temporary_path(target: Path) -> Iterator[Path]:
    token = secrets.token_hex(4)
    temporary = target.parent / f".{target.name}.{_host_id()}.{os.getpid()}.{token}.tmp"
    _open_tokens.add(token)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    except OSError as error:
        message = f"{target} could not be written ({error}), and is as it was before"
        raise ProviderError(f"{message}: free some space or choose another folder, then run it again") from error
    finally:
        _remove(temporary)
        _open_tokens.discard(token)


def _replace_target(temporary: Path, target: Path, replace: Callable[[Path], bool] | bool) -> None:
    """Rename a folder to `target`, moving an existing one aside first, since a rename cannot replace a full folder."""
    if _rename_to_free(temporary, target) or not (replace(target) if callable(replace) else replace):
        return
    with _temporary_path(target) as old:
        with suppress(FileNotFoundError):  # another process has just moved it aside
            target.rename(old)
        _rename_to_free(temporary, target)  # else another process has put the same there at this moment


def _rename_to_free(temporary: Path, target: Path) -> bool:
    """Rename a folder; return False where there is a target already."""
    if target.exists():
        return False
    try:
        temporary.rename(target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True


def _is_abandoned(path: Path) -> bool:
    match = _TEMPORARY_NAME.match(path.name)
    if match is None or match["token"] in _open_tokens:
        return False
    if match["host"] != _host_id():
        return time.time() - path.stat().st_mtime > _DAY_SECONDS
    return int(match["pid"]) == os.getpid() or not _is_alive(int(match["pid"]))


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return False  # os.kill would end the process; an open file there cannot be removed anyway
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended but was never waited for, as happens in containers."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return False  # it has ended by now, or the system has no /proc
    return state[:1] in (["Z"], ["X"])


def _host_id() -> str:
    return blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # a second error would hide the first
            path.unlink()


def _sync(path: Path) -> None:
    if sys.platform == "win32" and path.is_dir():
        return  # Windows has no handle of a folder to flush
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_index_folder(location: Location) -> Iterator[Path]:
    """Yield a folder for an index that becomes the one at a location on a disk when the block ends.

    It lies in the folder of the location, whose other files stay; its table is moved last, by one rename. If the block
    raises, nothing is left; what a killed process leaves is no index, and is removed when one is made. Errors name the
    location.

    Raises:
        IndexLockedError: Another process has made an index there meanwhile.
        ProviderError: The disk failed.
    """
    folder = Path(location.table).parent
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    is_made = False
    remove_leftovers(folder)
    try:
        with temporary_folder(folder / "new") as temporary:
            try:
                yield temporary
            except ClewError as error:
                error.args = tuple(str(part).replace(str(temporary), location.name) for part in error.args)
                raise
            _move(temporary, location)
            is_made = True
    finally:
        for made in () if is_made else missing:
            with suppress(OSError):  # another process has put something there
                made.rmdir()


def _move(temporary: Path, location: Location) -> None:
    """Move the parts of an index to a location, the table last, and flush what was moved."""
    made, folder = locate(temporary), Path(location.table).parent
    flush_folder(temporary)
    for part in sorted(temporary.iterdir()):
        if part not in (Path(made.table), made.lock) and not (folder / part.name).exists():
            part.rename(folder / part.name)
    try:
        Path(made.table).rename(location.table)
    except OSError as error:
        if not Path(location.table).exists():
            raise
        raise IndexLockedError(
            f"another process has made an index at {location.name} meanwhile: run the same command again"
        ) from error
    flush_folder(folder, below=False)
