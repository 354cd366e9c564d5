"""Passages, entities and the paths between two; entities that may be one or several, and decisions on them."""

import time
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Path, Query

from clew.errors import IndexLockedError
from clew.server import browsing, entity_corrections, records
from clew.server.entity_corrections import AmbiguousList, DuplicateList, EntityChange, EntityDecisions
from clew.server.http.problems import ASKING, WRITING
from clew.server.http.state import RequestOfIndex

router = APIRouter(prefix="/v1/{index}", tags=["graph"], responses=ASKING)
corrections_router = APIRouter(prefix="/v1/{index}", tags=["entities"])
_LOCKED_SECONDS = 0.2
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")]
Name = Annotated[str, Query(max_length=2_000, description="A part of a name.")]


@router.get("/passages/{passage_id:path}", summary="A passage and its surroundings")
async def passage(call: RequestOfIndex, passage_id: Annotated[str, Path(max_length=4_000)]) -> records.PassageView:
    """Return a passage, the ones before and after it, and what was extracted from it."""
    return await call.run(lambda version, access: browsing.find_passage(version, access, passage_id))


@router.get("/entities", summary="Entities by name")
async def entities(call: RequestOfIndex, q: Name = "", limit: Limit = 20) -> records.EntityList:
    """Return the entities whose names contain a text, the best match first."""
    return await call.run(lambda version, access: browsing.find_entities(version, access, q, limit))


@router.get("/entities/{entity_id:path}", summary="An entity")
async def entity(
    call: RequestOfIndex,
    entity_id: Annotated[str, Path(max_length=4_000, description="An id, or a name.")],
    limit: Limit = 50,
) -> records.Entity:
    """Return an entity with its facts and passages."""
    return await call.run(lambda version, access: browsing.find_entity(version, access, entity_id, limit))


@router.get("/paths", summary="Paths between two entities")
async def paths(
    call: RequestOfIndex,
    start: Annotated[str, Query(alias="from", max_length=2_000, description="An id, or a name.")],
    end: Annotated[str, Query(alias="to", max_length=2_000, description="An id, or a name.")],
    limit: Annotated[int, Query(ge=1, le=50)] = 5,
    hops: Annotated[int, Query(ge=1, le=6, description="Edges of a path, at most.")] = 4,
) -> records.PathList:
    """Return the shortest paths, each edge with the sentences that state it."""
    return await call.run(lambda version, access: browsing.find_paths(version, access, start, end, limit, hops))


@corrections_router.get("/duplicate-entities", summary="Entities that may be one", responses=ASKING)
async def duplicates(call: RequestOfIndex, q: Name = "", limit: Limit = 20) -> DuplicateList:
    """Return pairs of entities with near names, and what stands beside both, the likeliest first."""
    return await call.run(lambda version, access: entity_corrections.find_duplicates(version, access, q, limit))


@corrections_router.get("/ambiguous-entities", summary="Entities that may be several", responses=ASKING)
async def ambiguous(call: RequestOfIndex, q: Name = "", limit: Limit = 20) -> AmbiguousList:
    """Return entities whose documents fall apart, or whose title took over a shorter name, the likeliest first."""
    return await call.run(lambda version, access: entity_corrections.find_ambiguous(version, access, q, limit))


@corrections_router.get("/entity-decisions", summary="Decisions on entities", responses=ASKING)
async def decisions(call: RequestOfIndex) -> EntityDecisions:
    """Return all decisions, also those that were undone; only a key that may write sees them."""
    call.check_writing()
    return await call.run(lambda version, _: entity_corrections.list_decisions(version))


@corrections_router.post("/entity-decisions", summary="Merge, split, rename, forget or undo", responses=WRITING)
async def decide(call: RequestOfIndex, change: EntityChange) -> EntityDecisions:
    """Make a decision; the answer comes when the index has it, and is by then what searches see."""
    call.check_writing()
    index, indexes = call.index, call.state.indexes

    def work() -> EntityDecisions:
        end = time.monotonic() + call.state.pool.deadline
        while True:
            try:
                with indexes.open_for_writing(index) as opened:
                    made = entity_corrections.decide(index, opened, change)
                break
            except IndexLockedError:  # documents are being added
                if time.monotonic() >= end:
                    raise
                time.sleep(_LOCKED_SECONDS)
        indexes.refresh(index)
        return made

    return await anyio.to_thread.run_sync(work)
