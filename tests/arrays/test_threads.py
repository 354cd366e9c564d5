"""The limit on numpy's threads: one inside, and as many as before afterwards."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from clew.arrays.threads import one_blas_thread
from clew.index import Index


def blas_threads() -> set[int]:
    return {one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas"}


@pytest.fixture
def two_threads() -> Iterator[None]:
    with threadpool_limits(2, "blas"):
        if blas_threads() != {2}:
            pytest.skip("threadpoolctl does not know the library that numpy multiplies with")
        yield


def test_outside_the_main_thread_no_limit_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(one_blas_thread).result(), nullcontext)


@pytest.mark.usefixtures("two_threads")
def test_a_search_multiplies_in_one_thread_and_leaves_them_as_they_were(
    small: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    seen = []
    kind: Any = type(small.retriever("bm25"))
    retrieve = kind.retrieve

    def watch(*args: object) -> object:
        seen.append(blas_threads())
        return retrieve(*args)

    monkeypatch.setattr(kind, "retrieve", watch)
    small.search("Who founded the school?", retriever="bm25")
    asyncio.run(small.asearch("Who founded the school?", retriever="bm25"))  # in another thread
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    small.search("Who founded the school?", retriever="bm25")
    assert seen == [{1}, {2}, {2}]
    assert blas_threads() == {2}
