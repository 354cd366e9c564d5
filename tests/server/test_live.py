"""Indexes that change and close while they are asked: every answer is of one version, and memory is bounded."""

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.types import Message

import clew
from clew.errors import IndexFormatError
from clew.index import Index
from clew.server import open_indexes, questions
from clew.server.open_indexes import OpenIndexes
from clew.server.refusals import Refusal
from clew.types import Document
from tests.server.serving import guard_of, serving, state_of, with_options
from tests.small_index import make_index


def ship(number: int) -> Document:
    return Document(f"ship-{number:03}", f"Ship {number}", f"Ship {number} sank off Cape Horn.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_index(tmp_path / "index", [ship(number) for number in range(3)])
    return tmp_path / "index"


@pytest.fixture
def opened(folder: Path) -> Iterator[OpenIndexes]:
    indexes = OpenIndexes({"own": str(folder)}, clew.open, poll=0.0)
    yield indexes
    indexes.close()


def add(folder: Path, document: Document) -> int:
    """Add a document, and return the version that has it."""
    index = clew.open(folder)
    index.add([document])
    return index.table.version


def wait_for_version(indexes: OpenIndexes, version: int) -> None:
    for _ in range(1_000):
        with indexes.lease("own") as leased:
            if leased.number == version:
                return
        threading.Event().wait(0.01)
    raise AssertionError("the new version was never opened")


def test_a_commit_of_another_process_shows_up(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "new.txt"
    text.write_text("Zorg was launched by Ada Quux.")
    with serving({"own": folder}) as client:
        before = client.get("/v1/own/stats").json()
        command = [sys.executable, "-m", "clew", "index", str(text), "--index", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        newest = clew.open(folder).table.version
        wait_for_version(state_of(client).indexes, newest)
        after = client.get("/v1/own/stats").json()
        found = client.post("/v1/own/search", json={"question": "Zorg", "k": 1}).json()
    assert (before["documents"], after["documents"], after["version"]) == (3, 4, newest)
    assert found["results"][0]["passages"][0]["id"] == "new.txt"


def test_a_lease_keeps_its_version_until_it_ends(folder: Path, opened: OpenIndexes) -> None:
    with opened.lease("own") as old:
        first, alive = old.number, weakref.ref(old.index)
        newest = add(folder, ship(9))
        wait_for_version(opened, newest)
        assert old.number == first
        assert len(old.documents) == 3
        assert old.index.search("ship", 10, "bm25").passages
        assert alive() is not None
    gc.collect()
    assert alive() is None  # closed with its last lease
    assert opened.open_versions() == {"own": newest}


def test_an_answer_is_of_a_version_that_was_the_newest_a_moment_ago(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first question after a long pause waits for the look, and is not answered from what was open before."""
    indexes = OpenIndexes({"own": str(folder)}, clew.open, poll=0.0)
    with indexes.lease("own") as version:
        first = version.number
    newest = add(folder, ship(9))
    monkeypatch.setattr(open_indexes, "_MAX_AGE", 0.0)  # as if the last look were long ago
    with indexes.lease("own") as version:
        assert (first, version.number) == (newest - 1, newest)
    indexes.close()


def test_a_newer_version_is_open_once_it_was_asked_for(folder: Path) -> None:
    """Several at once open it once, so that no version stays open for nobody."""
    living: list[weakref.ref[Index]] = []

    def open_index(location: str) -> Index:
        index = clew.open(location)
        living.append(weakref.ref(index))
        return index

    indexes = OpenIndexes({"own": str(folder)}, open_index, poll=60.0)
    indexes.refresh("own")  # is not open, so that nothing is older
    assert living == []
    with indexes.lease("own"):
        pass
    newest = add(folder, ship(9))
    with ThreadPoolExecutor(3) as threads:
        for refreshed in [threads.submit(indexes.refresh, "own") for _ in range(3)]:
            refreshed.result()
    assert indexes.open_versions() == {"own": newest}
    gc.collect()
    assert [reference() is not None for reference in living] == [False, True]
    indexes.close()


def test_every_answer_belongs_to_one_version_while_documents_come(folder: Path) -> None:
    """Version v + i has ships 0 to 2 + i: what an answer holds has to be all ships of its version, and no other."""
    with serving({"own": folder}, with_options(workers=2)) as client:
        first = client.get("/v1/own/stats").json()["version"]
        stop = threading.Event()
        seen: list[tuple[int, set[str]]] = []

        def ask() -> None:
            while not stop.is_set():
                reply = client.post("/v1/own/search", json={"question": "ship", "k": 100, "retriever": "bm25"})
                assert reply.status_code in (200, 429), reply.text
                if reply.status_code == 200:
                    (found,) = reply.json()["results"]
                    assert found["version"] == reply.json()["version"]
                    seen.append((found["version"], {p["id"] for p in found["passages"]}))

        with ThreadPoolExecutor(3) as threads:
            asking = [threads.submit(ask) for _ in range(3)]
            versions = {add(folder, ship(number)): number for number in range(3, 9)}
            wait_for_version(state_of(client).indexes, max(versions))
            reply = client.post("/v1/own/search", json={"question": "ship", "k": 100, "retriever": "bm25"})
            stop.set()
            for future in asking:
                future.result()
    ships = {**versions, first: 2}
    for version, ids in [*seen, (max(versions), {p["id"] for p in reply.json()["results"][0]["passages"]})]:
        assert ids == {f"ship-{number:03}" for number in range(ships[version] + 1)}
    assert len({version for version, _ in seen}) > 1


def test_the_least_recently_used_index_is_closed(folder: Path) -> None:
    living: list[weakref.ref[Index]] = []

    def open_index(location: str) -> Index:
        index = clew.open(location)
        living.append(weakref.ref(index))
        return index

    indexes = OpenIndexes({f"i{n}": str(folder) for n in range(6)}, open_index, max_open=2, poll=60.0)
    for name in ("i0", "i1", "i0", "i2"):
        with indexes.lease(name):
            pass
    assert set(indexes.open_versions()) == {"i0", "i2"}
    for name in indexes.names():
        with indexes.lease(name) as version:
            assert version.index.search("ship", 1, "bm25").passages
    gc.collect()
    assert set(indexes.open_versions()) == {"i4", "i5"}
    assert sum(reference() is not None for reference in living) == 2
    indexes.close()
    gc.collect()
    assert sum(reference() is not None for reference in living) == 0


def test_an_index_that_cannot_be_opened_is_tried_again(tmp_path: Path) -> None:
    indexes = OpenIndexes({"own": str(tmp_path / "index")}, clew.open)
    with pytest.raises(IndexFormatError), indexes.lease("own"):
        pass
    make_index(tmp_path / "index", [ship(1)])
    with indexes.lease("own") as version:
        assert len(version.documents) == 1
    indexes.close()


def test_a_server_of_an_index_that_is_gone_is_not_ready(tmp_path: Path) -> None:
    with serving({"own": tmp_path / "none"}) as client:
        assert client.get("/health").status_code == 200
        ready = client.get("/ready")
        assert (ready.status_code, ready.headers["content-type"]) == (503, "application/problem+json")
        assert str(tmp_path) not in ready.text


def test_an_unknown_name_is_refused(opened: OpenIndexes) -> None:
    with pytest.raises(Refusal) as refused, opened.lease("other"):
        pass
    assert refused.value.status == 404


def test_a_question_of_a_client_who_has_left_is_not_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only worker is busy when the client leaves, so that the question still waits."""
    began: list[str] = []
    monkeypatch.setattr(questions, "search", lambda *_: began.append("search"))
    with serving({"own": folder}, with_options(workers=1)) as client:
        pool, release = state_of(client).pool, threading.Event()
        busy = pool.submit(release.wait)
        body = b'{"question": "Which ship sank?"}'
        headers = [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        scope = {
            "type": "http", "method": "POST", "path": "/v1/own/search", "raw_path": b"/v1/own/search",
            "headers": headers, "query_string": b"", "scheme": "http", "http_version": "1.1",
            "client": ("127.0.0.1", 1), "root_path": "",
        }  # fmt: skip
        incoming: list[Message] = [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]
        outgoing: list[Message] = []

        async def receive() -> Message:
            return incoming.pop(0)

        async def send(message: Message) -> None:
            outgoing.append(message)

        asyncio.run(guard_of(client)(scope, receive, send))
        assert outgoing[0]["status"] == 499
        assert pool.pending == 1
        release.set()
        busy.result()
        pool.submit(lambda: None).result()
    assert began == []
