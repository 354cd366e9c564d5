"""An HTTP client that limits responses, and keeps from other servers what providers' packages send (accounts, keys)."""

from collections.abc import AsyncIterator, Mapping
from typing import final

import httpx2
from pydantic_ai.models import create_async_httpx2_client

from clew.models.llm.call_settings import CONNECT_SECONDS

_PLAIN_HEADERS = frozenset(
    "accept accept-encoding anthropic-version connection content-length content-type host transfer-encoding "  # noqa: SIM905
    "user-agent".split()
)


@final
class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > self._max_bytes:
                raise httpx2.ReadError(f"the answer is longer than {self._max_bytes:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def bounded_client(timeout: float, max_bytes: int, own_headers: Mapping[str, str] | None) -> httpx2.AsyncClient:
    """Return a client that waits `timeout` seconds for a byte.

    Compressed responses are refused: they can expand to any size. `own_headers` are the only ones sent besides plain
    ones; None sends those of the provider's package.
    """

    async def strip_headers(request: httpx2.Request) -> None:
        if own_headers is not None:
            for name in [name for name in request.headers if name.lower() not in _PLAIN_HEADERS]:
                del request.headers[name]
            request.headers.update(own_headers)

    async def limit_response(response: httpx2.Response) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise httpx2.DecodingError("the answer is compressed although the request excludes it")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream, max_bytes)

    limits = httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS), pool=None)
    client = create_async_httpx2_client(timeout=limits)
    client.headers["Accept-Encoding"] = "identity"
    client.event_hooks["request"].append(strip_headers)
    client.event_hooks["response"].append(limit_response)
    return client
