"""The threads that answer questions, and the bounded queue before them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar, final

from clew.server.refusals import Refusal

T = TypeVar("T")
_RETRY_SECONDS = 1
_WAITING_PER_WORKER = 4


@final
class WorkerPool:
    """As many threads as questions are answered at once, and a queue of which the length is bounded.

    Attributes:
        workers: Number of threads.
        deadline: Seconds after which an answer is no longer waited for.
    """

    def __init__(self, workers: int, queue: int | None, deadline: float) -> None:
        self.workers = workers
        self.deadline = deadline
        # With more, those at the end wait longer than twenty answers take.
        self._capacity = workers + (_WAITING_PER_WORKER * workers if queue is None else queue)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="clew-answer")
        self._lock = Lock()
        self._pending = 0

    @property
    def pending(self) -> int:
        """The questions that are being answered or wait."""
        return self._pending

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Queue work, which is done unless its future is cancelled before; a full queue is a Refusal (429)."""
        with self._lock:
            if self._pending >= self._capacity:
                raise Refusal(429, "too many questions at once; ask again in a moment", "busy", _RETRY_SECONDS)
            self._pending += 1
        future = self._threads.submit(work)
        future.add_done_callback(self._on_done)
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """Return the result of work; after the deadline it is a Refusal (504).

        Where the caller is cancelled, work that has not begun is not done.
        """
        future = self.submit(work)
        try:
            async with asyncio.timeout(self.deadline):
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise self.describe_deadline() from error
        finally:
            future.cancel()

    def describe_deadline(self) -> Refusal:
        """Return the refusal (504) of an answer that took too long."""
        advice = (
            "ask again, since what is compiled and read once is ready then, or start the server with more --deadline"
        )
        return Refusal(504, f"no answer within {self.deadline:g} seconds: {advice}", "deadline")

    def close(self) -> None:
        """Do no more work; what has begun is waited for."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _on_done(self, _: "Future[T]") -> None:
        with self._lock:
            self._pending -= 1
