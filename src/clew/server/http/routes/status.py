"""The server itself: `/health`, `/ready`, `/metrics`, and the indexes that it has."""

import asyncio
import logging

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from clew.errors import ClewError
from clew.retrievers.registry import RETRIEVERS
from clew.server import records
from clew.server.browsing import describe_index
from clew.server.http.accounts import MEDIA_TYPE
from clew.server.http.problems import ASKING, problems
from clew.server.http.state import CallerAccess, RequestOfIndex, State
from clew.server.open_indexes import OpenIndexes
from clew.server.refusals import Refusal

_log = logging.getLogger("clew.server")
router = APIRouter()


class Health(BaseModel):
    """The state of the server."""

    status: str


@router.get("/health", summary="Whether the server runs", tags=["status"])
async def health() -> Health:
    """Answer without a key, and without a look at any index."""
    return Health(status="ok")


@router.get("/ready", summary="Whether all indexes can be call", tags=["status"], responses=problems())
async def ready(state: State, access: CallerAccess) -> Health:
    """Open every index that the key may ask, as far as that many may be open at once.

    They are opened one after the other, beside the questions: a server whose queue is full is ready.
    """
    names = state.names(access)
    try:
        async with asyncio.timeout(state.options.deadline), state.opening:
            for name in names[: state.options.max_open]:
                await asyncio.to_thread(_open, state.indexes, name)
    except TimeoutError as error:
        raise Refusal(503, "the indexes are still being opened; ask again", "opening", 1) from error
    return Health(status="ready")


def _open(indexes: OpenIndexes, name: str) -> None:
    try:
        with indexes.lease(name):
            pass
    except ClewError as error:
        _log.error("the index %r cannot be opened: %s", name, error)
        detail = f"the index {name!r} cannot be opened now; the server's log says why"
        raise Refusal(503, detail, "unreadable") from error


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    tags=["status"],
    response_class=PlainTextResponse,
    responses=problems(),
)
async def metrics(state: State, access: CallerAccess) -> PlainTextResponse:
    """Return counts and times of requests, and the versions of the open indexes that the key may ask."""
    versions = state.indexes.open_versions()
    seen = {name: number for name, number in versions.items() if access.may_ask(name)}
    return PlainTextResponse(state.metrics.text(state.pool.pending, seen), media_type=MEDIA_TYPE)


@router.get("/v1/indexes", summary="The indexes that the key may ask", tags=["indexes"], responses=problems())
async def indexes(state: State, access: CallerAccess) -> records.IndexList:
    """List them, with the retrievers there are."""
    rights = {"writable": access.write and state.options.write, "filtered": access.where is not None}
    listed = [records.IndexSummary(name=name, **rights) for name in state.names(access)]
    entries = RETRIEVERS.usable_entries().items()
    retrievers = [records.RetrieverSummary(name=n, summary=e.summary, needs=e.needs) for n, e in entries]
    return records.IndexList(indexes=listed, retrievers=retrievers, models=list(state.options.models))


@router.get("/v1/{index}/stats", summary="What an index holds", tags=["indexes"], responses=ASKING)
async def stats(call: RequestOfIndex) -> records.IndexStats:
    """Count what the key may see."""
    return await call.run(describe_index)
