"""The parts of one server, and how a route runs its work on a version of an index."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from clew.server.access import Access
from clew.server.http.accounts import AuditLog, Metrics, RateLimit
from clew.server.keys import KeyFile
from clew.server.memories import Memories
from clew.server.open_indexes import OpenIndexes, OpenVersion
from clew.server.options import ServerOptions
from clew.server.refusals import Refusal
from clew.server.uploads.runner import Jobs
from clew.server.worker_pool import WorkerPool

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class ServerState:
    """The parts of one server."""

    options: ServerOptions
    indexes: OpenIndexes
    jobs: Jobs
    memories: Memories
    pool: WorkerPool
    keys: KeyFile | None  # None where no key is call for
    metrics: Metrics
    audit: AuditLog
    rate: RateLimit
    opening: asyncio.Lock  # so that requests of /ready that wait for a slow index hold one thread

    def names(self, access: Access) -> list[str]:
        """Return the names of the indexes that a key may ask, sorted."""
        return [name for name in self.indexes.names() if access.may_ask(name)]


# All are coroutines: FastAPI runs a plain function in a thread of its own pool, which costs two hand-overs a request.
async def _state(request: Request) -> ServerState:
    state: ServerState = request.app.state.clew
    return state


async def _access(request: Request) -> Access:
    access: Access = request.scope["clew.access"]  # set by the guard, without which no route is reached
    return access


State = Annotated[ServerState, Depends(_state)]
CallerAccess = Annotated[Access, Depends(_access)]


@dataclass(frozen=True, slots=True, eq=False)
class IndexRequest:
    """A request to one index, and what its caller may do."""

    request: Request
    index: str
    state: ServerState
    access: Access

    def check(self) -> None:
        """Refuse (404) an index that does not exist, or that the key may not ask."""
        self.access.check_index(self.index)
        self.state.indexes.check(self.index)

    def check_writing(self) -> None:
        """Refuse an index that does not exist, and a key that may not write."""
        self.check()
        self.access.check_write()
        if not self.state.options.write:
            raise Refusal(403, "this server takes no documents: it was started with --read-only", "read-only")

    async def run(self, work: Callable[[OpenVersion, Access], T]) -> T:
        """Return the result of work on the newest version of the index, in a thread of the pool.

        Where the client leaves first, work that has not begun is not done.

        Raises:
            Refusal: The index does not exist or the key may not ask it (404), the queue is full (429), the deadline
                passed (504), or the client has left.
        """

        def run() -> T:
            with self.state.indexes.lease(self.index) as version:
                return work(version, self.access)

        return await self.run_in_pool(run)

    async def run_in_pool(self, work: Callable[[], T]) -> T:
        """Return the result of work that takes no version of the index, as `run` does, with its refusals."""
        self.access.check_index(self.index)
        pool = self.state.pool
        answer = asyncio.wrap_future(pool.submit(work))
        left = asyncio.ensure_future(_wait_until_left(self.request))
        try:
            await asyncio.wait((answer, left), timeout=pool.deadline, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise Refusal(499, "the client has left", "left") if left.done() else pool.describe_deadline()
        finally:
            left.cancel()
            answer.cancel()


async def _make_call(request: Request, index: str, state: State, access: CallerAccess) -> IndexRequest:
    return IndexRequest(request, index, state, access)


RequestOfIndex = Annotated[IndexRequest, Depends(_make_call)]


async def _wait_until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
