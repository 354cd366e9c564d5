"""The application: all routes and what stands around them, as a list to read."""

import asyncio
import importlib.metadata
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from clew.errors import ClewError
from clew.index import Index
from clew.models.threads import worker_count
from clew.server.http import problems
from clew.server.http.accounts import AuditLog, Metrics, RateLimit
from clew.server.http.guard import Guard
from clew.server.http.mounted_tools import MountedTools
from clew.server.http.routes import chat, documents, graph, memory, page, searching, status
from clew.server.http.state import ServerState
from clew.server.keys import KeyFile
from clew.server.memories import Memories
from clew.server.open_indexes import OpenIndexes
from clew.server.options import ServerOptions
from clew.server.uploads.runner import Jobs
from clew.server.worker_pool import WorkerPool
from clew.text.display import MEBIBYTE


def make_state(
    locations: Mapping[str, str],
    open_index: Callable[[str], Index],
    options: ServerOptions | None = None,
    keys: Path | None = None,
) -> ServerState:
    """Return the parts of a server.

    Args:
        locations: Where each index lies, by its name in paths.
        open_index: Opens the newest version of the index at a location.
        options: Limits and rights.
        keys: The file of keys; None to ask for none.
    """
    chosen = ServerOptions() if options is None else options
    opened = OpenIndexes(locations, open_index, chosen.max_open, chosen.poll)
    return ServerState(
        options=chosen,
        indexes=opened,
        jobs=Jobs(locations, open_index, opened.refresh, chosen.state),
        memories=Memories(locations, open_index, opened, write=chosen.write),
        pool=WorkerPool(chosen.workers or worker_count(), chosen.queue, chosen.deadline),
        keys=None if keys is None else KeyFile(keys),
        metrics=Metrics(),
        audit=AuditLog(chosen.audit),
        rate=RateLimit(chosen.rate),
        opening=asyncio.Lock(),
    )


def make_app(state: ServerState) -> Guard:
    """Return the application of a server; entering its lifespan takes up jobs left by an earlier one, if it writes."""
    tools = MountedTools(state)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        sessions = asyncio.create_task(tools.run())
        if state.options.write:
            await asyncio.to_thread(state.jobs.resume)
            await asyncio.to_thread(state.memories.resume)
        yield
        tools.stop()
        await sessions
        await asyncio.to_thread(_close, state)

    app = FastAPI(
        title="Clew",
        summary="Multi-hop retrieval: the chain of passages that together answer a question.",
        version=importlib.metadata.version("clew"),
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers={
            ClewError: problems.on_clew_error,
            HTTPException: problems.on_http_error,
            RequestValidationError: problems.on_invalid_request,
            Exception: problems.on_failure,
        },
        max_body_size=state.options.max_body,
    )
    app.state.clew = state
    for router in (
        status.router,
        chat.router,
        searching.router,
        documents.make_router(state.options.max_upload * MEBIBYTE),
        documents.jobs_router,
        graph.router,
        graph.corrections_router,
        memory.router,
        page.router,
    ):
        app.include_router(router)
    app.mount("/page", page.page_files())
    app.mount("/mcp", tools)
    problems.describe_problems(app)
    return Guard(app, state)  # around everything, so that the framework's own answers are guarded too


def _close(state: ServerState) -> None:
    state.pool.close()
    state.jobs.close()
    state.memories.close()
    state.indexes.close()
