"""Settings of the calls of a language model."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from clew.errors import InputError
from clew.models.llm.error_text import shorten_to_line
from clew.models.llm.retry_policy import MAX_REQUESTED_WAIT


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
