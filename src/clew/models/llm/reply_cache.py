"""Cache of language model replies by all they depend on: an SQLite file for several processes, written one by one.

Each reply has a checksum: SQLite has none, and a flipped bit in a reply is mostly another word of the same form.
"""

import json
import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from clew.errors import ProviderError
from clew.types import Prompt, Reply, Usage

_CREATE_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, reply TEXT NOT NULL, made REAL NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, seconds REAL NOT NULL, cost REAL NOT NULL,
    checksum BLOB NOT NULL
)"""
_OLD_TABLE = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'calls'"  # of replies without checksums
_FIND = "SELECT CAST(model AS BLOB), CAST(prompt AS BLOB), CAST(reply AS BLOB), checksum FROM replies WHERE key = ?"
_STORE = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TAKE_OVER = """INSERT OR IGNORE INTO replies
SELECT key, model, prompt, reply, made, input_tokens, output_tokens, seconds, cost,
    clew_checksum(CAST(key AS BLOB), CAST(model AS BLOB), CAST(prompt AS BLOB), CAST(reply AS BLOB))
FROM calls"""
_TIMEOUT = 60.0  # seconds that a process waits for another one
_PAUSE = 0.01
_log = logging.getLogger(__name__)


def call_key(model: str, prompt: Prompt, settings: Mapping[str, Any]) -> str:
    """Return the cache key of a call."""
    fields = [model, prompt.name, prompt.instructions, prompt.content, prompt.reply.model_json_schema(), dict(settings)]
    return blake2b(json.dumps(fields, sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class CachedReplies:
    """Number of cached replies of one model and prompt, and their original usage."""

    model: str
    prompt: str
    usage: Usage


class ReplyCache:
    """Reply cache in one file, which is created with its folder when the first reply is stored."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str, prompt: Prompt) -> Reply | None:
        """Return a cached reply; None where there is none that is as it was stored and fits the schema."""
        return self.get_many({key: prompt}).get(key)

    def get_many(self, prompts: Mapping[str, Prompt]) -> dict[str, Reply]:
        """Return, by key, the cached replies that fit the schema of their prompt.

        A reply that is not as it was stored is left out with a warning; the next one takes its place.
        """
        if not prompts or not self._path.exists():
            return {}
        replies: dict[str, Reply] = {}
        damaged = 0
        with self._open() as connection:
            for key, prompt in prompts.items():
                row = connection.execute(_FIND, (key,)).fetchone()
                if row is None:
                    continue
                model, name, reply, checksum = row
                if checksum != _checksum(key.encode(), model, name, reply):
                    damaged += 1
                    continue
                with suppress(ValidationError):
                    replies[key] = Reply(prompt.reply.model_validate_json(reply), cached=True)
        if damaged:
            _log.warning("%d stored replies in %s are not as they were written: asked again", damaged, self._path)
        return replies

    def put(self, key: str, model: str, prompt: Prompt, reply: Reply) -> None:
        """Store a reply."""
        usage = reply.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.seconds, usage.cost)
        texts = key, model, prompt.name, reply.value.model_dump_json()
        row = (*texts, time.time(), *counts, _checksum(*(text.encode() for text in texts)))
        with self._open() as connection, connection:
            connection.execute(_STORE, row)

    def summarize(self) -> list[CachedReplies]:
        """Return counts and usage of the cached replies by model and prompt."""
        if not self._path.exists():
            return []
        sums = "SELECT model, prompt, SUM(seconds), COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(cost)"
        with self._open() as connection:
            rows = connection.execute(f"{sums} FROM replies GROUP BY model, prompt ORDER BY model, prompt").fetchall()
        return [CachedReplies(model, prompt, Usage(*counts)) for model, prompt, *counts in rows]

    def prune(self, older_than: float = 0.0, model: str | None = None) -> int:
        """Delete replies older than some seconds, of one model or of all; return their number."""
        if not self._path.exists():
            return 0
        with self._open() as connection, connection:
            values = (time.time() - older_than, model, model)
            deleted = connection.execute("DELETE FROM replies WHERE made <= ? AND (? IS NULL OR model = ?)", values)
        with self._open() as connection:
            connection.execute("VACUUM")
        return deleted.rowcount

    def clear(self) -> int:
        """Drop all replies and every byte of them from the file; return their number.

        Raises ProviderError where another process is using the file, so that it still holds them.
        """
        dropped = self.prune()
        if not self._path.exists():
            return 0
        with self._open() as connection:
            is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if is_busy:
            raise ProviderError(
                f"the replies in {self._path} are dropped, but another process is reading the file, which still holds "
                "their bytes: end it, and run `clew compact --shred`"
            )
        return dropped

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_TIMEOUT)) as connection:
                _switch_to_log(connection)
                if connection.execute(_OLD_TABLE).fetchone() is not None:
                    _add_checksums(connection)
                connection.execute(_CREATE_TABLE)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise ProviderError(
                f"the reply cache {self._path} cannot be used ({error}): free disk space, allow writing there, remove "
                "the file if it is damaged, or run with --no-cache"
            ) from error


def _switch_to_log(connection: sqlite3.Connection) -> None:
    """Let a file be written while it is read; wait for a process that is creating it, as SQLite does not here."""
    latest = time.monotonic() + _TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= latest:
                raise
        time.sleep(_PAUSE)


def _checksum(key: bytes, model: bytes, prompt: bytes, reply: bytes) -> bytes:
    """Return a checksum of what identifies a stored reply, and of the reply."""
    digest = blake2b(digest_size=16)
    for part in (key, model, prompt, reply):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Move replies that an earlier version of Clew stored into the table with checksums, in one transaction."""
    connection.create_function("clew_checksum", 4, _checksum, deterministic=True)
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute(_OLD_TABLE).fetchone() is None:
            return  # another process has moved them meanwhile
        connection.execute(_CREATE_TABLE)
        connection.execute(_TAKE_OVER)
        connection.execute("DROP TABLE calls")
