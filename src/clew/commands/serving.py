"""The running of servers; imported when one is started."""

import asyncio
import errno
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import uvicorn

from clew.commands.opening import index_exists, make_llm_factory, open_index
from clew.commands.options import LLMOptions
from clew.commands.output import print_note
from clew.errors import IndexFormatError, InputError, ProviderError
from clew.index import Index
from clew.models.threads import worker_count
from clew.plugins.extras import import_extra
from clew.server.http.guard import Guard
from clew.server.mcp.tools import make_tools
from clew.server.memories import Memories
from clew.server.open_indexes import OpenIndexes
from clew.server.options import ServerOptions
from clew.server.uploads.runner import Jobs
from clew.server.worker_pool import WorkerPool
from clew.types import ignore_progress

_SHUTDOWN_SECONDS = 10
_COLLECTOR_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_NO_ADDRESS = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


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


def check_indexes(locations: Mapping[str, str]) -> None:
    """Raise an InputError where a location holds no index; one that cannot be read is a note, as it may be later."""
    for name, location in locations.items():
        try:
            found = index_exists(location)
        except (IndexFormatError, ProviderError) as error:
            print_note(f"the index {name!r} cannot be read now, and is tried again when it is asked: {error}")
            continue
        if not found:
            raise InputError(f"{name}={location}: there is no index there; make one by clew index, or correct the path")


def listen(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen on each address of a host, 0 for any free port; a taken port is an InputError."""
    with ExitStack() as opened:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = [opened.enter_context(made) for made in _bind_each(found)]
        except OSError as error:
            raise InputError(
                f"nothing can listen on {host}:{port} ({error.strerror}): choose another --port or --host, or stop "
                "what listens there"
            ) from error
        opened.pop_all()  # they stay open
    return sockets


def _bind_each(found: Sequence[tuple[Any, ...]]) -> Iterator[socket.socket]:
    """Yield sockets bound to addresses, all to one port; addresses that this machine lacks are left out."""
    port, missing = 0, None
    for family, _, _, _, (name, wanted, *rest) in found:
        try:
            made = socket.create_server((name, wanted or port, *rest), family=family)
        except OSError as error:
            if error.errno not in _NO_ADDRESS:
                raise
            missing = error
            continue
        port = made.getsockname()[1]
        yield made
    if not port and missing is not None:
        raise missing


def run_server(app: Guard, host: str, port: int) -> None:
    """Run an application until Ctrl-C or the signal TERM; answers under way are finished, for ten seconds at most.

    Raises InputError where the port is taken, before the application begins with anything.
    """
    sockets = listen(host, port)
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="info",
        access_log=False,  # its lines would hold texts of questions; see --audit-log
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    server = _Server(config, page_address(host, sockets[0].getsockname()[1]))
    with suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        sys.exit(1)


def page_address(host: str, port: int) -> str:
    """Return the address of the page for people on this machine."""
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)  # noqa: S104 - every address of the machine
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"


class _Server(uvicorn.Server):
    """Server that tells where its page is."""

    def __init__(self, config: uvicorn.Config, page: str) -> None:
        super().__init__(config)
        self._page = page

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell where the page is: uvicorn says nothing of sockets that it is given."""
        await super().startup(sockets)
        if self.started:
            print_note(f"the page is {self._page}, and Ctrl-C ends the server")


def run_tools(locations: Mapping[str, str], opener: Callable[[str], Index], options: ServerOptions) -> None:
    """Run the tools over standard input and output until the assistant closes them."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    indexes = OpenIndexes(locations, opener, options.max_open, options.poll)
    jobs = Jobs(locations, opener, indexes.refresh, options.state)
    memories = Memories(locations, opener, indexes, write=options.write)
    pool = WorkerPool(worker_count(), options.queue, options.deadline)
    if options.write:
        jobs.resume()
        memories.resume()
    try:
        asyncio.run(make_tools(indexes, pool, jobs, memories, options).run_stdio_async())
    finally:
        pool.close()
        jobs.close()
        memories.close()
        indexes.close()
