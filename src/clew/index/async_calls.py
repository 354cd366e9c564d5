"""The async face of an index: the same calls in threads, so that an event loop goes on meanwhile.

Questions are answered at the same time, as many as there are workers. A change waits until the questions that are
being answered are done, and later questions wait for it. A call that is cancelled before it began is not done; one that
has begun is done to its end in its thread, so that a change is there as a whole or not at all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, final

from clew.models.threads import worker_count
from clew.plugins.arguments import check_strings
from clew.types import Answer, Document, Evidence, Failure, Filter

if TYPE_CHECKING:
    from clew.index import RetrieverSpec
    from clew.indexing.entry import IndexingReport
    from clew.protocols import Retriever

T = TypeVar("T")
_MAX_THREADS = 8  # questions that are answered at the same time, at most; each may hold all cores


class _Questions(Protocol):
    """The calls of an index that have an async form."""

    @property
    def _calls(self) -> "AsyncCalls": ...

    def retriever(self, spec: "RetrieverSpec" = ..., paths: int = ...) -> "Retriever": ...

    def search(self, question: str, *arguments: Any, **options: Any) -> Evidence: ...

    def ask(self, question: str, *arguments: Any, **options: Any) -> Answer: ...

    def finish(self, evidence: Evidence, where: Filter | None) -> Evidence: ...

    def add(self, documents: Any, *arguments: Any, **options: Any) -> "IndexingReport": ...


@final
class AsyncCalls:
    """Threads for calls of one index, and the order of its questions and changes."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._questions = 0  # that are being answered
        self._is_changing = False
        self._waiting_changes = 0
        self._opening = Lock()

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(min(_MAX_THREADS, worker_count() + 1), thread_name_prefix="clew-async")

    def end_threads(self) -> None:
        """Let the threads end when they have done what was asked for; a later call starts new ones."""
        threads: ThreadPoolExecutor | None = vars(self).pop("_threads", None)
        if threads is not None:
            threads.shutdown(wait=False)

    async def question(self, open_first: Callable[[], object], work: Callable[[], T]) -> T:
        """Return the result of a question; what it needs of the index is opened by one thread at a time."""

        def call() -> T:
            with self._hold_shared():
                with self._opening:
                    open_first()
                return work()

        return await self._run(call)

    async def change(self, work: Callable[[], T]) -> T:
        """Return the result of a change, which nothing else runs beside."""

        def call() -> T:
            with self._hold_exclusively():
                return work()

        return await self._run(call)

    async def _run(self, call: Callable[[], T]) -> T:
        from asyncio import get_running_loop  # a search without it does not load it

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


class AsyncIndex:
    """The async calls of an index; the calls beside them that are not async must not run at the same time."""

    @cached_property
    def _calls(self) -> AsyncCalls:
        return AsyncCalls()

    async def asearch(
        self: _Questions,
        question: str,
        k: int = 5,
        retriever: "RetrieverSpec" = "auto",
        where: Filter | None = None,
        paths: int = 1,
        topics: Sequence[str] = (),
    ) -> Evidence:
        """Return what `search` does."""
        search = partial(self.search, question, k, retriever, where, paths, topics)
        return await self._calls.question(partial(self.retriever, retriever, paths), search)

    async def aretrieve(
        self: _Questions,
        questions: Sequence[str],
        k: int = 5,
        retriever: "RetrieverSpec" = "auto",
        where: Filter | None = None,
    ) -> list[Evidence]:
        """Return the evidence for each of some questions, in their order, from one call of the retriever."""
        check_strings(questions, "questions")

        def retrieve() -> list[Evidence]:
            return [self.finish(one, where) for one in self.retriever(retriever).retrieve(questions, k, where)]

        return await self._calls.question(partial(self.retriever, retriever), retrieve)

    async def aask(
        self: _Questions,
        question: str,
        k: int = 5,
        retriever: "RetrieverSpec" = "auto",
        where: Filter | None = None,
        paths: int = 1,
        model: Any = "",
        topics: Sequence[str] = (),
    ) -> Answer:
        """Return what `ask` does."""
        ask = partial(self.ask, question, k, retriever, where, paths, model, topics)
        return await self._calls.question(partial(self.retriever, retriever, paths), ask)

    async def aadd(
        self: _Questions, documents: Iterable[Document | Failure] | Sequence[str | Path], **options: Any
    ) -> "IndexingReport":
        """Add documents as `add` does, with its options, when the questions that are being answered are done."""
        return await self._calls.change(partial(self.add, documents, **options))
