"""A key with a filter learns nothing of what the filter hides: every route, every retriever.

The oracle is an index that was made without the hidden documents.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.protocols import Retriever
from clew.server.open_indexes import OpenVersion
from clew.server.questions import open_version_retriever
from clew.types import Document, Evidence, Filter
from tests.server.serving import make_key, serving
from tests.small_index import DOCUMENTS, make_index

SECRETS = ("Xylophia", "Quorn", "Zanthor", "Brimwick")
HIDDEN = (
    Document(
        "hidden-1",
        "Xylophia Quorn",
        "Xylophia Quorn was born in Karlskrona and commanded the Zanthor.",
        {"tenant": "b", "rank": 1},
    ),
    Document("hidden-2", "Zanthor", "Zanthor was built in Brimwick by Louis Palander.", {"tenant": "b", "rank": 2}),
    Document("hidden-3", "Brimwick", "Brimwick lies in Blekinge. Vega sank off Brimwick.", {"tenant": "b", "rank": 3}),
    Document(
        "vega-2", "Vega (ship)", "Vega was sold to Xylophia Quorn of Brimwick in 1903.", {"tenant": "b", "rank": 4}
    ),
)
SHOWN = tuple(replace(d, metadata={**d.metadata, "tenant": "a"}) for d in DOCUMENTS)
NAMES = (
    *("Vega (ship)", "Louis Palander", "Karlskrona", "Blekinge", "Bornholm"),
    *("Xylophia Quorn", "Zanthor", "Brimwick", "Nobody"),
)
QUESTIONS = (
    "Where was the commander of the Zanthor born?",
    "Who bought the Vega?",
    "In which province is the town where Louis Palander was born?",
    "Xylophia Quorn",
    "Where was Xilophia Kworn born?",
)
OF_EACH_KIND = ("auto", "bm25", "frag", "chains")
RETRIEVERS = ("auto", *(name for name in clew.RETRIEVERS if name not in ("gfm", "g-rag")))


class Clients(NamedTuple):
    """Clients of two servers."""

    filtered: TestClient  # of all documents, with a key that hides some
    reduced: TestClient  # of the index without the hidden ones


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of all documents and one without the hidden ones; tests must not write to them."""
    folder = tmp_path_factory.mktemp("filtered")
    make_index(folder / "all", [*SHOWN, *HIDDEN])
    make_index(folder / "reduced", SHOWN)
    return folder


def serve_both(indexes: Path, *, strict: bool) -> Iterator[Clients]:
    keys = indexes / f"keys-{strict}.json"
    key = make_key(keys, where="tenant = 'a'", strict=strict)
    with (
        serving({"own": indexes / "all"}, keys=keys, key=key) as filtered,
        serving({"own": indexes / "reduced"}) as reduced,
    ):
        yield Clients(filtered, reduced)


@pytest.fixture(scope="module")
def clients(indexes: Path) -> Iterator[Clients]:
    yield from serve_both(indexes, strict=False)


@pytest.fixture(scope="module")
def strict_clients(indexes: Path) -> Iterator[Clients]:
    yield from serve_both(indexes, strict=True)


def without(reply: Any, *names: str) -> Any:
    """Return a reply without some members, however deep."""
    if isinstance(reply, dict):
        return {name: without(value, *names) for name, value in reply.items() if name not in names}
    return [without(one, *names) for one in reply] if isinstance(reply, list) else reply


def same(clients: Clients, path: str, **parameters: Any) -> None:
    """Check that both servers answer alike, but for versions, and that a key is filtered."""
    filtered, reduced = (client.get(f"/v1/own/{path}", params=parameters) for client in clients)
    assert filtered.status_code == reduced.status_code
    mine, other = (without(reply.json(), "version", "filtered", "settings") for reply in (filtered, reduced))
    assert mine == other


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(1, 4))
def test_paths_are_those_of_an_index_without_the_hidden(clients: Clients, start: str, end: str, hops: int) -> None:
    same(clients, "paths", **{"from": start, "to": end, "hops": hops, "limit": 10})


@pytest.mark.parametrize("name", NAMES)
def test_entities_are_those_of_an_index_without_the_hidden(clients: Clients, name: str) -> None:
    same(clients, f"entities/{name}")


@pytest.mark.parametrize("text", ["", "a", "x", "vega", "brim", "quorn", "la"])
def test_names_are_found_as_without_the_hidden(clients: Clients, text: str) -> None:
    same(clients, "entities", q=text, limit=200)
    same(clients, "documents", q=text, limit=200)


@pytest.mark.parametrize("path", ["stats", "documents", *(f"passages/{d.id}" for d in (*SHOWN, *HIDDEN))])
def test_counts_documents_and_passages_are_those_without_the_hidden(clients: Clients, path: str) -> None:
    same(clients, path)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_answer_has_a_hidden_word(clients: Clients, retriever: str, question: str) -> None:
    asked = {"question": question, "retriever": retriever, "k": 50}
    replies = [clients.filtered.post(f"/v1/own/{path}", json=asked) for path in ("search", "ask")]
    if retriever in OF_EACH_KIND:  # other forms of what `ask` answers, whatever finds the evidence
        chat = {"model": f"clew/own:{retriever}", "messages": [{"role": "user", "content": question}]}
        replies += [
            clients.filtered.post("/v1/own/ask", json={**asked, "stream": True}),
            clients.filtered.post("/v1/chat/completions", json=chat),
        ]
    for reply in replies:
        said = reply.text
        for own in (question, question.replace('"', '\\"')):
            said = said.replace(own, "")
        asked_words = {word for word in SECRETS if word in question}
        told = [word for word in SECRETS if word in said and word not in asked_words]
        assert not told, (reply.url, told)
        assert "hidden-" not in said
        assert "vega-2" not in said


@pytest.mark.parametrize("retriever", [name for name in clew.RETRIEVERS if clew.RETRIEVERS.entry(name).finds_paths])
@pytest.mark.parametrize("topic", ["Xylophia Quorn", "Zanthor", "Brimwick", "Vega (ship)", "Vega", "Karlskrona"])
def test_topics_show_nothing_hidden(clients: Clients, retriever: str, topic: str) -> None:
    asked = {"question": "Who was it sold to, and where?", "retriever": retriever, "topics": [topic], "k": 50}
    found, reduced = (client.post("/v1/own/search", json=asked) for client in clients)
    assert found.status_code == reduced.status_code
    said = found.text.replace(topic, "")
    assert not [word for word in (*SECRETS, "hidden-", "vega-2") if word in said]
    if found.status_code == 200:
        assert found.json()["results"][0]["topics"] == reduced.json()["results"][0]["topics"]


@pytest.mark.parametrize("path", ["duplicate-entities", "ambiguous-entities"])
@pytest.mark.parametrize("text", ["", "vega", "quorn"])
def test_candidates_for_corrections_show_nothing_hidden(clients: Clients, path: str, text: str) -> None:
    said = clients.filtered.get(f"/v1/own/{path}", params={"q": text, "limit": 500}).text
    assert not [word for word in (*SECRETS, "hidden-", "vega-2") if word in said]


@pytest.mark.parametrize(
    "where", ["rank = 1", "rank >= 0", "tenant = 'b'", "tenant = 'a' OR tenant = 'b'", "nothing = 1"]
)
def test_a_filter_of_the_request_cannot_widen_that_of_the_key(clients: Clients, where: str) -> None:
    asked = {"question": "Karlskrona Vega Blekinge", "retriever": "bm25", "k": 100, "where": where}
    reply = clients.filtered.post("/v1/own/search", json=asked)
    if where.startswith(("rank", "nothing")):  # a field of hidden passages alone is one that no passage has
        name = where.split()[0]
        assert reply.status_code == 400
        assert reply.json()["detail"] == f"no passage has the field {name!r} of the filter {where!r}"
    else:
        found = [p["metadata"]["tenant"] for p in reply.json()["results"][0]["passages"]]
        assert set(found) == ({"a"} if "OR" in where else set())


@pytest.mark.parametrize(
    "where",
    ["1 = 1) OR (1 = 1", "tenant = 'a' -- ", "tenant = 'a'; tenant", "(tenant = 'a'", "'a' = 'a') OR ('a' = 'a"],
)
def test_a_filter_that_is_more_than_one_condition_is_refused(clients: Clients, where: str) -> None:
    asked = {"question": "Karlskrona", "where": where}
    assert clients.filtered.post("/v1/own/search", json=asked).status_code == 400


def test_a_filter_that_does_not_fit_the_index_hides_everything(tmp_path: Path, plain_folder: Path) -> None:
    key = make_key(tmp_path / "keys.json", where="no_such_field = 'secret tenant'")
    with serving({"own": plain_folder}, keys=tmp_path / "keys.json", key=key) as client:
        for reply in (
            client.post("/v1/own/search", json={"question": "Karlskrona"}),
            client.get("/v1/own/stats"),
            client.get("/v1/own/documents"),
            client.get("/v1/own/entities"),
        ):
            assert reply.status_code == 403
            assert "secret tenant" not in reply.text


def test_the_tools_of_assistants_obey_the_filter(clients: Clients) -> None:
    headers = {"accept": "application/json, text/event-stream"}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("search", {"question": "Who bought the Vega?", "k": 50, "full": True}),
        ("ask", {"question": "Who bought the Vega?"}),
        ("connect", {"start": "Vega (ship)", "end": "Blekinge"}),
        ("entity", {"name": "Vega (ship)"}),
        ("read", {"passage_id": "hidden-1"}),
        ("about", {}),
    )
    for name, arguments in calls:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        reply = clients.filtered.post("/mcp", json=call, headers=headers)
        assert reply.status_code == 200, reply.text
        assert '"result"' in reply.text
        assert not [word for word in SECRETS if word in reply.text], name


class _Forgetful:
    """A retriever that forgets the filter."""

    def __init__(self, inner: Retriever) -> None:
        self._inner = inner

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return what is found in all passages."""
        return self._inner.retrieve(questions, k)


def test_a_retriever_that_forgets_the_filter_shows_nothing(
    indexes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forget(version: OpenVersion, spec: str, paths: int) -> Retriever:
        return _Forgetful(open_version_retriever(version, spec, paths))

    key = make_key(tmp_path / "keys.json", where="tenant = 'a'")
    monkeypatch.setattr("clew.server.questions.open_version_retriever", forget)
    with serving({"own": indexes / "all"}, keys=tmp_path / "keys.json", key=key) as client:
        quiet = TestClient(client.app, "http://localhost", headers=dict(client.headers), raise_server_exceptions=False)
        for path in ("search", "ask"):
            asked = {"question": QUESTIONS[0], "retriever": "bm25", "k": 50}
            reply = quiet.post(f"/v1/own/{path}", json=asked)
            assert reply.status_code == 500
            assert not [word for word in SECRETS if word in reply.text]
            assert "hidden-" not in reply.text


def test_a_key_without_a_filter_finds_the_hidden(clients: Clients, indexes: Path) -> None:
    with serving({"own": indexes / "all"}) as client:
        found = client.post("/v1/own/search", json={"question": QUESTIONS[0], "k": 50}).text
        paths = client.get("/v1/own/paths", params={"from": "Vega (ship)", "to": "Blekinge"}).text
        assert "hidden-1" in found
        assert "Brimwick" in paths
    assert clients.filtered.post("/v1/own/search", json={"question": QUESTIONS[0], "k": 50}).status_code == 200


@pytest.mark.parametrize("retriever", OF_EACH_KIND)
def test_a_strict_key_gets_the_order_and_scores_of_an_index_without_the_hidden(
    strict_clients: Clients, retriever: str
) -> None:
    for question in QUESTIONS:
        for where in (None, "lang = 'en'", "rank = 1"):
            asked = {"question": question, "retriever": retriever, "k": 50, "where": where}
            for path in ("search", "ask"):
                mine, other = (client.post(f"/v1/own/{path}", json=asked) for client in strict_clients)
                assert mine.status_code == other.status_code, (mine.text, other.text)
                if mine.status_code == 200:
                    found, expected = (without(reply.json(), "version", "seconds") for reply in (mine, other))
                    assert found == expected, (path, question, where)


def test_a_filter_that_allows_nothing_counts_the_visible_alone(clients: Clients) -> None:
    body = {"question": "Vega", "where": "title = 5", "retriever": "bm25"}
    filtered, reduced = (client.post("/v1/own/search", json=body).json() for client in clients)
    notes = filtered["results"][0]["notes"]
    assert notes == reduced["results"][0]["notes"]
    assert notes[0].startswith(f"no passage meets the filter (0 of {len(SHOWN)}); 'title' has texts")
