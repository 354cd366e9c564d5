"""The running of servers; imported when one is started."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping

import uvicorn

from clew.commands.opening import make_llm_factory, open_index
from clew.commands.options import LLMOptions
from clew.index import Index
from clew.models.threads import worker_count
from clew.plugins.extras import import_extra
from clew.server.access import OPEN
from clew.server.http.guard import Guard
from clew.server.mcp.tools import describe, make_tools
from clew.server.open_indexes import OpenIndexes
from clew.server.options import ServerOptions
from clew.server.uploads.runner import Jobs
from clew.server.worker_pool import WorkerPool
from clew.types import ignore_progress

_SHUTDOWN_SECONDS = 10
_COLLECTOR_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_DESCRIBED = 10  # indexes whose counts stand in the description of a tool


def make_opener(llm: LLMOptions, device: str | None) -> Callable[[str], Index]:
    """Return what opens indexes; language models are asked within one budget for all of them."""
    factory = make_llm_factory(llm)
    return lambda location: open_index(location, ignore_progress, factory, device)


def start_tracing() -> None:
    """Send spans to the collector that OpenTelemetry's own variables name; without one nothing is traced.

    Raises MissingPackageError where a collector is named and the extra `otel` is missing.
    """
    if not any(os.environ.get(name) for name in _COLLECTOR_VARIABLES):
        return
    purpose = f"{_COLLECTOR_VARIABLES[0]}, which is set,"
    exporters = import_extra("opentelemetry.exporter.otlp.proto.http.trace_exporter", "otel", purpose)
    sdk, export = (import_extra(f"opentelemetry.sdk.trace{end}", "otel", purpose) for end in ("", ".export"))
    trace, resources = (import_extra(f"opentelemetry.{name}", "otel", purpose) for name in ("trace", "sdk.resources"))
    os.environ.setdefault("OTEL_SERVICE_NAME", "clew")
    provider = sdk.TracerProvider(resource=resources.Resource.create())
    provider.add_span_processor(export.BatchSpanProcessor(exporters.OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def run_server(app: Guard, host: str, port: int) -> None:
    """Run an application until Ctrl-C or the signal TERM; answers under way are finished, for ten seconds at most."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="info",
        access_log=False,  # its lines would hold texts of questions; see --audit-log
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )


def run_tools(locations: Mapping[str, str], opener: Callable[[str], Index], options: ServerOptions) -> None:
    """Run the tools over standard input and output until the assistant closes them."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    indexes = OpenIndexes(locations, opener, options.max_open, options.poll)
    jobs = Jobs(locations, opener, indexes.refresh, options.state)
    pool = WorkerPool(worker_count(), options.queue, options.deadline)
    if options.write:
        jobs.resume()
    try:
        server = make_tools(indexes, pool, jobs, options, describe_indexes(indexes))
        asyncio.run(server.run_stdio_async())
    finally:
        pool.close()
        jobs.close()
        indexes.close()


def describe_indexes(indexes: OpenIndexes) -> str:
    """Return what the first ten indexes hold, in words."""
    parts = []
    for name in indexes.names()[:_DESCRIBED]:
        with indexes.lease(name) as version:
            counts = describe(version, OPEN)
        titles = ", ".join(counts.titles[:5])
        parts.append(f"{name}: {counts.documents} documents, such as {titles}.")
    return " ".join(parts)
