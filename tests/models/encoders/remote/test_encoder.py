"""Encoders that a server runs, tried with a local one that misbehaves on purpose."""

import json
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest

import clew
from clew.models.encoders.registry import open_encoder
from clew.models.encoders.remote.encoder import RemoteEncoder
from clew.models.encoders.remote.request import OllamaEmbeddings, OpenAIEmbeddings
from clew.models.llm.access import LLMClientFactory
from clew.models.llm.budget import Budget, Prices
from clew.settings import Settings
from tests.faults.model_server import Request, ServerReply, model_server

WIDTH = 5
KEY = "sk-secret-of-the-tests"
TEXTS = ("The Fram left Oslo.", "", "卡尔斯克鲁纳", " \n", "Fram", "x" * 20_000)
Change = Callable[[dict[str, Any], int], Any]


def vector(text: str) -> list[float]:
    """A vector that tells texts apart, not of unit length."""
    return [float(1 + len(text)), *(float(sum(map(ord, text)) % prime) for prime in (3, 5, 7, 11))]


def openai_body(request: Request) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": vector(t)} for i, t in enumerate(request["input"])]
    return {"object": "list", "data": data[::-1], "model": request["model"], "usage": {"total_tokens": 7}}


def script(change: Change = lambda body, _: body) -> Callable[[Request, int], ServerReply]:
    """A server whose bodies are changed; what is no body is a reply of its own."""

    def reply(request: Request, number: int) -> ServerReply:
        changed = change(openai_body(request), number)
        return changed if isinstance(changed, ServerReply) else ServerReply(body=json.dumps(changed))

    return reply


def unit(texts: Sequence[str]) -> Any:
    rows = np.array([vector(text) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def opened(url: str, **options: Any) -> RemoteEncoder:
    return RemoteEncoder("openai-embeddings", f"small@{url}", OpenAIEmbeddings(), **options)


def test_rows_are_the_server_s_vectors_at_unit_length_in_the_order_of_the_texts() -> None:
    with model_server(script()) as server:
        encoder = opened(server.url)
        rows = encoder.encode(TEXTS)
        np.testing.assert_array_equal(rows, unit([TEXTS[0], ".", TEXTS[2], ".", TEXTS[4], "x" * 8000]))
        assert encoder.dimension == rows.shape[1] == WIDTH
        assert encoder.encode([]).shape == (0, WIDTH)
        np.testing.assert_array_equal(encoder.encode_queries(["Fram"]), unit(["Fram"]))
    assert {request["path"] for request in server.requests} == {"/v1/embeddings"}
    assert {request["model"] for request in server.requests} == {"small"}


def test_many_texts_are_sent_in_batches() -> None:
    texts = [f"text {number}" for number in range(150)]
    with model_server(script()) as server:
        np.testing.assert_array_equal(opened(server.url).encode(texts), unit(texts))
    assert [len(request["input"]) for request in server.requests] == [1, 64, 64, 22]


def test_its_name_opens_it_again_with_the_server() -> None:
    with model_server(script()) as server:
        encoder = opened(server.url)
        again = open_encoder(encoder.name)
        assert (again.name, again.dimension, again.fingerprint) == (encoder.name, WIDTH, encoder.fingerprint)
    assert encoder.fingerprint == f"openai-embeddings-small-{WIDTH}"


def test_a_server_that_moved_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(script()) as server:
        monkeypatch.setenv("CLEW_EMBEDDINGS_URL", server.url)
        assert opened("http://127.0.0.1:9/v1").dimension == WIDTH


def failing_first(failure: ServerReply | Callable[[dict[str, Any]], Any], times: int = 1) -> Change:
    def change(body: dict[str, Any], number: int) -> Any:
        if number >= times:
            return body
        return failure if isinstance(failure, ServerReply) else failure(body)

    return change


def nan(body: dict[str, Any]) -> ServerReply:
    body["data"][0]["embedding"][1] = float("nan")
    return ServerReply(body=json.dumps(body))


@pytest.mark.parametrize(
    "failure",
    [
        ServerReply("slow down", status=429, headers={"Retry-After": "0"}),
        ServerReply("down", status=503),
        ServerReply(body="{ no json"),
        ServerReply(body=json.dumps({"data": []})),
        ServerReply(body=json.dumps({"vectors": [[1.0]]})),
        ServerReply(body="[]"),
        ServerReply(truncate=True, body=json.dumps({"data": [{"index": 0, "embedding": [1.0] * WIDTH}]})),
        nan,
        lambda body: {**body, "data": [*body["data"], *body["data"]]},
        lambda body: {**body, "data": [{**item, "embedding": "AAAA"} for item in body["data"]]},
    ],
)
def test_a_server_that_fails_once_is_asked_again(failure: Any) -> None:
    with model_server(script(failing_first(failure))) as server:
        np.testing.assert_array_equal(opened(server.url).encode(["Fram"]), unit(["Fram"]))
    assert len(server.requests) == 3  # the width, twice, and the text


def refusal(failure: Any, **options: Any) -> str:
    with model_server(script(failing_first(failure, times=99))) as server:
        with pytest.raises(clew.ProviderError) as caught:
            opened(server.url, **options).encode(["Fram"])
        assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_server_that_always_fails_is_one_line() -> None:
    assert "failed 3 times (HTTP 503: down): run it again" in refusal(ServerReply("down", status=503), attempts=3)
    assert "its reply cannot be used: it is no JSON" in refusal(ServerReply(body="{"), attempts=1)
    assert "its reply cannot be used: 0 vectors for 1 texts" in refusal(ServerReply(body='{"data": []}'), attempts=1)
    assert "data.0.embedding.1: Input should be a finite number" in refusal(nan, attempts=1)
    assert "it asks to wait 999 s" in refusal(ServerReply("busy", status=429, headers={"Retry-After": "999"}))


def test_waits_that_the_server_asks_for_are_no_attempts_and_bounded_by_their_sum(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("clew.models.encoders.remote.request.time.sleep", slept.append)
    busy = ServerReply("busy", status=429, headers={"Retry-After": "100"})
    with model_server(script(failing_first(busy, times=6))) as server:
        np.testing.assert_array_equal(opened(server.url, attempts=1).encode(["Fram"]), unit(["Fram"]))
    assert slept == [100.0] * 6
    (told,) = caplog.messages
    assert "limits the rate, and each request waits as long as it asks, 600 s at most" in told
    assert "failed for 600 s (HTTP 429: busy): run it again when the server works" in refusal(busy)
    assert slept == [100.0] * 12


def test_a_hang_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "failed 2 times (ReadTimeout" in refusal(ServerReply(delay=60), timeout=0.1, attempts=2)


def test_a_reply_that_trickles_ends() -> None:
    trickle = ServerReply(body=" " * 10_000, byte_delay=0.02)
    assert "no whole answer within 0.1 s" in refusal(trickle, timeout=0.1, attempts=1)


def test_a_refused_request_is_sent_once_and_the_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_API_KEY", KEY)

    def refuse(request: Request, _: int) -> ServerReply:
        return ServerReply(f"wrong key {request['authorization']}", status=401)

    with model_server(refuse) as server, pytest.raises(clew.ProviderError) as caught:
        opened(server.url).encode(["Fram"])
    assert [request["authorization"] for request in server.requests] == [f"Bearer {KEY}"]
    assert KEY not in str(caught.value)
    assert "the request was refused: HTTP 401: wrong key Bearer ...;" in str(caught.value)
    assert KEY not in repr(opened("http://127.0.0.1:9/v1")._server)


@pytest.mark.parametrize("width", [3, 0])
def test_another_width_is_refused(width: int) -> None:
    def change(body: dict[str, Any], number: int) -> Any:
        return body if not number else {**body, "data": [{"index": 0, "embedding": [1.0] * width}]}

    with model_server(script(change)) as server, pytest.raises(clew.ProviderError, match=f"of width {width}, wanted 5"):
        opened(server.url).encode(["Fram"])


def test_a_vector_of_zeros_is_refused() -> None:
    def zeros(body: dict[str, Any]) -> Any:
        return {**body, "data": [{"index": 0, "embedding": [0.0] * WIDTH}]}

    assert "gave a vector of zeros" in refusal(zeros)


def test_a_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(clew.ProviderError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"):
        opened("http://127.0.0.1:9/v1").encode(["Fram"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai-embeddings", "name the model, openai-embeddings:MODEL"),
        ("openai-embeddings:small", "openai needs a key and OPENAI_API_KEY is not set"),
        ("openai-embeddings:small@http://me:pass@host/v1", "holds a user's name: set CLEW_API_KEY"),
        ("openai-embeddings:small@http://:0/v1", "wanted one like http://host:8000/v1"),
    ],
)
def test_names_that_cannot_be_used_are_one_line(name: str, message: str) -> None:
    with pytest.raises(clew.InputError, match=message) as caught:
        open_encoder(name)
    assert "pass@" not in str(caught.value)


def test_an_index_is_made_and_searched_and_what_was_spent_is_counted(tmp_path: Path) -> None:
    with model_server(script()) as server:
        name = f"openai-embeddings:small@{server.url}"
        factory = LLMClientFactory(prices=Prices({"openai:small": (1000.0, 0.0)}))
        index = clew.create(tmp_path / "index", Settings(encoder=name, extractor="rules"), llm_factory=factory)
        index.add([clew.Document("a", "Fram", "The Fram left Oslo."), clew.Document("b", "Cook", "Cook saw ice.")])
        assert index.search("Fram", 1, "dense").passages
        assert clew.open(tmp_path / "index").search("Fram", 1, "dense").passages
        spent = factory.budget.spent
        assert spent.input_tokens == 7 * spent.calls
        assert spent.cost == pytest.approx(0.007 * spent.calls)
        assert 2 <= spent.calls <= len(server.requests)


def test_a_budget_ends_the_run_and_a_limit_on_cost_needs_a_price(tmp_path: Path) -> None:
    with model_server(script()) as server:
        encoder = opened(server.url)
        encoder.spend_from(Budget(max_tokens=50), Prices())
        encoder.encode(["Fram"])
        with pytest.raises(clew.BudgetError, match="the budget of 50 tokens is reached"):
            encoder.encode(["x" * 100])
        with pytest.raises(clew.InputError, match="no price of openai:small is known"):
            encoder.spend_from(Budget(max_cost=1.0), Prices())


class _Ollama(BaseHTTPRequestHandler):
    tags: ClassVar[Any] = {"models": [{"name": "nomic:latest", "digest": "0123456789abcdef0123"}]}

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(self.tags if self.path == "/api/tags" else {})

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self._send({"embeddings": [vector(text) for text in texts], "prompt_eval_count": 3})

    def _send(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_ollama_s_protocol_and_the_digest_of_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Ollama)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        encoder = open_encoder(f"ollama-embeddings:nomic@{url}")
        np.testing.assert_array_equal(encoder.encode(["Fram", "Oslo"]), unit(["Fram", "Oslo"]))
        assert encoder.fingerprint == f"ollama-embeddings-nomic-0123456789abcdef-{WIDTH}"
        absent = RemoteEncoder("ollama-embeddings", f"other@{url}", OllamaEmbeddings())
        with pytest.raises(clew.ProviderError, match="Ollama has no model 'other': run ollama pull other"):
            _ = absent.fingerprint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
