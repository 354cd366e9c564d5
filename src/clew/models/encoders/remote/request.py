"""Requests to a server of embeddings, again while it fails or limits the rate; errors are mapped to `ProviderError`.

The two protocols of embeddings: what is sent, and what is read of the reply.

Source: the reference of OpenAI's API (embeddings) and that of Ollama (`/api/embed`, `/api/tags`).
Differs from the source: nothing.
"""

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, final

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from clew.errors import ModelReplyError, ProviderError
from clew.models.llm.call_settings import (
    CONNECT_SECONDS,
    LONG_WAIT,
    MAX_REQUESTED_WAIT,
    RETRIED_STATUSES,
    RetryLimit,
    cut_secret,
    shorten_to_line,
)

if TYPE_CHECKING:
    import httpx2


_logger = logging.getLogger(__name__)
T = TypeVar("T")
_MAX_REPLY_BYTES = 1 << 28
_MAX_ERROR_BYTES = 1 << 16


class _NoReplyError(Exception):
    """A request that failed and may be sent again; `retry_after` is in seconds, None where the server names none."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


@final
@dataclass(slots=True)
class EmbeddingServer:
    """A server by its URL; the key is sent to it alone, and cut from all messages."""

    name: str  # of the encoder, for messages
    url: str
    key: str = field(repr=False)
    timeout: float = 120.0  # seconds for one reply
    attempts: int = 5  # requests for one reply that may fail
    _waits_are_told: bool = False

    def fetch(self, method: str, path: str, body: dict[str, Any] | None, read: Callable[[object], T]) -> T:
        """Return what `read` makes of the JSON that the server answers; it raises ModelReplyError for what is no reply.

        Raises ProviderError where the server cannot be reached, refuses the request, or fails in all attempts.
        """
        limit, reason = RetryLimit(self.attempts, MAX_REQUESTED_WAIT), ""
        while True:
            try:
                return read(self._fetch_json(method, path, body))
            except ModelReplyError as error:
                reason, retry_after = f"its reply cannot be used: {error}", None
            except _NoReplyError as error:
                reason, retry_after = str(error), error.retry_after
            if retry_after is not None and retry_after > limit.max_wait:
                raise self._error(
                    f"it asks to wait {retry_after:,.0f} s ({reason}): run it again then; finished work is kept"
                )
            wait = limit.count(retry_after)
            if limit.is_reached:
                raise self._error(f"failed {limit} ({reason}): run it again when the server works")
            self._tell_of_waits(limit)
            time.sleep(wait)

    def _tell_of_waits(self, limit: RetryLimit) -> None:
        if limit.waited >= LONG_WAIT and not self._waits_are_told:
            self._waits_are_told = True
            _logger.warning(
                "the encoder %s limits the rate, and each request waits as long as it asks, %.0f s at most",
                self.name,
                limit.max_wait,
            )

    def _fetch_json(self, method: str, path: str, body: dict[str, Any] | None) -> object:
        import httpx2

        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        limits = httpx2.Timeout(self.timeout, connect=min(self.timeout, CONNECT_SECONDS))
        try:
            with (
                httpx2.Client(timeout=limits, follow_redirects=False) as client,
                client.stream(method, self.url + path, json=body, headers=headers) as response,
            ):
                return self._read_json(response)
        except httpx2.ConnectError as error:
            raise self._error(f"{self.url} cannot be reached ({error}): check that it is running") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise _NoReplyError(f"{type(error).__name__} {error}".strip()) from error

    def _read_json(self, response: "httpx2.Response") -> object:
        deadline = time.monotonic() + self.timeout
        is_good = response.status_code == 200
        content = b""
        for piece in response.iter_raw():
            content += piece
            if len(content) > (_MAX_REPLY_BYTES if is_good else _MAX_ERROR_BYTES):
                raise self._error(f"its answer is longer than {_MAX_REPLY_BYTES:,} bytes: use another server")
            if time.monotonic() > deadline:
                raise _NoReplyError(f"no whole answer within {self.timeout:g} s")
        if not is_good:
            self._refuse(response.status_code, content, response.headers.get("Retry-After", ""))
        try:
            value: object = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ModelReplyError(f"it is no JSON ({error})") from error
        return value

    def _refuse(self, status: int, content: bytes, retry_after: str) -> None:
        message = f"HTTP {status}: {_error_message(content)}".rstrip(": ")
        if status in RETRIED_STATUSES or status >= 500:
            raise _NoReplyError(
                message, float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None
            )
        raise self._error(f"the request was refused: {message}; check the model's name, the key and the URL")

    def _error(self, text: str) -> ProviderError:
        return ProviderError(cut_secret(shorten_to_line(f"the encoder {self.name}: {text}"), self.key))


def _error_message(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return shorten_to_line(text)
    inner = value.get("error", value) if isinstance(value, dict) else text
    return str(inner.get("message", "") if isinstance(inner, dict) else inner)


Vector = list[FiniteFloat]
Form = TypeVar("Form", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of some texts as a server gave them."""

    vectors: list[list[float]]  # one a text, in their order
    tokens: int  # that the server counted; 0 where it does not count


class _Item(BaseModel):
    model_config = ConfigDict(strict=True)

    index: int
    embedding: Vector


class _Usage(BaseModel):
    total_tokens: int = 0


class _OpenAIReply(BaseModel):
    data: list[_Item]
    usage: _Usage | None = None


class _OllamaReply(BaseModel):
    model_config = ConfigDict(strict=True)

    embeddings: list[Vector]
    prompt_eval_count: int = 0


@final
class OpenAIEmbeddings:
    """`POST /embeddings`, as OpenAI and most servers of models speak it."""

    provider = "openai"
    default_url = "https://api.openai.com/v1"
    path = "/embeddings"

    def request(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of a request."""
        return {"model": model, "input": list(texts), "encoding_format": "float"}

    def read(self, reply: object, count: int) -> Embeddings:
        """Return the vectors of a reply, which may come in any order with their indexes."""
        read = _validate(_OpenAIReply, reply)
        if sorted(item.index for item in read.data) != list(range(count)):
            raise ModelReplyError(f"{len(read.data)} vectors for {count} texts, or not one for each")
        vectors: list[list[float]] = [[]] * count
        for item in read.data:
            vectors[item.index] = item.embedding
        return Embeddings(vectors, read.usage.total_tokens if read.usage else 0)


@final
class OllamaEmbeddings:
    """`POST /api/embed` of Ollama, which cuts long texts itself."""

    provider = "ollama"
    default_url = "http://localhost:11434"
    path = "/api/embed"

    def request(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of a request."""
        return {"model": model, "input": list(texts), "truncate": True}

    def read(self, reply: object, count: int) -> Embeddings:
        """Return the vectors of a reply, in the order of the texts."""
        read = _validate(_OllamaReply, reply)
        if len(read.embeddings) != count:
            raise ModelReplyError(f"{len(read.embeddings)} vectors for {count} texts")
        return Embeddings(read.embeddings, read.prompt_eval_count)


class _Tag(BaseModel):
    name: str
    digest: str = ""


class _Tags(BaseModel):
    models: list[_Tag]


def find_digest(reply: object, model: str) -> str:
    """Return the digest of a model in the list of Ollama's models (`/api/tags`), "" where it is not there."""
    names = {model, f"{model}:latest"}
    return next((tag.digest for tag in _validate(_Tags, reply).models if tag.name in names), "")


def _validate(form: type[Form], reply: object) -> Form:
    try:
        return form.model_validate(reply)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the reply"
        raise ModelReplyError(f"{place}: {first['msg']}") from error
