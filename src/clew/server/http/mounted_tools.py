"""MCP over streamable HTTP, behind the keys of the server."""

import asyncio
import logging
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, final

from starlette.types import ASGIApp, Receive, Scope, Send

from clew.errors import ClewError
from clew.server.http.state import ServerState

_log = logging.getLogger("clew.server")

if TYPE_CHECKING:
    from mcp.server import MCPServer


@final
class MountedTools:
    """The application to mount; the SDK, which takes as long to import as all the rest, is loaded when it is asked."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._wanted, self._ready, self._stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an assistant."""
        self._wanted.set()
        await self._ready.wait()
        assert self._app is not None
        await self._app(scope, receive, send)

    async def run(self) -> None:
        """Run the sessions until `stop` is called; to be started by the host's lifespan."""
        await self._wanted.wait()
        if self._stopping.is_set():
            return
        await asyncio.to_thread(import_module, "clew.server.mcp.tools")
        async with AsyncExitStack() as stack:
            from clew.server.mcp.tools import make_tools

            about = await asyncio.to_thread(_describe_indexes, self._state)
            server = make_tools(self._state.indexes, self._state.pool, self._state.jobs, self._state.options, about)
            self._app = _make_app(server, self._state.options.hosts)
            await stack.enter_async_context(server.session_manager.run())
            self._ready.set()
            await self._stopping.wait()

    def stop(self) -> None:
        """End the sessions."""
        self._stopping.set()
        self._wanted.set()


def _describe_indexes(state: ServerState) -> str:
    """Return in words what the indexes hold; nothing where keys are asked for, each of which may see less."""
    from clew.server.mcp.tools import DESCRIBED, describe_contents

    parts = []
    for name in () if state.keys is not None else state.indexes.names()[:DESCRIBED]:
        try:
            parts.append(describe_contents(state.indexes, name))
        except ClewError as error:  # the tools of the others are there all the same
            _log.warning("the index %r cannot be described: %s", name, error)
    return " ".join(parts)


def _make_app(server: "MCPServer[object]", names: tuple[str, ...]) -> ASGIApp:
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = [name for host in names for name in (host, f"{host}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    return server.streamable_http_app(
        streamable_http_path="/", stateless_http=True, json_response=True, transport_security=security
    )
