"""The threads that answer, and the queue before them."""

import asyncio
import time
from threading import Event

import pytest

from clew.server.refusals import Refusal
from clew.server.worker_pool import WorkerPool


def test_work_is_done_and_errors_are_raised() -> None:
    pool = WorkerPool(2, 4, 5.0)

    def broken() -> None:
        raise ValueError("no")

    assert asyncio.run(pool.run(lambda: 3)) == 3
    with pytest.raises(ValueError, match="no"):
        asyncio.run(pool.run(broken))
    assert pool.pending == 0
    pool.close()


def test_one_too_many_is_refused_until_one_is_done() -> None:
    pool, release = WorkerPool(1, 2, 5.0), Event()
    futures = [pool.submit(release.wait) for _ in range(3)]
    with pytest.raises(Refusal) as refused:
        pool.submit(release.wait)
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    release.set()
    for future in futures:
        future.result()
    pool.submit(release.wait).result()
    pool.close()


def test_work_of_a_caller_who_has_left_is_not_begun() -> None:
    pool, release, done = WorkerPool(1, 4, 5.0), Event(), []

    async def leave() -> None:
        first = asyncio.create_task(pool.run(release.wait))
        second = asyncio.create_task(pool.run(lambda: done.append(1)))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        release.set()
        await first

    asyncio.run(leave())
    pool.close()
    assert (done, pool.pending) == ([], 0)


def test_a_deadline_ends_the_wait() -> None:
    pool, release = WorkerPool(1, 4, 0.05), Event()
    with pytest.raises(Refusal) as refused:
        asyncio.run(pool.run(release.wait))
    assert refused.value.status == 504
    release.set()
    pool.close()
    for _ in range(100):
        if not pool.pending:
            break
        time.sleep(0.01)
    assert pool.pending == 0
