"""Several servers over one index in an object store: a local S3 server, and processes of `clew serve`."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.settings import Settings
from clew.types import Document
from tests.server.serving import server_process

URI = "s3://clew-served/an/index"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


def ship(number: int) -> Document:
    return Document(f"ship-{number}", f"Ship {number}", f"Ship {number} sank off Cape Horn.")


@pytest.fixture
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server_module = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    server = server_module.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    own = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ALLOW_HTTP": "true", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in {**KEYS, **own, "CLEW_CACHE": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=own["AWS_ENDPOINT_URL"])
    client.create_bucket(Bucket="clew-served")
    client.close()
    yield
    server.stop()


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
