"""The memories of a server: turns of conversations in its indexes, within what a key may see.

A memory is opened when it is first asked, or at the start where turns wait from before. A server that may not write
recalls what is merged.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock
from typing import final

from clew.errors import ClewError
from clew.index import Index
from clew.memory import Memory
from clew.memory.log import LOG_FILE
from clew.memory.recalling import RecallRequest, has_fields, recall_turns
from clew.server import records
from clew.server.access import Access
from clew.server.open_indexes import OpenIndexes
from clew.server.refusals import Refusal
from clew.store.location import locate
from clew.types import Evidence, Filter

_log = logging.getLogger("clew.server")


@final
class Memories:
    """The memories of indexes by name; `write` tells whether anything may be stored at all."""

    def __init__(
        self,
        locations: Mapping[str, str],
        open_index: Callable[[str], Index],
        indexes: OpenIndexes,
        *,
        write: bool,
    ) -> None:
        self._locations = dict(locations)
        self._open_index = open_index
        self._indexes = indexes
        self._write = write
        self._is_closed = False
        self._opened: dict[str, Memory] = {}
        self._opening = {name: Lock() for name in locations}

    def resume(self) -> None:
        """Open the memories that an earlier server left turns in, which are merged then."""
        for name, location in self._locations.items():
            log = locate(location).derived.parent / LOG_FILE
            try:
                if log.is_file() and log.stat().st_size:
                    self._open(name)
            except (ClewError, OSError) as error:
                _log.warning("%s: the memory cannot be opened, and is tried again when it is asked: %s", name, error)

    def remember(self, name: str, access: Access, request: records.RememberRequest) -> str:
        """Store a turn, and return its id; a Refusal (403) for a key that may not write."""
        memory = self._open_to_write(name, access)
        return memory.remember(
            request.text,
            user=request.user,
            session=request.session,
            speaker=request.speaker,
            time=request.time,
            id=request.id,
        )

    def recall(self, name: str, access: Access, request: records.RecallRequest) -> Evidence:
        """Return what was said, of what the key may see; a Refusal (403) for a key with strict filters."""
        if access.strict:
            detail = "a key with strict filters cannot recall, since turns that wait have no order of their own: search"
            raise Refusal(403, detail, "strict")
        question = RecallRequest.select(
            request.question, request.user, request.session, request.as_of, access.where, request.k
        )
        if self._write:
            memory = self._open(name)
            _check_fit(access, memory.has_fields)
            return memory.find(question)
        with self._indexes.lease(name) as version:
            _check_fit(access, partial(has_fields, version.index, {}))
            return recall_turns(version.index, {}, (), question)

    def forget(self, name: str, access: Access, request: records.ForgetRequest) -> int:
        """Remove turns, and return their number; a Refusal (403) for a key that may not write."""
        memory = self._open_to_write(name, access)
        return memory.forget(user=request.user, session=request.session, id=request.id, shred=request.shred)

    def close(self) -> None:
        """Close all memories; turns that wait are on disk, and merged by the next server."""
        self._is_closed = True
        for name, opening in self._opening.items():
            with opening:
                if name in self._opened:
                    self._opened.pop(name).close(merge=False)

    def _open_to_write(self, name: str, access: Access) -> Memory:
        access.check_write()
        if not self._write:
            raise Refusal(403, "this server takes no documents: it was started with --read-only", "read-only")
        return self._open(name)

    def _open(self, name: str) -> Memory:
        self._indexes.check(name)
        with self._opening[name]:
            if self._is_closed:
                raise Refusal(503, "the server ends", "end")
            if name not in self._opened:
                location = self._locations[name]
                self._opened[name] = Memory(
                    location,
                    open_version=partial(self._open_index, location),
                    on_commit=partial(self._indexes.refresh, name),
                )
            return self._opened[name]


def _check_fit(access: Access, has_fields: Callable[[Filter], bool]) -> None:
    if access.where is not None and not has_fields(access.where):
        raise Refusal(403, "the filter of this key does not fit this index", "filter")
