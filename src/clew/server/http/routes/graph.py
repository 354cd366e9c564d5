"""Passages, entities and the paths between two."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from clew.server import browsing, records
from clew.server.http.responses import ASKING
from clew.server.http.state import CallerAccess, State, run_on_version

router = APIRouter(prefix="/v1/{index}", tags=["graph"], responses=ASKING)
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")]
Name = Annotated[str, Query(max_length=2_000)]


@router.get("/passages/{passage_id:path}", summary="A passage and its surroundings")
async def passage(
    request: Request, index: str, passage_id: Annotated[str, Path(max_length=4_000)], state: State, access: CallerAccess
) -> records.PassageView:
    """Return a passage, the ones before and after it, and what was extracted from it."""
    return await run_on_version(request, state, access, index, lambda v: browsing.find_passage(v, access, passage_id))


@router.get("/entities", summary="Entities by name")
async def entities(
    request: Request, index: str, state: State, access: CallerAccess, q: Name = "", limit: Limit = 20
) -> records.EntityList:
    """Return the entities whose names contain a text, the best match first."""
    return await run_on_version(request, state, access, index, lambda v: browsing.find_entities(v, access, q, limit))


@router.get("/entities/{entity_id:path}", summary="An entity")
async def entity(
    request: Request,
    index: str,
    entity_id: Annotated[str, Path(max_length=4_000, description="An id, or a name.")],
    state: State,
    access: CallerAccess,
    limit: Limit = 50,
) -> records.Entity:
    """Return an entity with its similar names, facts and passages."""
    return await run_on_version(
        request, state, access, index, lambda v: browsing.find_entity(v, access, entity_id, limit)
    )


@router.get("/paths", summary="Paths between two entities")
async def paths(
    request: Request,
    index: str,
    state: State,
    access: CallerAccess,
    start: Annotated[str, Query(alias="from", max_length=2_000, description="An id, or a name.")],
    end: Annotated[str, Query(alias="to", max_length=2_000, description="An id, or a name.")],
    limit: Annotated[int, Query(ge=1, le=50)] = 5,
    hops: Annotated[int, Query(ge=1, le=6, description="Edges of a path, at most.")] = 4,
) -> records.PathList:
    """Return the shortest paths, each edge with the sentences that state it."""
    return await run_on_version(
        request, state, access, index, lambda v: browsing.find_paths(v, access, start, end, limit, hops)
    )
