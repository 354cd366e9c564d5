"""Jobs: how far documents are that were sent, cancelling and trying again."""

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Path

from clew.server import document_records
from clew.server.http.responses import problems
from clew.server.http.routes.documents import check_writing
from clew.server.http.state import CallerAccess, State

router = APIRouter(prefix="/v1/{index}", tags=["documents"], responses=problems(404, 409, 422))
JobId = Annotated[str, Path(max_length=64)]
_LISTED = 100


@router.get("/jobs", summary="The latest jobs")
async def jobs(index: str, state: State, access: CallerAccess) -> document_records.JobList:
    """Return the latest jobs that the key may see, the newest first, a hundred at most."""
    access.check_index(index)
    state.indexes.check(index)
    stored = await anyio.to_thread.run_sync(state.jobs.spool(index).jobs)
    return document_records.JobList(jobs=[job.view() for job in stored if job.is_visible(access)][:_LISTED])


@router.get("/jobs/{job_id}", summary="How far a job is")
async def job(index: str, job_id: JobId, state: State, access: CallerAccess) -> document_records.Job:
    """Return a job."""
    access.check_index(index)
    state.indexes.check(index)
    return state.jobs.find(index, job_id, access).view()


@router.delete("/jobs/{job_id}", summary="Cancel a job")
async def cancel(index: str, job_id: JobId, state: State, access: CallerAccess) -> document_records.Job:
    """Stop a job; what is in the index by then stays."""
    check_writing(state, access, index)
    return state.jobs.cancel(index, job_id, access).view()


@router.post("/jobs/{job_id}/retry", summary="Try a job again", status_code=202)
async def retry(index: str, job_id: JobId, state: State, access: CallerAccess) -> document_records.Job:
    """Queue a job again that failed, in part or as a whole, or was cancelled."""
    check_writing(state, access, index)
    return state.jobs.retry(index, job_id, access).view()
