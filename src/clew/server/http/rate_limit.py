"""A limit on the requests of one key a minute, by a bucket that fills steadily.

Source: the token bucket, as in Turner, "New directions in communications" (1986). Differs from the source: nothing.
"""

import math
import time
from collections import OrderedDict
from threading import Lock
from typing import final

from clew.server.refusals import Refusal
from clew.text.counts import format_count

_MAX_CALLERS = 10_000  # whose buckets are remembered


@final
class RateLimit:
    """At most `per_minute` requests of a caller in any minute, in the long run, and as many at once; 0 for no limit."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # (tokens, when)
        self._lock = Lock()

    def take(self, caller: str, now: float | None = None) -> None:
        """Count a request of a caller; one too many is a Refusal (429) that says when the next is answered."""
        if not self._per_minute:
            return
        now = time.monotonic() if now is None else now
        with self._lock:
            tokens, since = self._buckets.pop(caller, (float(self._per_minute), now))
            tokens = min(self._per_minute, tokens + (now - since) * self._per_minute / 60)
            self._buckets[caller] = (max(0.0, tokens - 1) if tokens >= 1 else tokens, now)
            while len(self._buckets) > _MAX_CALLERS:
                self._buckets.popitem(last=False)
        if tokens < 1:
            seconds = math.ceil((1 - tokens) * 60 / self._per_minute)
            most = format_count(self._per_minute, "request")
            raise Refusal(429, f"more than {most} in a minute", "rate", max(1, seconds))
