"""Files and folders that appear whole or not at all, and the removal of what killed runs left beside them."""

import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from clew.errors import ProviderError

_DAY_SECONDS = 86_400
_CHUNK_BYTES = 1 << 20
_TEMPORARY_NAME = re.compile(r"^\..+\.(?P<host>[0-9a-f]{8})\.(?P<pid>\d+)\.(?P<token>[0-9a-f]{8})\.tmp$")
_open_tokens: set[str] = set()  # a process in a container often has the pid of the killed one before it


@contextmanager
def atomic_folder(target: Path, *, replace: bool = True) -> Iterator[Path]:
    """Give an empty folder beside `target` that takes its place, flushed to disk, when the block ends.

    When the block raises, the folder is removed and the target stays as it was.

    Args:
        target: Where the folder will be.
        replace: Whether it takes the place of one that is there by then; else that one stays and the new one goes.

    Raises:
        ProviderError: The disk refused a write.
    """
    with _temporary_path(target) as temporary:
        temporary.mkdir()
        yield temporary
        for path in sorted(temporary.rglob("*")):
            _sync(path)
        _sync(temporary)
        _replace_target(temporary, target, replace=replace)
        _sync(target.parent)


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Give the path of a file to write beside `target`; it takes its place, flushed to disk, when the block ends.

    Raises:
        ProviderError: The disk refused a write.
    """
    with _temporary_path(target) as temporary:
        yield temporary
        _sync(temporary)
        temporary.replace(target)
        _sync(target.parent)


def write_text(target: Path, text: str) -> None:
    """Write a text file in one step, in a folder that is there: a mistyped path makes no folders.

    Raises:
        ProviderError: There is no such folder, or the disk refused.
    """
    if not target.parent.is_dir():
        raise ProviderError(f"{target} could not be written (no folder {target.parent}): give one that is there")
    with atomic_file(target) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def discard(target: Path) -> None:
    """Remove a file or folder at once for those who look for it by its name, then free its space.

    Raises:
        ProviderError: It cannot be moved; it stays as it was.
    """
    with _temporary_path(target) as aside:
        target.rename(aside)


def remove_leftovers(folder: Path) -> list[str]:
    """Remove temporary files and folders directly in `folder` whose writer is gone; returns their names, sorted.

    A writer on another machine cannot be asked: its leftovers go after a day.
    """
    if not folder.is_dir():
        return []
    gone = [path for path in sorted(folder.iterdir()) if _is_abandoned(path)]
    for path in gone:
        _remove(path)
    return [path.name for path in gone]


def folder_hash(path: Path) -> str:
    """Return a hash of all files under a folder: their names relative to it, sorted by UTF-8 bytes, and their bytes."""
    digest = blake2b(digest_size=16)
    files = {file.relative_to(path).as_posix().encode(): file for file in path.rglob("*") if file.is_file()}
    for name in sorted(files):
        digest.update(len(name).to_bytes(8, "little") + name + files[name].stat().st_size.to_bytes(8, "little"))
        with files[name].open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def _temporary_path(target: Path) -> Iterator[Path]:
    token = secrets.token_hex(4)
    temporary = target.parent / f".{target.name}.{_host_id()}.{os.getpid()}.{token}.tmp"
    _open_tokens.add(token)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    except OSError as error:
        message = f"{target} could not be written ({error}), and nothing was changed"
        raise ProviderError(f"{message}: free some space or choose another folder, then run it again") from error
    finally:
        _remove(temporary)
        _open_tokens.discard(token)


def _replace_target(temporary: Path, target: Path, *, replace: bool) -> None:
    """Rename a folder to `target`; one that is there is moved aside first, since no rename replaces a full folder."""
    if not target.exists():
        try:
            temporary.rename(target)
        except OSError:
            if not target.exists():
                raise
        else:
            return
    if not replace:
        return
    with _temporary_path(target) as aside:
        target.rename(aside)
        temporary.rename(target)


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
    """Return whether a process has ended and waits for its parent, which in a container may never ask."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return False  # gone by now, or a system that tells otherwise
    return state[:1] in (["Z"], ["X"])


def _host_id() -> str:
    return blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # a second error would hide the one that led here
            path.unlink()


def _sync(path: Path) -> None:
    if sys.platform == "win32" and path.is_dir():
        return  # Windows has no handle of a folder to flush
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
