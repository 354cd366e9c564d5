"""Keys of the server: random texts, of which a file holds hashes alone, and what each allows.

A key is `clew_ID_SECRET`. The secret has 256 random bits, so that a plain hash is enough: there is nothing to guess.
"""

import hmac
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, final

from pydantic import Field, TypeAdapter, ValidationError

from clew.errors import InputError
from clew.query.filters import parse_filter
from clew.server.access import Access
from clew.server.refusals import Refusal
from clew.store.atomic import atomic_file

_KEY = re.compile(r"clew_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})")
_NO_HASH = "0" * 64
_FileState = tuple[int, int, int]  # time of the last change, size and inode
_log = logging.getLogger("clew.server")


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as the file holds it."""

    id: str
    hash: str  # SHA-256 of the secret, hexadecimal
    label: str  # for people
    indexes: tuple[str, ...] | None  # None for all
    where: str | None
    write: bool
    created: Annotated[float, Field(allow_inf_nan=False)]  # seconds since 1970
    strict: bool = False  # whether order and scores are those of an index without what `where` hides

    @property
    def access(self) -> Access:
        """The rights of the key."""
        return Access(
            self.id, None if self.indexes is None else frozenset(self.indexes), self.where, self.write, self.strict
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """The content of a file of keys."""

    version: int = 1
    keys: tuple[StoredKey, ...]


_CONTENT = TypeAdapter(_Content)


@final
class KeyFile:
    """A file of keys; a change of the file is seen at the next request.

    Raises InputError where the file is not one of keys.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state: _FileState | None = None
        self._keys: dict[str, StoredKey] = {}
        self._broken = ""  # why the file could not be read the last time

    def list_keys(self) -> list[StoredKey]:
        """Return the keys, in the order they were made; none where there is no file."""
        return list(self._read().values())

    def add(
        self,
        label: str = "",
        indexes: Sequence[str] | None = None,
        where: str | None = None,
        *,
        write: bool = False,
        strict: bool = False,
    ) -> str:
        """Make a key, store its hash, and return its text, which nothing can restore.

        A key with a filter may not write: what it adds could replace what it does not see. `strict` makes order and
        scores of what it finds those of an index without what it does not see. Raises InputError for a key with a
        filter that may write, for a strict one without a filter, and for a filter that cannot be parsed.
        """
        if strict and where is None:
            raise InputError("a strict key needs a filter: give a condition, or leave strict filters out")
        if where is not None:
            parse_filter(where)
            if write:
                raise InputError("a key with a filter may not write, since it could replace what it does not see")
        id_, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        names = None if indexes is None else tuple(indexes)
        stored = StoredKey(id_, _hash(secret), label, names, where, write, round(time.time(), 3), strict)
        self._write([*self.list_keys(), stored])
        return f"clew_{id_}_{secret}"

    def remove(self, id_: str) -> None:
        """Remove a key; an unknown id is an InputError."""
        if id_ not in (keys := self._read()):
            raise InputError(f"no key has the id {id_!r}; the ids are: {', '.join(keys) or 'none'}")
        self._write([key for key in keys.values() if key.id != id_])

    def verify(self, text: str) -> Access | None:
        """Return what a key allows, None for one that is not in the file; the time tells nothing of the secret.

        Where the file cannot be read, as while an editor writes it, the last keys that it held go on; the log says so.
        Raises a Refusal (503) if it could not be read before.
        """
        match = _KEY.fullmatch(text)
        keys = self._read_or_keep()
        stored = keys.get(match["id"]) if match else None
        given = _hash(match["secret"] if match else "")
        fits = hmac.compare_digest(given.encode(), (stored.hash if stored else _NO_HASH).encode("utf-8", "replace"))
        return stored.access if stored and fits else None

    def _read_or_keep(self) -> dict[str, StoredKey]:
        try:
            keys = self._read()
        except (OSError, InputError) as error:
            if str(error) != self._broken:  # once, not for each request
                _log.error("the keys cannot be read, so that the last ones that were read hold: %s", error)
            self._broken = str(error)
            if self._state is None:
                raise Refusal(503, "the keys cannot be read now; the server's log says why", "keys") from error
            return self._keys
        self._broken = ""
        return keys

    def _read(self) -> dict[str, StoredKey]:
        try:
            state = _file_state(self._path)
        except FileNotFoundError:
            self._state, self._keys = None, {}
            return {}
        if state != self._state:
            self._keys = {key.id: key for key in _parse(self._path)}
            self._state = state
        return self._keys

    def _write(self, keys: Sequence[StoredKey]) -> None:
        record = asdict(_Content(keys=tuple(keys)))
        with atomic_file(self._path) as temporary:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(record, file, indent=1)


def _file_state(path: Path) -> _FileState:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _parse(path: Path) -> tuple[StoredKey, ...]:
    try:
        return _CONTENT.validate_json(path.read_bytes(), strict=True).keys
    except (OSError, ValidationError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise InputError(f"{path} is not a file of keys ({reason}): make one by clew keys FILE --add LABEL") from error
