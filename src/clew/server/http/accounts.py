"""Accounts of requests: how many a key may send, figures for Prometheus, and the audit log.

Source: the token bucket, as in Turner, "New directions in communications" (1986), and the text format of Prometheus,
version 0.0.4. Differs from the source: nothing.
"""

import json
import math
import sys
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import final

from clew.server.refusals import Refusal
from clew.text.display import format_count

_MAX_CALLERS = 10_000  # whose buckets are remembered
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the seconds of a request."""


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


@final
class AuditLog:
    """A file of JSON lines: who asked which index by which route, and with what result; never a text.

    None stands for no file. It is opened for each line, so that it may be moved away.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = Lock()

    def write(self, key_id: str, method: str, route: str, index: str, status: int, seconds: float) -> None:
        """Add a line."""
        if self._path is None:
            return
        record = {
            "time": round(time.time(), 3),
            "key": key_id,
            "method": method,
            "route": route,
            "index": index,
            "status": status,
            "seconds": round(seconds, 4),
        }
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


@final
class Metrics:
    """Requests by route and status, and how long they took; a route is its template, so their number is bounded."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._counts: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._counts[route] += 1
            self._seconds[route] += seconds
            for bound in BUCKETS:
                if seconds <= bound:
                    self._buckets[route, bound] += 1

    def text(self, pending: int, versions: Mapping[str, int]) -> str:
        """Return all figures; `pending` are the questions under way, `versions` the open indexes."""
        with self._lock:
            requests, seconds = sorted(self._requests.items()), dict(self._seconds)
            counts, buckets = dict(self._counts), Counter(self._buckets)
        lines = _header("clew_requests_total", "counter", "Requests that were answered.")
        lines += [
            f"clew_requests_total{_labels(method=m, route=r, status=str(s))} {count}" for (m, r, s), count in requests
        ]
        lines += _header("clew_request_seconds", "histogram", "Seconds of a request.")
        for route in sorted(counts):
            for bound in BUCKETS:
                lines.append(
                    f"clew_request_seconds_bucket{_labels(route=route, le=f'{bound:g}')} {buckets[route, bound]}"
                )
            lines.append(f"clew_request_seconds_bucket{_labels(route=route, le='+Inf')} {counts[route]}")
            lines.append(f"clew_request_seconds_sum{_labels(route=route)} {seconds[route]:.6f}")
            lines.append(f"clew_request_seconds_count{_labels(route=route)} {counts[route]}")
        lines += _header("clew_questions_pending", "gauge", "Questions that are answered or wait.")
        lines.append(f"clew_questions_pending {pending}")
        lines += _header("clew_index_version", "gauge", "Versions of the indexes that are open.")
        lines += [f"clew_index_version{_labels(index=name)} {number}" for name, number in sorted(versions.items())]
        lines += _header("clew_memory_bytes", "gauge", "Most memory that the process has had.")
        lines.append(f"clew_memory_bytes {peak_memory()}")
        return "\n".join(lines) + "\n"


def peak_memory() -> int:
    """Return the most bytes of memory that this process has had; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def _header(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def _labels(**values: str) -> str:
    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in values.items()) + "}"


def escape(value: str) -> str:
    """Return the value of a label, escaped."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
