"""MCP over streamable HTTP, behind the keys of the server."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from clew.server.http.state import ServerState
from clew.server.mcp.tools import make_tools


def mount_tools(state: ServerState) -> tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]:
    """Return the application to mount, and what its session manager runs in, to be entered by the host's lifespan."""
    server = make_tools(state.indexes, state.pool, state.jobs, state.options)
    hosts = [name for host in state.options.hosts for name in (host, f"{host}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app = server.streamable_http_app(
        streamable_http_path="/", stateless_http=True, json_response=True, transport_security=security
    )
    return app, server.session_manager.run
