"""The indexes of a server: opened when they are asked for, followed to newer versions, closed when others are used.

An answer holds a lease of one version. A version is closed when a newer one, or another index, has taken its place
and its last lease has ended; so each answer belongs to one version, and two of an index are open for no longer than the
answers that were under way.
"""

import gc
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from threading import Condition, Lock
from typing import final

from clew.errors import ClewError
from clew.index import Index
from clew.protocols import Retriever
from clew.query.contents import DocumentList
from clew.query.graph_browsing import GraphBrowser
from clew.query.scope import Scope
from clew.server.refusals import unknown
from clew.types import Filter

_log = logging.getLogger("clew.server")
_MAX_RETRIEVERS = 8  # of one version, each with its settings
_MAX_AGE = 10.0  # seconds after the last look for a newer version from which a lease waits for the next look


@final
class OpenVersion:
    """One version of an index, open.

    Attributes:
        name: The name of the index on this server.
        index: The version.
        documents: Its documents.
        browser: Its graph.
    """

    def __init__(self, name: str, index: Index) -> None:
        self.name = name
        self.index = index
        self.documents = DocumentList(index.snapshot)
        self.browser = GraphBrowser(index.context.scope)
        self._building = Lock()
        self._retrievers: OrderedDict[Hashable, Retriever] = OrderedDict()
        self._selecting = Lock()
        self.leases = 0
        self.replaced = False

    @property
    def number(self) -> int:
        """The number of the version."""
        return self.index.table.version

    @property
    def scope(self) -> Scope:
        """The passages and links of the version."""
        return self.index.context.scope

    @cached_property
    def extraction_failures(self) -> dict[str, str]:
        """For each document the reason why nothing could be extracted from one of its passages."""
        rows = self.index.table.read_failed(["document_id", "failure"])
        return {
            str(d): str(r) for d, r in zip(rows["document_id"].to_pylist(), rows["failure"].to_pylist(), strict=True)
        }

    def restrict(self, where: Filter) -> Index:
        """Return an index of the passages alone that a filter allows, put together at first use."""
        with self._selecting:  # not twice at once: each takes seconds
            selected = self.index.restrict(where)
            _ = selected.context
        return selected

    def drop(self) -> None:
        """Let go of all arrays; nothing may be asked after that."""
        self._retrievers.clear()
        self.index.close()
        del self.index, self.browser, self.documents

    def retriever(self, key: Hashable, build: Callable[[], Retriever]) -> Retriever:
        """Return the retriever of a key, built unless it is one of the last that were asked for."""
        with self._building:  # not twice at once: some take seconds and much memory
            retriever = self._retrievers.pop(key, None) or build()
            self._retrievers[key] = retriever
            while len(self._retrievers) > _MAX_RETRIEVERS:
                self._retrievers.popitem(last=False)
        return retriever


@final
class _Entry:
    """An index that is open or is being opened."""

    def __init__(self, opening: "Future[OpenVersion]") -> None:
        self.opening = opening
        self.checked = time.monotonic()  # since when the last look knew of nothing newer
        self.following: Future[None] | None = None
        self.replacing = Lock()


@final
class OpenIndexes:
    """The indexes of a server by name; at most `max_open` are open, but for those with answers under way.

    `open_index` opens the newest version at a location; `poll` is after how many seconds a lease looks for a newer one.
    The look, and the opening of what it finds, go on beside the answers; a lease waits for them where the last look is
    more than ten seconds ago.
    """

    def __init__(
        self,
        locations: Mapping[str, str],
        open_index: Callable[[str], Index],
        max_open: int = 32,
        poll: float = 1.0,
    ) -> None:
        self.locations = dict(locations)
        self._open_index = open_index
        self._max_open = max(1, max_open)
        self._poll = poll
        self._changed = Condition()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # the least recently used first
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="clew-open")

    def names(self) -> list[str]:
        """Return the names of all indexes, sorted."""
        return sorted(self.locations)

    def check(self, name: str) -> None:
        """Refuse (404) a name that no index has."""
        if name not in self.locations:
            raise unknown("index", name)

    def open_versions(self) -> dict[str, int]:
        """Return the versions that are open, by name."""
        with self._changed:
            entries = list(self._entries.items())
        return {name: e.opening.result().number for name, e in entries if _is_open(e.opening)}

    @contextmanager
    def lease(self, name: str) -> Iterator[OpenVersion]:
        """Hold the newest version that is open of an index, opening it if none is; an unknown name is a Refusal."""
        version = self._acquire(name)
        try:
            yield version
        finally:
            self._release(version)

    def refresh(self, name: str) -> None:
        """Open the newest version of an index that is open; leases after that are of it, or of a newer one."""
        with self._changed:
            entry = self._entries.get(name)
        if entry is not None:
            self._open_newer(name, entry)

    @contextmanager
    def open_for_writing(self, name: str) -> Iterator[Index]:
        """Open an index beside the versions that answer, so that a change moves none of them; it is closed after it."""
        self.check(name)
        with self._open_index(self.locations[name]) as index:
            yield index

    def close(self) -> None:
        """Close all indexes that no answer holds."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        with self._changed:
            entries = [self._entries.pop(name) for name in list(self._entries)]
        for entry in entries:
            if _is_open(entry.opening):
                self._retire(entry.opening.result())

    def _acquire(self, name: str) -> OpenVersion:
        self.check(name)
        while True:
            with self._changed:
                entry = self._entries.get(name)
                if entry is None or (entry.opening.done() and not _is_open(entry.opening)):
                    entry = self._entries[name] = _Entry(self._threads.submit(self._open, name))
                self._entries.move_to_end(name)
                surplus = self._pop_surplus(name)
            for version in surplus:
                self._retire(version)
            entry.opening.result()
            self._follow(name, entry)
            version = entry.opening.result()
            with self._changed:
                if version.replaced:
                    continue
                version.leases += 1
            return version

    def _open(self, name: str) -> OpenVersion:
        return OpenVersion(name, self._open_index(self.locations[name]))

    def _pop_surplus(self, name: str) -> list[OpenVersion]:
        surplus = []
        for other in list(self._entries):
            if len(self._entries) <= self._max_open:
                break
            entry = self._entries[other]
            if other != name and entry.opening.done() and (entry.following is None or entry.following.done()):
                del self._entries[other]
                if _is_open(entry.opening):
                    surplus.append(entry.opening.result())
        return surplus

    def _release(self, version: OpenVersion) -> None:
        with self._changed:
            version.leases -= 1
            last = version.replaced and version.leases == 0
        if last:
            _close(version)

    def _retire(self, version: OpenVersion) -> None:
        with self._changed:
            version.replaced = True
            unused = version.leases == 0
        if unused:
            _close(version)

    def _follow(self, name: str, entry: _Entry) -> None:
        """Look for a newer version in the background, where the last look is long enough ago; wait if it is too long.

        So an answer is of a version that was the newest ten seconds before, if it could be opened.
        """
        with self._changed:
            age = time.monotonic() - entry.checked
            if age < self._poll:
                return
            following = entry.following
            if following is None or following.done():
                following = entry.following = self._threads.submit(self._open_newer, name, entry)
        if age >= _MAX_AGE:
            following.result()

    def _open_newer(self, name: str, entry: _Entry) -> None:
        with entry.replacing:  # not twice at once, which would open a version that nobody closes
            began = time.monotonic()
            try:
                old = entry.opening.result()
            except ClewError:  # the caller that opens it gets the error
                return
            with self._changed:
                if old.replaced:  # the index was closed meanwhile
                    return
                old.leases += 1  # so that it is not closed while it is read here
            try:
                self._replace_older(name, entry, old)
            except ClewError as error:  # the version that is open goes on answering
                _log.warning("%s: no newer version can be opened: %s", name, error)
            finally:
                entry.checked = began
                self._release(old)

    def _replace_older(self, name: str, entry: _Entry, old: OpenVersion) -> None:
        if old.index.table.is_newest:
            return
        new = self._open(name)
        opening: Future[OpenVersion] = Future()
        opening.set_result(new)
        with self._changed:
            is_current = self._entries.get(name) is entry
            if is_current:
                entry.opening = opening
        self._retire(old if is_current else new)


def _is_open(opening: "Future[OpenVersion]") -> bool:
    return opening.done() and not opening.cancelled() and opening.exception() is None


def _close(version: OpenVersion) -> None:
    """Let a version go: its arrays are mapped files, which are unmapped with the last reference to them."""
    name, number = version.name, version.number
    version.drop()
    gc.collect()  # retrievers and contexts refer to each other
    _log.info("%s: version %d is closed", name, number)
