"""Entities that may be one or several, and the decisions of people on them."""

import time
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query, Request

from clew.errors import IndexLockedError
from clew.server import entity_corrections, entity_records
from clew.server.http.responses import ASKING, WRITING
from clew.server.http.routes.documents import check_writing
from clew.server.http.routes.graph import Limit
from clew.server.http.state import CallerAccess, State, run_on_version

_LOCKED_SECONDS = 0.2
router = APIRouter(prefix="/v1/{index}", tags=["entities"])
Name = Annotated[str, Query(max_length=2_000, description="A part of a name.")]


@router.get("/duplicate-entities", summary="Entities that may be one", responses=ASKING)
async def duplicates(
    request: Request, index: str, state: State, access: CallerAccess, q: Name = "", limit: Limit = 20
) -> entity_records.DuplicateList:
    """Return pairs of entities with near names, and what stands beside both, the likeliest first."""
    return await run_on_version(
        request, state, access, index, lambda v: entity_corrections.find_duplicates(v, access, q, limit)
    )


@router.get("/ambiguous-entities", summary="Entities that may be several", responses=ASKING)
async def ambiguous(
    request: Request, index: str, state: State, access: CallerAccess, q: Name = "", limit: Limit = 20
) -> entity_records.AmbiguousList:
    """Return entities whose documents fall apart, or whose title took over a shorter name, the likeliest first."""
    return await run_on_version(
        request, state, access, index, lambda v: entity_corrections.find_ambiguous(v, access, q, limit)
    )


@router.get("/entity-decisions", summary="Decisions on entities", responses=ASKING)
async def decisions(request: Request, index: str, state: State, access: CallerAccess) -> entity_records.EntityDecisions:
    """Return all decisions, also those that were undone; only a key that may write sees them."""
    check_writing(state, access, index)
    return await run_on_version(request, state, access, index, entity_corrections.list_decisions)


@router.post("/entity-decisions", summary="Merge, split, rename, forget or undo", responses=WRITING)
async def decide(
    index: str, change: entity_records.EntityChange, state: State, access: CallerAccess
) -> entity_records.EntityDecisions:
    """Make a decision; the answer comes when the index has it, and is by then what searches see."""
    check_writing(state, access, index)

    def work() -> entity_records.EntityDecisions:
        end = time.monotonic() + state.pool.deadline
        while True:
            try:
                with state.indexes.open_for_writing(index) as opened:
                    made = entity_corrections.decide(index, opened, change)
                break
            except IndexLockedError:  # documents are being added
                if time.monotonic() >= end:
                    raise
                time.sleep(_LOCKED_SECONDS)
        state.indexes.refresh(index)
        return made

    return await anyio.to_thread.run_sync(work)
