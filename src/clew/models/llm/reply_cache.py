"""Cache of language model replies by all they depend on: an SQLite file for several processes, written one by one."""

import json
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

_CREATE_TABLE = """CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, reply TEXT NOT NULL, made REAL NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, seconds REAL NOT NULL, cost REAL NOT NULL
)"""


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
        """Return a cached reply; None where there is none that fits the schema."""
        return self.get_many({key: prompt}).get(key)

    def get_many(self, prompts: Mapping[str, Prompt]) -> dict[str, Reply]:
        """Return, by key, the cached replies that fit the schema of their prompt."""
        if not prompts or not self._path.exists():
            return {}
        replies: dict[str, Reply] = {}
        with self._open() as connection:
            for key, prompt in prompts.items():
                row = connection.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
                with suppress(ValidationError):
                    if row is not None:
                        replies[key] = Reply(prompt.reply.model_validate_json(row[0]), cached=True)
        return replies

    def put(self, key: str, model: str, prompt: Prompt, reply: Reply) -> None:
        """Store a reply."""
        usage = reply.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.seconds, usage.cost)
        row = (key, model, prompt.name, reply.value.model_dump_json(), time.time(), *counts)
        with self._open() as connection, connection:
            connection.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def summarize(self) -> list[CachedReplies]:
        """Return counts and usage of the cached replies by model and prompt."""
        if not self._path.exists():
            return []
        sums = "SELECT model, prompt, SUM(seconds), COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(cost)"
        with self._open() as connection:
            rows = connection.execute(f"{sums} FROM calls GROUP BY model, prompt ORDER BY model, prompt").fetchall()
        return [CachedReplies(model, prompt, Usage(*counts)) for model, prompt, *counts in rows]

    def prune(self, older_than: float = 0.0, model: str | None = None) -> int:
        """Delete replies older than some seconds, of one model or of all; return their number."""
        if not self._path.exists():
            return 0
        with self._open() as connection, connection:
            values = (time.time() - older_than, model, model)
            deleted = connection.execute("DELETE FROM calls WHERE made <= ? AND (? IS NULL OR model = ?)", values)
        with self._open() as connection:
            connection.execute("VACUUM")
        return deleted.rowcount

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=60.0)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(_CREATE_TABLE)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise ProviderError(
                f"the reply cache {self._path} cannot be used ({error}): free disk space, allow writing there, remove "
                "the file if it is damaged, or run with --no-cache"
            ) from error
