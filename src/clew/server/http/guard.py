"""Checks before every route: names of hosts, origins, keys, limits, headers; and the counts behind it."""

import logging
import time
from collections.abc import Mapping
from typing import final
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from clew.server.access import OPEN, Access, find_index
from clew.server.http.problems import MEDIA_TYPE, problem_response
from clew.server.http.state import ServerState
from clew.server.refusals import Refusal

_log = logging.getLogger("clew.server")

OPEN_PATHS = frozenset({"/health", "/", "/explore", "/documents", "/admin", "/favicon.ico"})
"""Paths that need no key: they hold no data of an index."""
OPEN_PREFIX = "/page/"
MOUNTED_TOOLS = "/mcp"
TOO_LARGE = 413
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_LOOPBACK_ADDRESS = "local"
_TOO_LARGE = "the body is larger than this route takes: send less at once"


@final
class Guard:
    """Checks each request before the application reads any of its body.

    Attributes:
        app: The application that is guarded.
    """

    def __init__(self, app: FastAPI, state: ServerState) -> None:
        self.app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        if scope["path"] == MOUNTED_TOOLS:  # a redirect to the path with a slash would lose what some clients send
            scope = {**scope, "path": f"{MOUNTED_TOOLS}/", "raw_path": f"{MOUNTED_TOOLS}/".encode()}
        began, status, is_replaced = time.perf_counter(), 500, False

        async def send_guarded(message: Message) -> None:
            nonlocal status, is_replaced
            if is_replaced:
                return
            if message["type"] == "http.response.start":
                if message["status"] == TOO_LARGE and Headers(raw=message["headers"]).get("content-type") != MEDIA_TYPE:
                    # The framework's own answer to a body over the limit is plain text.
                    await problem_response(Refusal(TOO_LARGE, _TOO_LARGE), scope["path"])(scope, receive, send_guarded)
                    is_replaced = True
                    return
                status = int(message["status"])
                _add_headers(MutableHeaders(scope=message), scope["path"])
            await send(message)

        access = Access()
        try:
            access = self._admit(scope)
            scope["clew.access"] = access
            await self.app(scope, receive, send_guarded)
        except Refusal as refusal:  # raised above, before anything was sent
            await problem_response(refusal, scope["path"])(scope, receive, send_guarded)
        finally:
            self._note(scope, access, status, time.perf_counter() - began)

    def _admit(self, scope: Scope) -> Access:
        """Return what the caller may do; raises a Refusal."""
        headers = Headers(scope=scope)
        check_host(headers.get("host", ""), self._state.options.hosts)
        if not is_open(scope["path"]):
            check_origin(headers)
        access = self._authenticate(headers, scope["path"])
        client = scope.get("client")
        self._state.rate.take(access.key_id or (client[0] if client else _LOOPBACK_ADDRESS))
        return access

    def _authenticate(self, headers: Headers, path: str) -> Access:
        keys = self._state.keys
        if is_open(path):
            return Access(indexes=frozenset(), write=False)
        if keys is None:
            return OPEN if self._state.options.write else Access(write=False)
        scheme, _, text = headers.get("authorization", "").partition(" ")
        access = keys.verify(text.strip()) if scheme.lower() == "bearer" else None
        if access is None:
            raise Refusal(401, "send a key of this server: Authorization: Bearer clew_...", "key")
        return access

    def _note(self, scope: Scope, access: Access, status: int, seconds: float) -> None:
        route = str(getattr(scope.get("route"), "path", "other"))
        if scope["path"].startswith(f"{MOUNTED_TOOLS}/"):
            route = MOUNTED_TOOLS
        self._state.metrics.count(scope["method"], route, status, seconds)
        if not is_open(scope["path"]):
            try:
                self._state.audit.write(access.key_id, scope["method"], route, find_index(scope), status, seconds)
            except OSError as error:
                _log.error("the audit log cannot be written: %s", error)


def is_open(path: str) -> bool:
    """Return whether a path needs no key."""
    return path in OPEN_PATHS or path.startswith(OPEN_PREFIX)


def check_host(host: str, allowed: tuple[str, ...]) -> None:
    """Refuse a request for another host than this server, which a page elsewhere may have sent here by its DNS."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name.lower() not in allowed:
        raise Refusal(421, f"this server is not called {name[:100]!r}: start it with --allow-host", "host")


def check_origin(headers: Headers) -> None:
    """Refuse a request that a page of another site sends."""
    origin = headers.get("origin")
    try:
        other = origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:  # it is no address, such as http://[
        other = True
    if other or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise Refusal(403, "pages of other sites may not use this server", "origin")


def _add_headers(headers: MutableHeaders, path: str) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if not path.startswith(OPEN_PREFIX):
        headers.setdefault("Cache-Control", "no-store")
