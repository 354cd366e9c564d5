"""Documents: those of an index, new ones, the removal of old ones, and the jobs that do it."""

from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from clew.server import browsing, records
from clew.server.access import Access
from clew.server.http.problems import ASKING, WRITING, problems
from clew.server.http.state import IndexRequest, RequestOfIndex
from clew.server.open_indexes import OpenVersion
from clew.server.refusals import Refusal
from clew.server.uploads.spool import ReceivedFile

jobs_router = APIRouter(prefix="/v1/{index}", tags=["documents"], responses=problems(404, 409, 422))
JobId = Annotated[str, Path(max_length=64)]
FILES = "multipart/form-data"
_LISTED = 100
_MAX_FIELD = 4_096
_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": records.NewDocuments.model_json_schema(ref_template="#/components/schemas/{model}")
        },
        FILES: {
            "schema": {
                "type": "object",
                "required": ["files"],
                "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
            }
        },
    },
}
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": records.Job, "description": "It is on disk, and will be indexed."}
}


def make_router(max_upload: int) -> APIRouter:
    """Return the routes; `max_upload` are the bytes of an upload."""
    router = APIRouter(prefix="/v1/{index}", tags=["documents"])
    router.get("/documents", summary="The documents of an index", responses=ASKING)(list_documents)
    router.post(
        "/documents",
        summary="Add documents",
        status_code=202,
        responses={**WRITING, **_ACCEPTED},
        openapi_extra={"requestBody": _BODY},
        max_body_size=max_upload,
    )(add_documents)
    router.delete(
        "/documents/{document_id:path}",
        summary="Remove a document",
        status_code=202,
        responses={**ASKING, **WRITING, **_ACCEPTED},
    )(remove_document)
    return router


async def list_documents(
    call: RequestOfIndex,
    after: Annotated[str, Query(max_length=4_000, description="`next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    q: Annotated[str, Query(max_length=500, description="A part of an id or a title.")] = "",
    status: Literal["", "indexed", "partly failed", "failed"] = "",
) -> records.DocumentPage:
    """Return a page of documents by id, with those that could not be read and why."""

    def work(version: OpenVersion, access: Access) -> records.DocumentPage:
        return browsing.list_documents(version, access, _failed_items(call), after, limit, q, status)

    return await call.run(work)


async def add_documents(request: Request, call: RequestOfIndex) -> records.Job:
    """Store texts or files; the answer comes when they are on disk, so that no end of the server loses them."""
    call.check_writing()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    options, key, spool = call.state.options, call.access.key_id, call.state.jobs.spool(call.index)
    if kind == "application/json":
        documents = _parse_texts(await request.body())
        job = await anyio.to_thread.run_sync(spool.accept_texts, key, documents)
    elif kind == FILES:
        async with request.form(max_files=options.max_files, max_fields=10, max_part_size=_MAX_FIELD) as form:
            files = [part for part in form.getlist("files") if isinstance(part, UploadFile)]
            if not files:
                raise Refusal(422, "no files were sent: send at least one in the field 'files'")
            received = [ReceivedFile(file.filename or "", file.file) for file in files]
            job = await anyio.to_thread.run_sync(spool.accept_files, key, received)
    else:
        raise Refusal(415, f"the body is {kind[:100]!r}; wanted application/json or {FILES}", "kind")
    call.state.jobs.start(job)
    return job.view()


async def remove_document(call: RequestOfIndex, document_id: Annotated[str, Path(max_length=4_000)]) -> records.Job:
    """Queue the removal of a document, and of all that was extracted from it."""
    call.check_writing()
    await call.run(lambda version, access: browsing.check_removable(version, access, document_id))
    spool = call.state.jobs.spool(call.index)
    job = await anyio.to_thread.run_sync(spool.accept_removal, call.access.key_id, [document_id])
    call.state.jobs.start(job)
    return job.view()


def _failed_items(call: IndexRequest) -> dict[str, tuple[str, str]]:
    """Return by item why it could not be read, and the job, of the jobs that the key may see; the newest tells."""
    failed: dict[str, tuple[str, str]] = {}
    tried: set[str] = set()
    for job in call.state.jobs.spool(call.index).jobs():
        if not job.is_over or not job.is_visible(call.access):
            continue
        reasons = dict(job.failures) or ({file.name: job.reason for file in job.files} if job.reason else {})
        failed.update({item: (reason, job.id) for item, reason in reasons.items() if item not in tried})
        tried.update((*reasons, *(file.name for file in job.files), *job.remove))
    return failed


def _parse_texts(body: bytes) -> list[records.NewDocument]:
    try:
        return records.NewDocuments.model_validate_json(body).documents
    except ValidationError as error:
        raise RequestValidationError([{**e, "loc": ("body", *e["loc"])} for e in error.errors()]) from error


@jobs_router.get("/jobs", summary="The latest jobs")
async def jobs(call: RequestOfIndex) -> records.JobList:
    """Return the latest jobs that the key may see, the newest first, a hundred at most."""
    call.check()
    stored = await anyio.to_thread.run_sync(call.state.jobs.spool(call.index).jobs)
    return records.JobList(jobs=[job.view() for job in stored if job.is_visible(call.access)][:_LISTED])


@jobs_router.get("/jobs/{job_id}", summary="How far a job is")
async def job(call: RequestOfIndex, job_id: JobId) -> records.Job:
    """Return a job."""
    call.check()
    return call.state.jobs.find(call.index, job_id, call.access).view()


@jobs_router.delete("/jobs/{job_id}", summary="Cancel a job")
async def cancel(call: RequestOfIndex, job_id: JobId) -> records.Job:
    """Stop a job; what is in the index by then stays."""
    call.check_writing()
    return call.state.jobs.cancel(call.index, job_id, call.access).view()


@jobs_router.post("/jobs/{job_id}/retry", summary="Try a job again", status_code=202)
async def retry(call: RequestOfIndex, job_id: JobId) -> records.Job:
    """Queue a job again that failed, in part or as a whole, or was cancelled."""
    call.check_writing()
    return call.state.jobs.retry(call.index, job_id, call.access).view()
