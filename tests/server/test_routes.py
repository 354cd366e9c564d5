"""Every route that reads: what it answers, and how it refuses."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

import clew
from clew.index import Index
from tests.server.serving import read_events

QUESTION = "Where was the commander of the Vega born?"


def problem(response: Any, status: int) -> str:
    """Return the detail of a problem, after checking its form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (body["status"], bool(body["title"]), bool(body["type"])) == (status, True, True)
    return str(body["detail"])


def test_a_search_answers_as_the_library_does(client: TestClient, small: Index) -> None:
    reply = client.post("/v1/small/search", json={"question": QUESTION, "k": 3}).json()
    expected = small.search(QUESTION, 3)
    (found,) = reply["results"]
    assert [(p["id"], p["score"]) for p in found["passages"]] == [(p.item.id, p.score) for p in expected.passages]
    assert found["passages"][0]["text"] == expected.passages[0].item.text
    assert [[t["relation"] for t in path["triples"]] for path in found["paths"]] == [
        [t.relation for t in path.item] for path in expected.paths
    ]
    assert found["notes"] == list(expected.notes)
    assert reply["version"] == found["version"] == small.table.version


def test_several_questions_are_answered_in_their_order(client: TestClient) -> None:
    questions = [QUESTION, "lighthouse keeper", "a twin text about herring fishing"]
    together = client.post("/v1/small/search", json={"questions": questions, "k": 4}).json()["results"]
    assert [one["question"] for one in together] == questions
    for question, found in zip(questions, together, strict=True):
        alone = client.post("/v1/small/search", json={"question": question, "k": 4}).json()["results"][0]
        assert alone["passages"] == found["passages"]


def test_settings_filters_and_rerankers_are_obeyed(client: TestClient, small: Index) -> None:
    asked = {
        "question": "lighthouse keeper",
        "k": 20,
        "where": "lang = 'en'",
        "retriever": {"name": "gear", "settings": {"steps": 1}},
    }
    found = client.post("/v1/small/search", json=asked).json()["results"][0]
    expected = small.search("lighthouse keeper", 20, clew.Gear(steps=1), "lang = 'en'")
    assert found["retriever"] == "gear"
    assert [p["score"] for p in found["passages"]] == [p.score for p in expected.passages]
    assert {p["metadata"]["lang"] for p in found["passages"]} == {"en"}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "give a question or questions"),
        ({"question": "a", "questions": ["b"]}, "not both"),
        ({"question": "a", "where": "year >"}, "filter"),
        ({"question": "a", "retriever": "pagerang"}, "pagerang"),
        ({"question": "a", "retriever": "gfm:weights=/etc"}, "cannot be given in a request"),
        ({"question": "a", "retriever": "gfm:weights=weights"}, "names a file"),
        ({"question": "a", "retriever": {"name": "gear", "settings": {"reader": "openai:gpt"}}}, "in a request"),
        ({"question": "a", "retriever": {"name": "gear", "settings": {"reader": "gpt"}}}, "cannot be 'gpt'"),
        ({"question": "a", "retriever": {"name": "bm25:rerank=g-rag", "settings": {}}}, "bm25:rerank=g-rag"),
        ({"question": "a", "retriever": "frag:ranker=some-model-of-the-hub"}, "in a request"),
        ({"question": "a", "retriever": "auto:k=1"}, "auto takes no settings"),
        ({"question": "a", "topics": ["Vega"]}, "topics are for retrievers of paths"),
    ],
)
def test_a_search_that_cannot_be_made_says_why(client: TestClient, asked: dict[str, Any], words: str) -> None:
    assert words in problem(client.post("/v1/small/search", json=asked), 400)


@pytest.mark.parametrize(
    "asked", [{"question": 3}, {"question": "a", "k": 0}, {"question": "a", "x": 1}, {"question": "a" * 5000}, [], "a"]
)
def test_a_search_of_another_form_is_refused(client: TestClient, asked: Any) -> None:
    problem(client.post("/v1/small/search", json=asked), 422)


def test_a_body_that_is_no_json_is_refused(client: TestClient) -> None:
    problem(client.post("/v1/small/search", content=b"{", headers={"content-type": "application/json"}), 422)


def test_an_answer_is_the_library_s(client: TestClient, small: Index) -> None:
    reply = client.post("/v1/small/ask", json={"question": QUESTION}).json()
    expected = small.ask(QUESTION)
    assert (reply["answer"], reply["headline"], reply["weak"]) == (expected.text, expected.headline, expected.weak)
    assert [c["quote"] for c in reply["citations"]] == [c.quote for c in expected.citations]
    assert reply["evidence"]["passages"][0]["id"] == expected.evidence.passages[0].item.id


def test_a_language_model_that_is_not_allowed_is_refused(client: TestClient) -> None:
    asked = {"question": QUESTION, "model": "openai:gpt-x"}
    assert "this server allows: none" in problem(client.post("/v1/small/ask", json=asked), 400)


def test_a_streamed_answer_ends_with_the_whole(client: TestClient) -> None:
    asked = {"question": QUESTION, "k": 3}
    whole = client.post("/v1/small/ask", json=asked).json()
    response = client.post("/v1/small/ask", json={**asked, "stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = [(name, json.loads(data)) for name, data in read_events(response.text)]
    names = [name for name, _ in events]
    evidence = [name for name in names if name != "note"]  # an answer has notes of its own
    assert evidence == sorted(evidence, key=["step", "passage", "path", "token", "citation", "done"].index)
    passages = [data for name, data in events if name == "passage"]
    assert [p["rank"] for p in passages] == [1, 2, 3]
    assert "".join(data["text"] for name, data in events if name == "token") == whole["headline"]
    assert [data for name, data in events if name == "citation"] == whole["citations"]
    done = events[-1][1]
    assert {**done, "usage": 0, "evidence": 0} == {**whole, "usage": 0, "evidence": 0}


@pytest.mark.parametrize(
    ("index", "changes", "status", "words"),
    [
        ("other", {}, 404, "there is no index 'other' here"),
        ("small", {"retriever": "nonesuch"}, 400, "nonesuch"),
        ("small", {"model": "openai:gpt-x"}, 400, "this server allows: none"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_streams(
    client: TestClient, index: str, changes: dict[str, str], status: int, words: str
) -> None:
    body = {"question": QUESTION, "stream": True, **changes}
    assert words in problem(client.post(f"/v1/{index}/ask", json=body), status)


def test_an_error_while_it_streams_is_an_event(client: TestClient) -> None:
    response = client.post("/v1/small/ask", json={"question": QUESTION, "where": "nothing = 1", "stream": True})
    ((name, data),) = read_events(response.text)
    assert (name, json.loads(data)["status"]) == ("error", 400)


def test_steps_of_an_agent_are_events(client: TestClient) -> None:
    response = client.post("/v1/small/ask", json={"question": QUESTION, "retriever": "ircot", "stream": True})
    steps = [json.loads(data) for name, data in read_events(response.text) if name == "step"]
    assert steps[0]["query"] == QUESTION


def test_documents_come_in_pages_by_id(client: TestClient, small: Index) -> None:
    ids, after = [], ""
    while True:
        page = client.get("/v1/small/documents", params={"limit": 7, "after": after}).json()
        ids += [document["id"] for document in page["documents"]]
        assert page["total"] == len(small.snapshot.passage_ids)
        if page["next"] is None:
            break
        after = page["next"]
    assert ids == sorted(set(small.snapshot.document_ids))


def test_documents_are_found_by_a_part_of_a_title(client: TestClient) -> None:
    page = client.get("/v1/small/documents", params={"q": "VEGA", "limit": 1}).json()
    assert (page["total"], page["documents"][0]["id"], page["next"]) == (2, "vega", "vega")
    assert page["documents"][0] == {
        "id": "vega", "title": "Vega (ship)", "passages": 1, "characters": 62, "status": "indexed", "reason": "",
        "job": "",
    }  # fmt: skip
    assert client.get("/v1/small/documents", params={"status": "failed"}).json()["documents"] == []


def test_a_passage_is_shown_with_what_was_extracted(client: TestClient, small: Index) -> None:
    view = client.get("/v1/small/passages/palander").json()
    passage = small.snapshot.passage(small.snapshot.position("palander"))
    assert (view["text"], view["document"], view["previous"], view["next"]) == (passage.text, ["palander"], None, None)
    assert "Karlskrona" in [entity["name"] for entity in view["entities"]]
    assert all(fact["passages"] for fact in view["relations"])


def test_entities_and_the_paths_between_them(client: TestClient) -> None:
    found = client.get("/v1/small/entities", params={"q": "louis"}).json()["entities"]
    assert found[0]["name"] == "Louis Palander"
    entity = client.get(f"/v1/small/entities/{found[0]['id']}").json()
    assert entity["name"] == "Louis Palander"
    assert "palander" in entity["passage_ids"]
    assert entity == client.get("/v1/small/entities/louis palander").json()
    reply = client.get("/v1/small/paths", params={"from": "Vega (ship)", "to": "Karlskrona"}).json()
    assert [e["name"] for e in reply["paths"][0]["entities"]] == ["Vega (ship)", "Louis Palander", "Karlskrona"]
    quotes = [edge["quotes"][0]["quote"] for edge in reply["paths"][0]["edges"]]
    assert "Vega was built in Bremerhaven and commanded by Louis Palander." in quotes
    assert "Louis Palander was born in Karlskrona in 1842." in quotes


@pytest.mark.parametrize(
    "path",
    [
        "/v1/nowhere/stats", "/v1/nowhere/documents", "/v1/nowhere/jobs", "/v1/small/passages/none",
        "/v1/small/entities/Zebulon Quux", "/v1/small/jobs/none", "/v1/small/jobs/0000000000000000-000000000000",
        "/v1/small/paths?from=Vega (ship)&to=Zebulon", "/v1/small/nothing", "/nothing",
    ],
)  # fmt: skip
def test_what_does_not_exist_is_404(client: TestClient, path: str) -> None:
    assert problem(client.get(path), 404)


def test_a_path_from_a_thing_to_itself_is_refused(client: TestClient) -> None:
    ends = {"from": "Karlskrona", "to": "karlskrona"}
    assert "the same entity" in problem(client.get("/v1/small/paths", params=ends), 400)


def test_the_counts_are_those_of_the_index(client: TestClient, small: Index) -> None:
    stats, expected = client.get("/v1/small/stats").json(), small.stats()
    for name in ("version", "documents", "passages", "entities", "relations", "triples"):
        assert stats[name] == getattr(expected, name), name


def test_status_routes(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json() == {"status": "ready"}
    text = client.get("/metrics").text
    assert 'clew_requests_total{method="GET",route="/health",status="200"}' in text
    assert 'clew_index_version{index="small"}' in text
    assert 'clew_request_seconds_bucket{route="/health",le="+Inf"}' in text


def test_indexes_are_listed_with_the_retrievers(client: TestClient) -> None:
    reply = client.get("/v1/indexes").json()
    assert reply["indexes"] == [{"name": "small", "writable": True, "filtered": False}]
    assert [r["name"] for r in reply["retrievers"]] == list(clew.RETRIEVERS)


def test_a_method_that_a_route_lacks_is_a_problem(client: TestClient) -> None:
    response = client.put("/v1/small/stats")
    problem(response, 405)
    assert response.headers["allow"] == "GET"


def test_a_request_is_handed_to_no_thread_but_that_of_its_answer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FastAPI runs a dependency that is a plain function in a thread of its own, twice a request."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("handed to another thread")

    monkeypatch.setattr("starlette.concurrency.anyio.to_thread.run_sync", refuse)
    assert client.post("/v1/small/search", json={"question": QUESTION}).status_code == 200
    assert client.get("/v1/models").status_code == 200
