"""The async face: many calls at once give what one after the other gives, and a cancelled one harms nothing."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import clew
from clew.settings import Settings
from clew.types import Evidence, Filter
from tests.small_index import QUESTIONS, make_index, without_timing

CALLS = 50
RETRIEVERS = ("bm25", "fused", "pagerank", "frag", "chains", "title-links")
SECONDS = 60.0  # until a test that hangs fails


class Gate:
    """A retriever that waits for the test before it searches."""

    def __init__(self, index: clew.Index) -> None:
        self.found = index.retriever("bm25")
        self.questions: list[str] = []
        self.begun = threading.Semaphore(0)
        self.opened = threading.Event()

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        self.questions += questions
        self.begun.release()
        assert self.opened.wait(SECONDS)
        return self.found.retrieve(questions, k, where)


def async_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("clew-async")]


@pytest.fixture
def index(small_folder: Path) -> Iterator[clew.Index]:
    """The small index, newly opened, whose threads end with the test."""
    before = set(async_threads())
    opened = clew.open(small_folder)
    yield opened
    opened.close()
    for thread in set(async_threads()) - before:
        thread.join(SECONDS)
    assert set(async_threads()) <= before


async def wait_for_begin(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.begun.acquire, timeout=SECONDS)


async def cancel(task: "asyncio.Task[object]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_fifty_searches_at_once_equal_fifty_one_by_one(index: clew.Index, small_folder: Path) -> None:
    asked = [(QUESTIONS[n % len(QUESTIONS)], RETRIEVERS[n % len(RETRIEVERS)]) for n in range(CALLS)]

    async def search_all() -> list[Evidence]:
        return await asyncio.gather(*(index.asearch(question, 3, name) for question, name in asked))

    together = [without_timing(evidence) for evidence in asyncio.run(search_all())]
    other = clew.open(small_folder)
    assert together == [without_timing(other.search(question, 3, name)) for question, name in asked]


def test_fifty_answers_and_batches_at_once_equal_those_one_by_one(index: clew.Index, small_folder: Path) -> None:
    asked = [QUESTIONS[n % len(QUESTIONS)] for n in range(CALLS // 2)]

    async def ask_all() -> tuple[list[clew.Answer], list[list[Evidence]]]:
        answers = asyncio.gather(*(index.aask(question, 3, "fused") for question in asked))
        batches = asyncio.gather(*(index.aretrieve(asked[:n], 3, "fused") for n in range(len(asked))))
        return await answers, await batches

    answers, batches = asyncio.run(ask_all())
    other = clew.open(small_folder)
    for question, answer in zip(asked, answers, strict=True):
        alone = other.ask(question, 3, "fused")
        assert (answer.text, answer.citations, answer.notes) == (alone.text, alone.citations, alone.notes)
    expected = [without_timing(other.search(question, 3, "fused")) for question in asked]
    for count, batch in enumerate(batches):
        assert [without_timing(evidence) for evidence in batch] == expected[:count]


@pytest.mark.parametrize("method", ["aretrieve", "aask", "asearch"])
def test_a_cancelled_call_leaves_the_index_usable(index: clew.Index, method: str) -> None:
    gate = Gate(index)

    async def run() -> list[Evidence]:
        asked = [QUESTIONS[0]] if method == "aretrieve" else QUESTIONS[0]
        task: asyncio.Task[object] = asyncio.create_task(getattr(index, method)(asked, 2, gate))
        await wait_for_begin(gate)
        await cancel(task)
        beside = await index.aretrieve(list(QUESTIONS), 2, "bm25")  # while the cancelled one is still in its thread
        gate.opened.set()
        return beside

    found = asyncio.run(run())
    assert [without_timing(e) for e in found] == [without_timing(index.search(q, 2, "bm25")) for q in QUESTIONS]


def test_a_call_that_is_cancelled_before_it_began_is_not_done(index: clew.Index) -> None:
    gate = Gate(index)

    async def run() -> None:
        running = [asyncio.create_task(index.asearch("running", 1, gate)) for _ in range(CALLS)]
        waiting: asyncio.Task[object] = asyncio.create_task(index.asearch("waiting", 1, gate))
        await wait_for_begin(gate)
        await cancel(waiting)
        gate.opened.set()
        await asyncio.gather(*running)

    asyncio.run(run())
    assert gate.questions == ["running"] * CALLS


def test_a_change_waits_for_a_cancelled_question_and_is_whole(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", [clew.Document("a", "Fram", "The Fram left Oslo.")], "none")
    gate = Gate(index)

    async def run() -> clew.IndexingReport:
        question: asyncio.Task[object] = asyncio.create_task(index.asearch("Fram", 1, gate))
        await wait_for_begin(gate)
        await cancel(question)
        change = asyncio.create_task(index.aadd([clew.Document("b", "Gjoa", "The Gjoa left Oslo.")]))
        await asyncio.sleep(0)
        assert not change.done()
        gate.opened.set()
        return await change

    assert asyncio.run(run()).added == 1
    assert {found.item.id for found in asyncio.run(index.asearch("Oslo", 5, "bm25"))} == {"a", "b"}
    index.close()


def test_a_cancelled_change_that_has_begun_is_done_to_its_end(tmp_path: Path) -> None:
    index = clew.create(tmp_path / "index", Settings(encoder="none", extractor="rules"))
    begun, go_on = threading.Event(), threading.Event()

    def documents() -> Iterator[clew.Document]:
        begun.set()
        assert go_on.wait(SECONDS)
        yield clew.Document("a", "Fram", "The Fram left Oslo.")

    async def run() -> Evidence:
        change: asyncio.Task[object] = asyncio.create_task(index.aadd(documents()))
        assert await asyncio.to_thread(begun.wait, SECONDS)
        await cancel(change)
        go_on.set()
        return await index.asearch("Oslo", 1, "bm25")

    assert [found.item.id for found in asyncio.run(run())] == ["a"]
    index.close()


def test_threads_that_open_a_retriever_at_once_open_one(index: clew.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def open_slowly(*_: object) -> object:
        time.sleep(0.05)
        opened.append(object())
        return opened[-1]

    monkeypatch.setattr("clew.index.open_retriever", open_slowly)

    async def run() -> list[object]:
        return await asyncio.gather(*(asyncio.to_thread(index.retriever, "bm25") for _ in range(2)))

    assert asyncio.run(run()) == opened * 2
    assert len(opened) == 1
