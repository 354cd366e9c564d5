"""Entities that people correct over the server: candidates, decisions, who may make them, and what a filter hides."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from clew.types import Document
from tests.server.serving import make_key, serving, with_options
from tests.small_index import make_index

DOCUMENTS = (
    Document("wood", "", "John Smith was a carpenter in Leith. John Smith built boats with Anna Berg.", {"team": "a"}),
    Document("keel", "", "J. Smith repaired the boats of Anna Berg in Leith.", {"team": "a"}),
    Document("sea", "", "John Smith was an admiral from Portsmouth. John Smith knew Horatio Nelson.", {"team": "b"}),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, keys of three kinds, and a folder of what they print."""
    folder = tmp_path_factory.mktemp("corrections")
    make_index(folder / "index", DOCUMENTS, "none")
    keys = folder / "keys.json"
    for name, key in (
        ("all", make_key(keys, write=True)),
        ("reader", make_key(keys)),
        ("a", make_key(keys, where="team = 'a'")),
    ):
        (folder / name).write_text(key, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def clients(folder: Path) -> Iterator[dict[str, TestClient]]:
    with serving({"own": folder / "index"}, keys=folder / "keys.json") as client:
        yield {name: _with_key(client, (folder / name).read_text(encoding="utf-8")) for name in ("all", "reader", "a")}


def _with_key(client: TestClient, key: str) -> TestClient:
    return TestClient(client.app, base_url="http://localhost", headers={"Authorization": f"Bearer {key}"})


def names(client: TestClient) -> set[str]:
    return {entity["name"] for entity in client.get("/v1/own/entities", params={"limit": 100}).json()["entities"]}


def test_candidates_are_those_of_the_passages_that_a_key_sees(clients: dict[str, TestClient]) -> None:
    found = clients["reader"].get("/v1/own/duplicate-entities").json()["pairs"][0]
    assert set(found["names"]) == {"John Smith", "J. Smith"}
    assert len(found["quotes"]) == 2
    ambiguous = clients["reader"].get("/v1/own/ambiguous-entities", params={"q": "smith"}).json()["entities"]
    assert [group["documents"] for group in ambiguous[0]["groups"]] == [["sea"], ["wood"]]
    seen = clients["a"].get("/v1/own/ambiguous-entities")
    assert seen.json()["entities"] == []
    assert "Portsmouth" not in seen.text + clients["a"].get("/v1/own/duplicate-entities").text


def test_only_a_key_that_may_write_and_sees_all_decides(clients: dict[str, TestClient]) -> None:
    change = {"action": "forget", "names": ["Leith"]}
    for name in ("reader", "a"):
        assert clients[name].post("/v1/own/entity-decisions", json=change).status_code == 403
        assert clients[name].get("/v1/own/entity-decisions").status_code == 403
    assert clients["all"].get("/v1/own/entity-decisions").json()["decisions"] == []


def test_decisions_are_what_searches_see_and_are_undone(folder: Path, clients: dict[str, TestClient]) -> None:
    client, address = clients["all"], "/v1/own/entity-decisions"
    before = names(client)
    merged = client.post(
        address, json={"action": "merge", "names": ["John Smith", "J. Smith"], "new_name": "Jack Smith"}
    )
    assert merged.json()["decisions"][0]["name"] == "Jack Smith"
    split = client.post(address, json={"action": "split", "names": ["Jack Smith"], "by_context": True}).json()
    assert [decision["action"] for decision in split["decisions"]] == ["split", "rename"]
    client.post(address, json={"action": "rename", "names": ["Anna Berg"], "new_name": "The informant"})
    client.post(address, json={"action": "forget", "names": ["Horatio Nelson"]})
    shown = names(client)
    assert {"Jack Smith (Anna Berg)", "Jack Smith (Horatio Nelson)", "The informant"} <= shown
    assert not {"J. Smith", "John Smith", "Horatio Nelson"} & shown
    # A key with a filter sees the names that its passages write, and nothing of what was decided.
    assert names(clients["a"]) == {"J. Smith", "Anna Berg", "Leith"}
    entity = clients["a"].get("/v1/own/entities/Anna Berg").text
    assert "informant" not in entity
    assert "Jack" not in entity
    assert clients["a"].get("/v1/own/entities/The informant").status_code == 404
    listed = client.get(address).json()["decisions"]
    for decision in reversed(listed):
        assert client.post(address, json={"action": "undo", "number": decision["number"]}).status_code == 200
    assert names(client) == before
    assert [d["undone"] for d in client.get(address).json()["decisions"]] == [True] * 5 + [False] * 5


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        ({"action": "rename", "names": ["Leith"]}, 400, "new_name is missing"),
        ({"action": "forget", "names": []}, 400, "names holds 0 names"),
        ({"action": "forget", "names": ["Leiht"]}, 400, "no entity is called 'Leiht'"),
        ({"action": "erase", "names": ["Leith"]}, 422, "action"),
        ({"action": "undo", "number": 999}, 400, "there is no decision 999"),
    ],
)
def test_what_cannot_be_decided_is_a_problem(
    clients: dict[str, TestClient], change: dict[str, object], status: int, told: str
) -> None:
    reply = clients["all"].post("/v1/own/entity-decisions", json=change)
    assert reply.status_code == status
    assert told in reply.json()["detail"]


def test_a_server_that_is_read_only_takes_no_decision(folder: Path) -> None:
    with serving({"own": folder / "index"}, with_options(write=False)) as client:
        assert client.post("/v1/own/entity-decisions", json={"action": "undo"}).status_code == 403
