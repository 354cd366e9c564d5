"""Server-sent events: an answer while it is made.

Source: the HTML standard, "Server-sent events". Differs from the source: nothing.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from concurrent.futures import Future
from threading import Event
from typing import final

from pydantic_core import to_jsonable_python

from clew.errors import ClewError
from clew.server import records
from clew.server.http.problems import make_problem
from clew.server.refusals import Refusal, report_error
from clew.server.worker_pool import WorkerPool

_log = logging.getLogger("clew.server")
Named = tuple[str, object]
_PLACE = "an answer that streams"
_PAUSE = 15.0  # seconds without an event, after which a comment keeps the connection


def format_event(name: str, data: object) -> str:
    """Return one event; an unnamed one has no line `event`."""
    text = json.dumps(to_jsonable_python(data), ensure_ascii=False)
    return f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n"


@final
class AnswerEvents:
    """Hears an answer in its thread, and puts what it hears into a queue of the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Named | None] = asyncio.Queue()
        self._text = ""
        self.cancelled = Event()

    def on_evidence(self, evidence: records.Evidence) -> None:
        """Queue notes, steps, passages and paths."""
        for note in evidence.notes:
            self._put("note", {"text": note})
        for step in evidence.steps:
            self._put("step", step)
        for rank, passage in enumerate(evidence.passages, 1):
            self._put("passage", {"rank": rank, **passage.model_dump(mode="json")})
        for path in evidence.paths:
            self._put("path", path)

    def on_text(self, text: str) -> None:
        """Queue what a text grew by; a text that begins otherwise replaces the one before."""
        if text == self._text:
            return
        if text.startswith(self._text):
            self._put("token", {"text": text[len(self._text) :]})
        else:
            self._put("token", {"text": text, "restart": True})
        self._text = text

    def on_answer(self, answer: records.Answer) -> None:
        """Queue the rest of the text, the citations, and the whole."""
        for note in answer.notes:
            self._put("note", {"text": note})
        self.on_text(answer.headline)
        for citation in answer.citations:
            self._put("citation", citation)
        self._put("done", answer)

    async def follow(self, pool: WorkerPool, future: "Future[None]") -> AsyncIterator[Named | None]:
        """Yield events until the work of a future has ended, None in each long pause; an error is the last event."""
        future.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self._queue.put_nowait, None))
        ends = self._loop.time() + pool.deadline
        try:
            while True:
                left = ends - self._loop.time()
                try:
                    event = await asyncio.wait_for(self._queue.get(), max(0.0, min(_PAUSE, left)))
                except TimeoutError:
                    if left > _PAUSE:
                        yield None
                        continue
                    yield _error(pool.describe_deadline())
                    return
                if event is None:
                    break
                yield event
            if (failure := future.exception()) is not None:
                yield _error(failure)
        finally:
            self.cancelled.set()
            future.cancel()

    def _put(self, name: str, data: object) -> None:
        if not self.cancelled.is_set():
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (name, data))


def _error(failure: BaseException) -> Named:
    if isinstance(failure, ClewError):
        return "error", make_problem(report_error(failure, _PLACE))
    _log.error("%s failed", _PLACE, exc_info=failure)
    return "error", make_problem(Refusal(500, "the server failed; its log says why"))
