"""The audit log: who asked which index by which route, and with what result; never a text."""

import json
import time
from pathlib import Path
from threading import Lock
from typing import final


@final
class AuditLog:
    """A file of JSON lines; None for none. It is opened for each line, so that it may be moved away."""

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
