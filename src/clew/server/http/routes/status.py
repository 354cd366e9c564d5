"""`/health`, `/ready` and `/metrics`."""

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from clew.server.http.metrics import MEDIA_TYPE
from clew.server.http.responses import problems
from clew.server.http.state import CallerAccess, State, run_on_version

router = APIRouter(tags=["status"])


class Health(BaseModel):
    """The state of the server."""

    status: str


@router.get("/health", summary="Whether the server runs")
async def health() -> Health:
    """Answer without a key, and without a look at any index."""
    return Health(status="ok")


@router.get("/ready", summary="Whether all indexes can be asked", responses=problems(503))
async def ready(request: Request, state: State, access: CallerAccess) -> Health:
    """Open every index that the key may ask, as far as that many may be open at once."""
    names = [name for name in state.indexes.names() if access.indexes is None or name in access.indexes]
    first = names[: state.options.max_open]
    await asyncio.gather(
        *(run_on_version(request, state, access, name, lambda version: version.number) for name in first)
    )
    return Health(status="ready")


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    responses=problems(),
)
async def metrics(state: State, access: CallerAccess) -> PlainTextResponse:
    """Return counts and times of requests, and the versions of the open indexes that the key may ask."""
    versions = state.indexes.open_versions()
    seen = {name: number for name, number in versions.items() if access.indexes is None or name in access.indexes}
    return PlainTextResponse(state.metrics.text(state.pool.pending, seen), media_type=MEDIA_TYPE)
