"""Settings of language-model calls: server, concurrency, retries, limits of a reply."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from clew.errors import InputError
from clew.models.llm.error_text import shorten_to_line


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How calls are made.

    Attributes:
        base_url: Of a server that speaks the provider's protocol; "" for the provider's own.
        max_concurrency: Calls under way at the same time, at most.
        attempts: How often a call is made that fails for no fault of the reply: limits, servers, connections.
        repairs: How often a reply that does not fit is sent back.
        timeout: Seconds for one answer.
        reply_tokens: Longest reply.
        temperature: 0 for the likeliest words.
        output: How the schema is asked for: "prompted", in words, which any server takes, or "native", in a field of
            the request.
    """

    base_url: str = ""
    max_concurrency: int = 16
    attempts: int = 5
    repairs: int = 2
    timeout: float = 120.0
    reply_tokens: int = 2048
    temperature: float = 0.0
    output: str = "prompted"

    def __post_init__(self) -> None:
        """Refuse what makes no call."""
        small = [name for name in ("max_concurrency", "attempts", "reply_tokens") if getattr(self, name) < 1]
        small += [name for name in ("repairs", "temperature") if getattr(self, name) < 0]
        if small or not self.timeout > 0:
            name = small[0] if small else "timeout"
            raise InputError(f"{name} of the language model is {getattr(self, name)}, which is too small: raise it")
        if self.base_url and not _is_address(self.base_url):
            raise InputError(
                f"the address of the language model is {shorten_to_line(self.base_url)!r}; wanted one like http://host:8000/v1"
            )
        if self.output not in ("prompted", "native"):
            raise InputError(f"output of the language model is {self.output!r}; wanted prompted or native")

    @property
    def cache_key_fields(self) -> dict[str, Any]:
        """What a reply depends on besides model and prompt: part of what it is kept by."""
        sent = {"base_url": self.base_url, "max_tokens": self.reply_tokens}
        return {**sent, "temperature": self.temperature, "output": self.output}


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
