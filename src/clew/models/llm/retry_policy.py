"""When a request that failed is sent again, and after which time: the same for all servers of models."""

RETRIED_STATUSES = (408, 409, 425, 429)
"""Client errors (4xx) after which the same request may succeed."""
FIRST_WAIT, MAX_WAIT = 1.0, 120.0
"""Seconds before the second request, and at most."""
_MIN_SECRET_CHARACTERS = 8  # length from which a key is removed from messages; shorter ones would match ordinary text


def backoff_seconds(attempt: int) -> float:
    """Return the seconds to wait after an attempt, counted from 0, where the server names none."""
    return float(min(FIRST_WAIT * 2**attempt, MAX_WAIT))


def cut_secret(text: str, secret: str) -> str:
    """Return a text without an API key, which a server may repeat."""
    return text.replace(secret, "...") if len(secret) >= _MIN_SECRET_CHARACTERS else text
