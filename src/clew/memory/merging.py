"""The thread that brings an index up to date with the log of its memory: turns added and removed, few commits for many.

The index that wrote a version is the one that answers next: it has read the arrays, and is asked the latest questions
before.
"""

import atexit
import logging
import time as clock
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import final

from clew.errors import ClewError, IndexLockedError, InputError
from clew.index import Index
from clew.memory.recalling import RecallRequest, is_stored, search_version
from clew.memory.state import MemoryState
from clew.memory.versions import SharedVersion
from clew.memory.waiting import WaitingTurn

_logger = logging.getLogger(__name__)
_LOOK_SECONDS = 10.0  # between two looks for commits of other writers, and two tries of a merge that failed
_LOCKED_SECONDS = 0.5  # between two tries of a removal while another process writes
PATIENCE_SECONDS = 60.0
"""Seconds that a removal waits for other processes."""
_MERGE_SHARE = 4.0  # after a merge there is none for so many times its seconds
_FULL_FRAGMENT, _MAX_FRAGMENTS = 1 << 16, 64  # rows of a large data file; small ones that merges leave, at most
_FIRST = RecallRequest("What was said of Zzyzxqia?")  # names that nothing has are looked for among all names


@final
@dataclass(frozen=True, slots=True)
class MergeLimits:
    """When turns that wait are merged."""

    turns: int  # as many at once
    seconds: float  # fewer after this time


@final
class Merger:
    """Merges the turns of a state into the version that answers; one thread at a time.

    Args:
        state: The turns and removals.
        versions: The version that answers.
        open_version: Opens the newest version.
        limits: When turns are merged.
        on_commit: Called when a newer version answers.
        recent: Returns the latest questions.
    """

    def __init__(
        self,
        state: MemoryState,
        versions: SharedVersion,
        open_version: Callable[[], Index],
        limits: MergeLimits,
        on_commit: Callable[[], None],
        recent: Callable[[], Iterable[RecallRequest]],
    ) -> None:
        self._state, self._versions, self._open_version = state, versions, open_version
        self._limits, self._on_commit, self._recent = limits, on_commit, recent
        self._settling = Lock()
        self._pause_end = 0.0  # in seconds of `time.monotonic`, as all times here
        self._next_look = clock.monotonic() + _LOOK_SECONDS
        self._thread = Thread(target=self._run, name="clew-memory", daemon=True)

    def start(self) -> None:
        """Start the thread; the interpreter waits for what it is at, since to be taken down then would abort it."""
        self._thread.start()
        atexit.register(self.end)

    def end(self) -> None:
        """Take nothing more, and wait for a merge that is under way."""
        self._state.end()
        self._thread.join()
        atexit.unregister(self.end)

    def settle_when_free(self) -> None:
        """Remove what is forgotten from the index, when no other process is writing to it.

        Raises IndexLockedError where that takes more than a minute.
        """
        end = clock.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self.settle(add=False)
                return
            except IndexLockedError:
                if clock.monotonic() >= end:
                    raise
            clock.sleep(_LOCKED_SECONDS)

    def settle(self, *, add: bool = True) -> int:
        """Remove what is forgotten, and add the turns that wait; return their number.

        Raises IndexLockedError where another process is writing, ProviderError where a disk failed.
        """
        with self._settling:
            started, state = clock.monotonic(), self._state
            removals, waiting = state.removals, state.waiting if add else {}
            if not removals and not waiting:
                return 0
            merged = self._commit({id_ for removal in removals for id_ in removal.ids}, waiting)
            if any(removal.shred for removal in removals):
                self._shred()
            state.settle(merged, removals)
            ended = clock.monotonic()
            self._pause_end = ended + _MERGE_SHARE * (ended - started)
            return len(merged)

    def warm(self, index: Index) -> None:
        """Ask a version the latest questions, so that the next ones find what they need in memory."""
        for request in (_FIRST, *self._recent()):
            with suppress(InputError):
                search_version(index, (), request)

    def follow(self) -> None:
        """Answer by the newest version, where another writer has committed one."""
        with self._settling:
            with self._versions.lease() as index:
                if index.table.is_newest:
                    return
            with ExitStack() as opened:
                newest = opened.enter_context(self._open_version())
                self.warm(newest)
                opened.pop_all()
            self._versions.replace(newest)

    def _commit(self, gone: set[str], waiting: Mapping[str, WaitingTurn]) -> set[str]:
        """Remove and add turns; return those that are in the version which answers after this."""
        with self._versions.lease() as index:
            if not waiting and index.table.is_newest and not any(is_stored(index.snapshot, id_) for id_ in gone):
                return set()
        with ExitStack() as opened:
            index = opened.enter_context(self._open_version())
            stored = index.table.stored_documents()
            if present := sorted(id_ for id_ in gone if id_ in stored):
                index.remove(present)
            if waiting:
                report = index.add([turn.document for turn in waiting.values()])
                for failure in report.failures:
                    _logger.warning("the turn %s could not be merged: %s", failure.item, failure.reason)
                full = index.table.count_rows() // _FULL_FRAGMENT
                if len(index.table.fragments()) > full + _MAX_FRAGMENTS:
                    index.compact()
            stored = index.table.stored_documents()
            self.warm(index)
            opened.pop_all()
        self._switch(index)
        return {id_ for id_ in waiting if id_ in stored}

    def _shred(self) -> None:
        """Remove from the disk what the index has no longer; the version that answers has first to be a compact one."""
        end = clock.monotonic() + PATIENCE_SECONDS
        while True:
            with ExitStack() as opened:
                index = opened.enter_context(self._open_version())
                try:
                    index.compact(shred=True)
                    return
                except IndexLockedError:
                    if clock.monotonic() >= end:
                        raise
                self.warm(index)
                opened.pop_all()
            self._switch(index)
            clock.sleep(_LOCKED_SECONDS)

    def _switch(self, index: Index) -> None:
        self._versions.replace(index)
        self._on_commit()

    def _run(self) -> None:
        """Merge what waits, and follow the commits of other writers, until the memory is closed."""
        state = self._state
        while True:
            with state.changed:
                if not state.is_closed and (seconds := self._seconds_to_wait()) > 0:
                    state.changed.wait(seconds)
                if state.is_closed:
                    return
                is_due = self._seconds_to_wait() <= 0
            try:
                if is_due:
                    self.settle()
                elif clock.monotonic() >= self._next_look:
                    self._next_look = clock.monotonic() + _LOOK_SECONDS
                    self.follow()
            except RuntimeError as error:
                if "interpreter shutdown" not in str(error):
                    raise
                return  # no thread is started any more: the next memory merges
            except ClewError as error:
                level = logging.INFO if isinstance(error, IndexLockedError) else logging.WARNING
                _logger.log(level, "turns could not be merged, and wait: %s", error)
                self._pause_end = clock.monotonic() + _LOOK_SECONDS

    def _seconds_to_wait(self) -> float:
        """Return the seconds until a merge is due, 0 or less for now, or else until the next look."""
        state, now = self._state, clock.monotonic()
        if not state.waiting and not state.removals:
            return _LOOK_SECONDS
        is_full = len(state.waiting) >= self._limits.turns or bool(state.removals)
        due = now if is_full else state.since + self._limits.seconds
        return min(max(due, self._pause_end) - now, _LOOK_SECONDS)
