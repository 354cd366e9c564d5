"""Figures of the server in the text format of Prometheus, version 0.0.4."""

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from threading import Lock
from typing import final

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the seconds of a request."""


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
