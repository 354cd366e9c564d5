"""When a request that failed is sent again, and after which time: the same for all servers of models.

A request that the server refuses with a time to wait is no failed attempt: such a server works, and says when it has
room. These waits are bounded by their sum.
"""

from dataclasses import dataclass

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
