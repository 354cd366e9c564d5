"""A server of this machine and user that commands may ask in place of opening an index: how it is found, and proved.

A server without keys that listens on loopback writes a file for each of its indexes into the user's cache folder: its
address, a token, its version of Clew, and a hash of its settings. The folder and the files are their owner's alone, and
lie outside of indexes, so that an index of someone else brings none. A command believes an address only where whoever
listens there proves, before it is told anything, that it knows the token:

    proof = HMAC-SHA256(token, nonce)

Source: RFC 2104. Differs from the source: nothing.
"""

import hmac
import json
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

from clew.plugins.folders import cache_folder
from clew.store.location import locate

_FOLDER = "servers"
_MAX_BYTES = 10_000  # of a file
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server of an index, as its file tells."""

    host: str
    port: int
    index: str  # the name of the index on the server
    token: str
    process: int
    settings: str  # hash of the settings that change what is found
    program: str  # version and place of the installed Clew


def make_token() -> str:
    """Return a new token."""
    return secrets.token_hex(32)


def prove(token: str, nonce: str) -> str:
    """Return the proof that a token is known, for a nonce of the other side."""
    return hmac.new(token.encode(), nonce.encode(), "sha256").hexdigest()


def program_name() -> str:
    """Return the version of Clew and where it is installed: two of one name find the same."""
    return f"{version('clew')} {Path(__file__).parent} {sys.version_info[:2]}"


@contextmanager
def announce_server(
    locations: Mapping[str, str], address: tuple[str, int], token: str, settings: str
) -> Iterator[None]:
    """Write the files of a server for its indexes, by name, and remove them at the end where they are still its own.

    Raises OSError where they cannot be written, or their folder is not its owner's alone.
    """
    files: list[Path] = []
    try:
        for name, location in locations.items():
            host, port = address
            server = LocalServer(host, port, name, token, os.getpid(), settings, program_name())
            files.append(_write(location, server))
        yield
    finally:
        for file in files:
            with suppress(OSError, ValueError):
                if (found := _read(file)) is not None and found.token == token:
                    file.unlink()


def find_server(location: str, settings: str) -> LocalServer | None:
    """Return the server of an index with equal settings and an equal Clew; None where none is announced.

    A file that others could have written, or that cannot be read, counts as none.
    """
    try:
        server = _read(_file(location))
    except (OSError, ValueError):
        return None
    if server is None or server.settings != settings or server.program != program_name():
        return None
    return server


def forget_server(location: str, server: LocalServer) -> None:
    """Remove the file of a server that does not listen any more, unless another one has taken its place."""
    with suppress(OSError, ValueError):
        if _read(_file(location)) == server:
            _file(location).unlink()


def _file(location: str) -> Path:
    place = locate(location)
    table = place.table if place.remote else os.path.realpath(place.table)
    return cache_folder() / _FOLDER / f"{blake2b(table.encode(), digest_size=16).hexdigest()}.json"


def _write(location: str, server: LocalServer) -> Path:
    file = _file(location)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_private(file.parent.stat()):
        raise PermissionError(f"{file.parent} can be written or read by others")
    handle, temporary = tempfile.mkstemp(dir=file.parent)  # readable by its owner alone
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            json.dump(asdict(server), opened)
        Path(temporary).replace(file)
    except OSError:
        Path(temporary).unlink()
        raise
    return file


def _read(file: Path) -> LocalServer | None:
    """Return what a file says; None where its folder or it is not the user's alone, or it has another form."""
    if not _is_private(file.parent.lstat()):
        return None
    with os.fdopen(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
        if not _is_private(os.fstat(opened.fileno())):
            return None
        values = json.loads(opened.read(_MAX_BYTES))
    if not isinstance(values, dict) or values.keys() != LocalServer.__dataclass_fields__.keys():
        return None
    kinds = (isinstance(values[name], int if name in ("port", "process") else str) for name in values)
    return LocalServer(**values) if all(kinds) else None


def _is_private(status: os.stat_result) -> bool:
    """Return whether a file or folder is this user's, and nobody else may use it; where there are no users, it is."""
    user = getattr(os, "geteuid", None)
    return user is None or (status.st_uid == user() and not status.st_mode & _OTHERS)
