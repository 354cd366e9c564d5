"""What stands before every route: keys, hosts, origins, limits and headers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clew.server.http.accounts import RateLimit
from clew.server.http.guard import HEADERS, OPEN_PATHS
from clew.server.keys import KeyFile
from clew.server.refusals import Refusal
from clew.text.display import MEBIBYTE
from tests.server.serving import guard_of, make_key, serving, state_of, with_options


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A path for a file of keys."""
    return tmp_path / "keys.json"


@pytest.fixture
def locked(plain_folder: Path, keys: Path) -> Iterator[TestClient]:
    """A client without a key, of a server that asks for one."""
    make_key(keys)
    with serving({"small": plain_folder, "other": plain_folder}, keys=keys) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def every_route(client: TestClient) -> list[tuple[str, str]]:
    """Return the method and a path of every route that OpenAPI describes, of the page and of the tools."""
    schema = guard_of(client).app.openapi()
    listed = [(method.upper(), path) for path, methods in schema["paths"].items() for method in methods]
    listed += [("GET", "/openapi.json"), ("POST", "/mcp"), ("POST", "/mcp/"), ("GET", "/nothing")]
    return [(method, re.sub(r"\{\w+\}", "small", path)) for method, path in listed]


def test_no_route_but_health_answers_without_a_key(locked: TestClient) -> None:
    routes = every_route(locked)
    assert len(routes) > 20
    for method, path in routes:
        response = locked.request(method, path)
        if path in OPEN_PATHS:
            assert path == "/health"
            continue
        assert response.status_code == 401, (method, path)
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["type"] == "urn:clew:key"


@pytest.mark.parametrize("text", ["", "Bearer", "Bearer x", "Bearer clew_000000000000_" + "a" * 43, "Basic YTpi"])
def test_other_texts_are_no_keys(locked: TestClient, text: str) -> None:
    assert locked.get("/v1/indexes", headers={"Authorization": text}).status_code == 401


def test_a_key_answers_until_it_is_removed(locked: TestClient, keys: Path) -> None:
    key = make_key(keys)
    assert locked.get("/v1/indexes", headers=bearer(key)).status_code == 200
    assert locked.get("/v1/indexes", headers=bearer(key[:-1] + ("a" if key[-1] != "a" else "b"))).status_code == 401
    KeyFile(keys).remove(key.split("_")[1])
    assert locked.get("/v1/indexes", headers=bearer(key)).status_code == 401


def test_the_last_keys_hold_while_the_file_is_broken(
    locked: TestClient, keys: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As while an editor writes it; a server that has never read it answers 503, with the headers of any answer."""
    key, whole = make_key(keys), keys.read_bytes()
    keys.write_bytes(whole[:-20])
    early = locked.get("/v1/indexes", headers=bearer(key))
    assert (early.status_code, early.json()["type"]) == (503, "urn:clew:keys")
    assert {name: early.headers[name] for name in HEADERS} == dict(HEADERS)
    assert str(keys) not in early.text
    keys.write_bytes(whole)
    assert locked.get("/v1/indexes", headers=bearer(key)).status_code == 200
    keys.write_bytes(whole[:-20])
    caplog.clear()
    assert [locked.get("/v1/indexes", headers=bearer(k)).status_code for k in (key, key, key[:-2])] == [200, 200, 401]
    assert len([record for record in caplog.records if "the keys cannot be read" in record.message]) == 1


def test_an_index_that_a_key_may_not_ask_is_one_that_does_not_exist(locked: TestClient, keys: Path) -> None:
    headers = bearer(make_key(keys, indexes=["small"], write=True))
    assert [i["name"] for i in locked.get("/v1/indexes", headers=headers).json()["indexes"]] == ["small"]
    assert [m["id"] for m in locked.get("/v1/models", headers=headers).json()["data"]] == ["clew/small"]
    for method, path in every_route(locked):
        if "/v1/small/" not in path:
            continue
        replies = []
        for name in ("other", "absent"):
            response = locked.request(method, path.replace("/v1/small/", f"/v1/{name}/"), headers=headers, json={
                "question": "a", "documents": [{"text": "b"}]
            }, params={"from": "a", "to": "b"})  # fmt: skip
            replies.append((response.status_code, response.text.replace(name, "NAME")))
        assert replies[0] == replies[1], path
        assert replies[0][0] in (404, 422), (path, replies[0])
    chat = {"messages": [{"role": "user", "content": "a"}]}
    texts = [
        locked.post("/v1/chat/completions", json={**chat, "model": f"clew/{n}"}, headers=headers)
        for n in ("other", "absent")
    ]
    assert {response.status_code for response in texts} == {404}
    assert texts[0].text.replace("other", "NAME") == texts[1].text.replace("absent", "NAME")
    assert 'index="other"' not in locked.get("/metrics", headers=headers).text


def test_a_key_that_reads_writes_nothing(locked: TestClient, keys: Path) -> None:
    headers = bearer(make_key(keys))
    new = {"documents": [{"text": "a"}]}
    for response in (
        locked.post("/v1/small/documents", json=new, headers=headers),
        locked.delete("/v1/small/documents/vega", headers=headers),
        locked.delete("/v1/small/jobs/x", headers=headers),
        locked.post("/v1/small/jobs/x/retry", headers=headers),
    ):
        assert (response.status_code, response.json()["type"]) == (403, "urn:clew:read-only")


def test_a_server_started_to_read_takes_nothing(plain_folder: Path) -> None:
    with serving({"small": plain_folder}, with_options(write=False)) as client:
        assert client.post("/v1/small/documents", json={"documents": [{"text": "a"}]}).status_code == 403
        assert client.get("/v1/indexes").json()["indexes"][0]["writable"] is False


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.2", "", "localhost@evil"])
def test_other_hosts_are_refused(client: TestClient, host: str) -> None:
    response = client.get("/v1/indexes", headers={"Host": host})
    assert (response.status_code, response.json()["type"]) == (421, "urn:clew:host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8377", "127.0.0.1:1", "[::1]", "[::1]:8377"])
def test_names_of_this_machine_are_hosts(client: TestClient, host: str) -> None:
    assert client.get("/v1/indexes", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://localhost:1"},
        {"Origin": "http://["},
    ],
)
def test_pages_of_other_sites_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    response = client.post("/v1/small/search", json={"question": "a"}, headers=headers)
    assert (response.status_code, response.json()["type"]) == (403, "urn:clew:origin")


def test_the_own_page_may_ask(client: TestClient) -> None:
    headers = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/v1/small/search", json={"question": "a"}, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/health", "/v1/indexes", "/nothing", "/v1/small/stats"])
def test_every_answer_has_strict_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert {name: headers[name] for name in HEADERS} == dict(HEADERS)
    assert "unsafe" not in headers["Content-Security-Policy"]


def test_a_body_that_is_too_large_is_refused_before_it_is_read(plain_folder: Path) -> None:
    with serving({"small": plain_folder}, with_options(max_body=1000, max_upload=1)) as client:
        long = json.dumps({"question": "a" * 2000}).encode()
        headers = {"content-type": "application/json"}
        for body in (long, iter([long[:500], long[500:]])):  # with and without its length in the header
            response = client.post("/v1/small/search", content=body, headers=headers)
            assert response.status_code == 413
            assert response.headers["content-type"] == "application/problem+json"
            assert "Content-Security-Policy" in response.headers
        upload = {"files": ("a.txt", b"b" * (MEBIBYTE + 1))}
        assert client.post("/v1/small/documents", files=upload).status_code == 413
        assert client.get("/v1/small/jobs").json() == {"jobs": []}


def test_a_caller_is_limited_and_told_when_to_come_again(plain_folder: Path) -> None:
    with serving({"small": plain_folder}, with_options(rate=3)) as client:
        statuses = [client.get("/v1/indexes").status_code for _ in range(4)]
        response = client.get("/v1/indexes")
    assert statuses == [200, 200, 200, 429]
    assert 1 <= int(response.headers["retry-after"]) <= 20


def test_the_limit_fills_steadily_for_each_caller() -> None:
    limit = RateLimit(60)
    for _ in range(60):
        limit.take("a", now=0.0)
    with pytest.raises(Refusal) as refused:
        limit.take("a", now=0.5)
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    limit.take("b", now=0.5)
    limit.take("a", now=1.0)


def test_the_audit_log_names_who_and_what_and_holds_no_text(plain_folder: Path, keys: Path, tmp_path: Path) -> None:
    log, key = tmp_path / "audit.jsonl", make_key(keys)
    with serving({"small": plain_folder}, with_options(audit=log), keys, key) as client:
        client.post("/v1/small/search", json={"question": "a secret question"})
        client.get("/v1/small/entities", params={"q": "another secret"})
        client.get("/v1/small/passages/secret-id")
        client.get("/health")
        client.get("/v1/indexes", headers={"Authorization": "Bearer none"})
    text = log.read_text()
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    assert [(line["key"], line["route"], line["index"], line["status"]) for line in lines] == [
        (key.split("_")[1], "/v1/{index}/search", "small", 200),
        (key.split("_")[1], "/v1/{index}/entities", "small", 200),
        (key.split("_")[1], "/v1/{index}/passages/{passage_id:path}", "small", 404),
        ("", "other", "", 401),
    ]
    assert "secret" not in text
    assert key not in text


def test_the_audit_log_names_the_index_of_chats_and_tools(plain_folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    chat = {"model": "clew/small:bm25", "messages": [{"role": "user", "content": "a secret question"}]}
    with serving({"small": plain_folder}, with_options(audit=log)) as client:
        client.post("/v1/chat/completions", json=chat)
        client.post("/v1/chat/completions", json={**chat, "model": "clew/other"})
        client.post("/v1/chat/completions", json={**chat, "model": "a secret model"})
        for arguments in ({"name": "a secret name"}, {"name": "a", "index": "other"}):
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "entity", "arguments": arguments},
            }
            headers = {"accept": "application/json, text/event-stream"}
            assert client.post("/mcp", json=call, headers=headers).status_code == 200
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["route"], line["index"]) for line in lines] == [
        ("/v1/chat/completions", "small"),
        ("/v1/chat/completions", "other"),
        ("/v1/chat/completions", ""),
        ("/mcp", "small"),
        ("/mcp", "other"),
    ]
    assert "secret" not in log.read_text()


def test_a_full_queue_is_429_before_an_answer_streams(plain_folder: Path) -> None:
    chat = {"model": "clew/small", "messages": [{"role": "user", "content": "a"}], "stream": True}
    with serving({"small": plain_folder}, with_options(workers=1, queue=0)) as client:
        release = Event()
        busy = state_of(client).pool.submit(release.wait)
        for path, body in (("small/ask", {"question": "a", "stream": True}), ("chat/completions", chat)):
            response = client.post(f"/v1/{path}", json=body)
            assert (response.status_code, response.headers["retry-after"]) == (429, "1")
            assert response.headers["content-type"] == "application/problem+json"
        assert client.get("/ready").status_code == 200  # it can answer, and is only busy
        release.set()
        busy.result()


def test_more_indexes_than_places_in_the_queue_are_ready(plain_folder: Path) -> None:
    names = [f"i{number}" for number in range(4)]
    with serving(dict.fromkeys(names, plain_folder), with_options(workers=1, queue=0)) as client:
        assert client.get("/ready").json() == {"status": "ready"}
        assert list(state_of(client).indexes.open_versions()) == names


def test_the_log_says_what_an_answer_does_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chat = {"model": "clew/own", "messages": [{"role": "user", "content": "a secret"}], "stream": True}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "about", "arguments": {}}}
    headers = {"accept": "application/json, text/event-stream"}
    with serving({"own": tmp_path / "none"}) as client:
        for method, path, body in (
            ("GET", "/v1/own/stats", None),
            ("GET", "/ready", None),
            ("POST", "/v1/own/ask", {"question": "a secret", "stream": True}),
            ("POST", "/v1/chat/completions", chat),
            ("POST", "/mcp", call),
        ):
            caplog.clear()
            assert "log says why" in client.request(method, path, json=body, headers=headers).text
            logged = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
            assert len(logged) == 1, path
            assert str(tmp_path / "none") in logged[0]
            assert "secret" not in logged[0]


def test_a_full_queue_is_429_and_a_deadline_504(plain_folder: Path) -> None:
    with serving({"small": plain_folder}, with_options(workers=1, queue=0)) as client:
        pool, release = state_of(client).pool, Event()
        pool.submit(release.wait)
        busy = client.get("/v1/small/stats")
        release.set()
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
        while pool.pending:
            sleep(0.01)
        slow = Event()
        assert client.get("/v1/small/stats").status_code == 200
        with state_of(client).indexes.lease("small") as version:
            version.browser.count_visible = lambda _where=None: slow.wait()  # type: ignore[method-assign,assignment]
            pool.deadline = 0.3
            assert client.get("/v1/small/stats").status_code == 504
            slow.set()


def test_the_server_s_own_faults_are_told_without_words(plain_folder: Path) -> None:
    with serving({"small": plain_folder}) as client:
        quiet = TestClient(client.app, base_url="http://localhost", raise_server_exceptions=False)
        with state_of(client).indexes.lease("small") as version:
            version.documents.find = None  # type: ignore[method-assign,assignment]
            response = quiet.get("/v1/small/passages/vega")
    assert (response.status_code, response.headers["content-type"]) == (500, "application/problem+json")
    assert "NoneType" not in response.text
