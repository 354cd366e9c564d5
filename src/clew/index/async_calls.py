"""The async face of an index: the same calls in threads, so that an event loop goes on meanwhile.

Questions are answered at the same time, as many as there are workers. A change waits until the questions that are
being answered are done, and later questions wait for it. A call that is cancelled before it began is not done; one that
has begun is done to its end in its thread, so that a change is there as a whole or not at all.
"""

from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial, wraps
from threading import Condition, RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, final

from clew.models.threads import worker_count

P = ParamSpec("P")
S = TypeVar("S", bound="_Opened")
T = TypeVar("T")
_MAX_THREADS = 8  # questions that are answered at the same time, at most; each may hold all cores


class _Opened(Protocol):
    """An index that has async calls."""

    @property
    def _calls(self) -> "AsyncCalls": ...

    @property
    def context(self) -> object: ...


@final
class AsyncCalls:
    """Threads for calls of one index, and the order of its questions and changes."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._questions = 0  # that are being answered
        self._is_changing = False
        self._waiting_changes = 0
        self.opening = RLock()  # held by the one thread that opens what questions need of the index

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(min(_MAX_THREADS, worker_count() + 1), thread_name_prefix="clew-async")

    def end_threads(self) -> None:
        """Let the threads end when they have done what was asked for; a later call starts new ones."""
        threads: ThreadPoolExecutor | None = vars(self).pop("_threads", None)
        if threads is not None:
            threads.shutdown(wait=False)

    async def question(self, work: Callable[[], T]) -> T:
        """Return the result of a question."""
        return await self._run(self._hold_shared, work)

    async def change(self, work: Callable[[], T]) -> T:
        """Return the result of a change, which nothing else runs beside."""
        return await self._run(self._hold_exclusively, work)

    async def _run(self, hold: Callable[[], AbstractContextManager[None]], work: Callable[[], T]) -> T:
        from asyncio import get_running_loop  # a search without it does not load it

        def call() -> T:
            with hold():
                return work()

        return await get_running_loop().run_in_executor(self._threads, call)

    @contextmanager
    def _hold_shared(self) -> Iterator[None]:
        with self._condition:
            # Changes that wait go first: questions that keep coming would never let one begin.
            self._condition.wait_for(lambda: not self._is_changing and not self._waiting_changes)
            self._questions += 1
        try:
            yield
        finally:
            with self._condition:
                self._questions -= 1
                self._condition.notify_all()

    @contextmanager
    def _hold_exclusively(self) -> Iterator[None]:
        with self._condition:
            self._waiting_changes += 1
            self._condition.wait_for(lambda: not self._is_changing and not self._questions)
            self._waiting_changes -= 1
            self._is_changing = True
        try:
            yield
        finally:
            with self._condition:
                self._is_changing = False
                self._condition.notify_all()


def as_question(call: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the async form of a call that reads an index."""

    @wraps(call)
    async def ask(index: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        def work() -> T:
            with index._calls.opening:  # noqa: SLF001
                _ = index.context
            return call(index, *arguments, **options)

        return await index._calls.question(work)  # noqa: SLF001

    return ask


def as_change(call: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the async form of a call that changes an index, when the questions that are being answered are done."""

    @wraps(call)
    async def change(index: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        return await index._calls.change(partial(call, index, *arguments, **options))  # noqa: SLF001

    return change
