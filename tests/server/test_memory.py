"""The memory over HTTP: what is remembered is recalled; keys with a filter see their own, and write nothing."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.server.serving import make_key, serving, state_of, with_options
from tests.small_index import DOCUMENTS, make_index

QUESTION = "Who has a dog?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_index(tmp_path / "index", DOCUMENTS[:3])
    return tmp_path / "index"


def tell(client: TestClient, text: str, user: str) -> str:
    reply = client.post("/v1/own/remember", json={"text": text, "user": user, "session": "1"})
    assert reply.status_code == 200, reply.text
    made: str = reply.json()["id"]
    return made


def recalled(client: TestClient, **asked: object) -> list[str]:
    reply = client.post("/v1/own/recall", json={"question": QUESTION, **asked})
    assert reply.status_code == 200, reply.text
    return [passage["document_id"] for passage in reply.json()["passages"]]


def test_turns_are_remembered_recalled_and_forgotten(folder: Path, tmp_path: Path) -> None:
    options = with_options(audit=tmp_path / "audit.jsonl")
    with serving({"own": folder}, options) as client:
        made = tell(client, "My dog is called Rex.", "arne")
        assert recalled(client, user="arne") == [made]
        assert recalled(client, user="ilse") == []
        assert made not in recalled(client, as_of="2024-01-01")
        other = tell(client, "My dog is called Fido.", "ilse")
    with serving({"own": folder}) as client:  # the next server has what waited
        assert set(recalled(client)) >= {made, other}
        assert state_of(client).memories._open("own").merge() == 2
        assert recalled(client, user="arne") == [made]
        found = client.post("/v1/own/search", json={"question": QUESTION, "where": "user = 'arne'"}).json()
        assert [passage["id"] for passage in found["results"][0]["passages"]] == [made]
        assert client.post("/v1/own/forget", json={"user": "arne"}).json() == {"index": "own", "turns": 1}
        assert made not in recalled(client)
        assert client.post("/v1/own/forget", json={}).status_code == 400
        assert client.post("/v1/own/remember", json={"text": "a", "time": "soon"}).status_code == 400
        assert client.post("/v1/none/recall", json={"question": "a"}).status_code == 404
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(line["route"].split("/")[-1], line["index"]) for line in lines} == {("remember", "own"), ("recall", "own")}
    assert "Rex" not in repr(lines)


def test_a_key_with_a_filter_recalls_its_own_and_writes_nothing(folder: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    writer, own = make_key(keys, write=True), make_key(keys, where="user = 'arne'")
    strict, odd = make_key(keys, where="user = 'arne'", strict=True), make_key(keys, where="tenant = 'a'")
    headers = {name: {"Authorization": f"Bearer {key}"} for name, key in (("strict", strict), ("odd", odd))}
    with serving({"own": folder}, keys=keys, key=writer) as client:
        made, hidden = tell(client, "My dog is called Rex.", "arne"), tell(client, "My dog is called Fido.", "ilse")
        for is_merged in (False, True):
            client.headers["Authorization"] = f"Bearer {own}"
            assert recalled(client) == [made]
            assert recalled(client, user="ilse") == []
            assert "ido" not in client.post("/v1/own/recall", json={"question": QUESTION}).text
            for route, body in (("remember", {"text": "a"}), ("forget", {"user": "ilse"})):
                assert client.post(f"/v1/own/{route}", json=body).status_code == 403
            for name in headers:
                reply = client.post("/v1/own/recall", json={"question": QUESTION}, headers=headers[name])
                assert reply.status_code == 403
                assert "tenant" not in reply.text
            client.headers["Authorization"] = f"Bearer {writer}"
            assert set(recalled(client)) >= {made, hidden}
            assert is_merged or state_of(client).memories._open("own").merge() == 2


def test_a_server_that_may_not_write_recalls_what_is_merged(folder: Path) -> None:
    with serving({"own": folder}) as client:
        made = tell(client, "My dog is called Rex.", "arne")
        state_of(client).memories._open("own").merge()
    with serving({"own": folder}, with_options(write=False)) as client:
        assert recalled(client, user="arne") == [made]
        assert recalled(client, user="ilse") == []
        assert client.post("/v1/own/remember", json={"text": "a"}).status_code == 403
