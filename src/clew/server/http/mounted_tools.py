"""MCP over streamable HTTP, behind the keys of the server."""

import asyncio
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, final

from starlette.types import ASGIApp, Receive, Scope, Send

from clew.server.http.state import ServerState

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

            state = self._state
            server = make_tools(state.indexes, state.pool, state.jobs, state.memories, state.options)
            self._app = _make_app(server, state.options.hosts)
            await stack.enter_async_context(server.session_manager.run())
            self._ready.set()
            await self._stopping.wait()

    def stop(self) -> None:
        """End the sessions."""
        self._stopping.set()
        self._wanted.set()


def _make_app(server: "MCPServer[object]", names: tuple[str, ...]) -> ASGIApp:
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = [name for host in names for name in (host, f"{host}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    return server.streamable_http_app(
        streamable_http_path="/", stateless_http=True, json_response=True, transport_security=security
    )
