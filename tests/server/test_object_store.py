"""Several servers over one index in an object store: a local S3 server, and processes of `clew serve`."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.settings import Settings
from clew.types import Document
from tests.server.serving import server_process
from tests.store.object_store import object_store, use_object_store

URI = "s3://clew-served/an/index"


def ship(number: int) -> Document:
    return Document(f"ship-{number}", f"Ship {number}", f"Ship {number} sank off Cape Horn.")


@pytest.fixture
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with object_store("clew-served") as url:
        use_object_store(url, tmp_path / "cache", monkeypatch)
        yield


@pytest.mark.slow  # two processes, and an object store
@pytest.mark.usefixtures("_store")
def test_servers_read_one_index_and_see_what_another_process_commits() -> None:
    index = clew.create(URI, Settings(encoder="hashing", extractor="rules"))
    index.add([ship(number) for number in range(3)])
    served = (f"own={URI}", "--read-only")
    body = {"question": "Which ship sank off Cape Horn?", "k": 9, "retriever": "bm25"}
    with server_process(*served) as (_, one), server_process(*served) as (_, other):
        answers = [client.post("/v1/own/search", json=body) for client in (one, other)]
        assert [each.status_code for each in answers] == [200, 200]
        assert answers[0].json()["version"] == answers[1].json()["version"] == index.table.version
        found = [[p["id"] for p in each.json()["results"][0]["passages"]] for each in answers]
        assert found[0] == found[1]
        assert sorted(found[0]) == ["ship-0", "ship-1", "ship-2"]
        index.add([ship(3)])
        newest = index.table.version
        for client in (one, other):
            for _ in range(200):
                reply = client.post("/v1/own/search", json=body).json()
                if reply["version"] == newest:
                    break
                time.sleep(0.05)
            assert len(reply["results"][0]["passages"]) == 4
