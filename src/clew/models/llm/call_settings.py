"""Settings of the calls of a language model, when a failed one is sent again, and errors of servers in one line.

A request that the server refuses with a time to wait is no failed attempt: such a server works, and says when it has
room. These waits are bounded by their sum.
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from clew.errors import InputError

_MAX_LINE_CHARACTERS = 300
_URL_CREDENTIALS = re.compile(r"//[^/@\s]*@")


def describe_error(error: Exception) -> str:
    """Return one line with the HTTP status and the server's message, or the error and its root cause."""
    status = getattr(error, "status_code", None)
    message = _body_message(getattr(error, "body", None))
    text = f"HTTP {status}: {message}" if status and message else str(error)
    if not status and (root := str(_root_cause(error))) and root not in text:
        text = f"{text.rstrip('.')}: {root}"
    return shorten_to_line(text)


def shorten_to_line(text: str) -> str:
    """Return a text as one line of at most 300 characters, with user names and passwords of URLs removed."""
    text = _URL_CREDENTIALS.sub("//", " ".join(text.split()))
    return text if len(text) <= _MAX_LINE_CHARACTERS else f"{text[:_MAX_LINE_CHARACTERS]} ..."


def _body_message(body: object) -> str:
    inner = body.get("error", body) if isinstance(body, dict) else None
    return str(inner.get("message") or "") if isinstance(inner, dict) else ""


def _root_cause(error: BaseException) -> BaseException:
    seen = {id(error)}
    while (cause := error.__cause__ or error.__context__) is not None and id(cause) not in seen:
        seen.add(id(cause))
        error = cause
    return error


RETRIED_STATUSES = (408, 409, 425, 429)
"""Client errors (4xx) after which the same request may succeed."""
FIRST_WAIT, MAX_WAIT = 1.0, 120.0
"""Seconds before the second request, and at most, where the server names none."""
MAX_REQUESTED_WAIT = 600.0
"""Seconds that one reply may wait in all because the server asks for it, by default."""
_LEAST_COUNTED_WAIT = 1.0  # seconds; a server that asks for less again and again must come to an end, too
CONNECT_SECONDS = 10.0
"""Seconds that a connection may take, at most."""
LONG_WAIT = 10.0
"""Seconds of such waits after which a message is printed."""
_MIN_SECRET_CHARACTERS = 8  # length from which a key is removed from messages; shorter ones would match ordinary text


def backoff_seconds(attempt: int) -> float:
    """Return the seconds to wait after an attempt, counted from 0, where the server names none."""
    return float(min(FIRST_WAIT * 2**attempt, MAX_WAIT))


@dataclass(slots=True)
class RetryLimit:
    """The attempts and the requested waits that one reply has left."""

    attempts: int  # requests that may fail
    max_wait: float  # seconds that the server may ask to wait, in all
    failed: int = 0  # requests that failed
    waited: float = 0.0  # seconds that the server asked to wait, each time counted as a second at least

    def count(self, retry_after: float | None) -> float:
        """Count a request without a reply; return the seconds before the next.

        `retry_after` is the time that the server asks to wait, None or 0 where it asks for none.
        """
        if retry_after:
            self.waited += max(retry_after, _LEAST_COUNTED_WAIT)
            return retry_after
        self.failed += 1
        return backoff_seconds(self.failed - 1)

    @property
    def is_reached(self) -> bool:
        """Whether no further request may be sent."""
        return self.failed >= self.attempts or self.waited > self.max_wait

    def __str__(self) -> str:
        return f"for {self.max_wait:,.0f} s" if self.waited > self.max_wait else f"{self.attempts} times"


def cut_secret(text: str, secret: str) -> str:
    """Return a text without an API key, which a server may repeat."""
    return text.replace(secret, "...") if len(secret) >= _MIN_SECRET_CHARACTERS else text


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Limits and options of calls; an InputError where one of them cannot be used."""

    base_url: str = ""  # URL of a server that speaks the provider's protocol; "" for the provider's own
    max_concurrency: int = 16  # maximum number of calls in progress at the same time
    attempts: int = 5  # requests for one reply while the server fails, or is unreachable
    max_wait: float = MAX_REQUESTED_WAIT  # seconds that one reply may wait in all because the server asks for it
    repairs: int = 2  # number of times that a reply that does not fit its schema is sent back for correction
    timeout: float = 120.0  # seconds for one reply
    reply_tokens: int = 2048  # maximum length of a reply
    temperature: float = 0.0  # sampling temperature; 0 for the most likely words
    output: str = "prompted"  # the schema stands in the prompt, which every server takes; "native": in a field

    def __post_init__(self) -> None:
        small = [name for name in ("max_concurrency", "attempts", "reply_tokens") if getattr(self, name) < 1]
        small += [name for name in ("max_wait", "repairs", "temperature") if getattr(self, name) < 0]
        if small or not self.timeout > 0:
            name = small[0] if small else "timeout"
            raise InputError(f"{name} of the language model is {getattr(self, name)}, which is too small: raise it")
        if self.base_url and not _is_http_url(self.base_url):
            url = shorten_to_line(self.base_url)
            raise InputError(f"the URL of the language model is {url!r}; wanted one like http://host:8000/v1")
        if self.output not in ("prompted", "native"):
            raise InputError(f"output of the language model is {self.output!r}; wanted prompted or native")

    @property
    def cache_key_fields(self) -> dict[str, Any]:
        """The settings that change a reply, and so are part of its cache key."""
        sent = {"base_url": self.base_url, "max_tokens": self.reply_tokens}
        return {**sent, "temperature": self.temperature, "output": self.output}


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
