"""`/v1/indexes` and `/v1/{index}/stats`."""

from fastapi import APIRouter, Request

from clew.retrievers.registry import RETRIEVERS
from clew.server import records
from clew.server.browsing import describe_index
from clew.server.http.responses import ASKING, problems
from clew.server.http.state import CallerAccess, State, run_on_version

router = APIRouter(prefix="/v1", tags=["indexes"])


@router.get("/indexes", summary="The indexes that the key may ask", responses=problems())
async def indexes(state: State, access: CallerAccess) -> records.IndexList:
    """List them, with the retrievers there are."""
    names = [name for name in state.indexes.names() if access.indexes is None or name in access.indexes]
    writable = access.write and state.options.write
    listed = [records.IndexSummary(name=n, writable=writable, filtered=access.where is not None) for n in names]
    entries = RETRIEVERS.usable_entries().items()
    retrievers = [records.RetrieverSummary(name=n, summary=e.summary, needs=e.needs) for n, e in entries]
    return records.IndexList(indexes=listed, retrievers=retrievers, models=list(state.options.models))


@router.get("/{index}/stats", summary="What an index holds", responses=ASKING)
async def stats(request: Request, index: str, state: State, access: CallerAccess) -> records.IndexStats:
    """Count what the key may see."""
    return await run_on_version(request, state, access, index, lambda version: describe_index(version, access))
