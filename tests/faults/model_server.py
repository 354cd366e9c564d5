"""A local server with OpenAI's protocol, whose replies are scripted by a test."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass(frozen=True)
class ServerReply:
    """The server's reaction to one request.

    Attributes:
        text: Text of the reply.
        status: HTTP status; one other than 200 sends an error.
        headers: Additional headers.
        delay: Seconds before anything is sent, unless the server is closed earlier.
        truncate: Whether to close the connection in the middle of the body.
        byte_delay: Seconds after each byte of the body.
        finish_reason: "stop", "length" or "content_filter".
        refusal: Refusal that is sent in place of a text.
        tokens: Input and output tokens that the server states; None for a server that does not count.
        body: Body that is sent in place of a reply, text or bytes.
        content_type: Content type of the body.
    """

    text: str = "{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    truncate: bool = False
    byte_delay: float = 0.0
    finish_reason: str = "stop"
    refusal: str = ""
    tokens: tuple[int, int] | None = (10, 5)
    body: str | bytes | None = None
    content_type: str = "application/json"


Script = Callable[[Request, int], ServerReply]
"""Function of a request and the number of requests before it, returning the reply."""


@dataclass
class RunningServer:
    """A running server.

    Attributes:
        url: Base URL.
        requests: Requests in the order in which they came.
        times: Time of each request, by the monotonic clock.
        max_concurrent: Maximum number of concurrent requests.
        closing: Set when the block ends.
    """

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    max_concurrent: int = 0
    active: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    def sent_texts(self) -> list[str]:
        """Return the text sent to the model in each request."""
        return ["\n".join(str(message["content"]) for message in request["messages"]) for request in self.requests]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client went away between two requests
            super().handle_error(request, client_address)


@contextmanager
def model_server(script: Script) -> Iterator[RunningServer]:
    """Run a server during the block."""
    played = RunningServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request["path"] = self.path
            request["authorization"] = self.headers.get("Authorization", "")
            request["headers"] = dict(self.headers.items())
            with played.lock:
                number = len(played.requests)
                played.requests.append(request)
                played.times.append(time.monotonic())
                played.active += 1
                played.max_concurrent = max(played.max_concurrent, played.active)
            try:
                part = script(request, number)
                played.closing.wait(part.delay)
                self._play(request, part)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client went away, as it may
            finally:
                with played.lock:
                    played.active -= 1

        def _play(self, request: Request, part: ServerReply) -> None:
            if part.status != 200:
                self._send(part, part.body or json.dumps({"error": {"message": part.text, "type": "error"}}))
            elif request.get("stream") and part.body is None:
                self._send(part, stream_body(request, part), "text/event-stream")
            else:
                self._send(part, part.body if part.body is not None else json.dumps(completion_body(request, part)))

        def _send(self, part: ServerReply, body: str | bytes, kind: str = "") -> None:
            payload = body if isinstance(body, bytes) else body.encode()
            self.send_response(part.status)
            self.send_header("Content-Type", kind or part.content_type)
            self.send_header("Content-Length", str(len(payload)))
            for name, value in part.headers.items():
                self.send_header(name, value)
            self.end_headers()
            payload = payload[: len(payload) // 2] if part.truncate else payload
            pieces = (payload[i : i + 1] for i in range(len(payload))) if part.byte_delay else (payload,)
            for piece in pieces:
                self.wfile.write(piece)
                played.closing.wait(part.byte_delay)
            if part.truncate:
                self.close_connection = True

    server = _Server(("127.0.0.1", 0), Handler)
    played.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield played
    finally:
        played.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def completion_body(request: Request, part: ServerReply) -> dict[str, Any]:
    """Return the body of a whole reply."""
    message: dict[str, Any] = {"role": "assistant", "content": part.text}
    if part.refusal:
        message |= {"content": None, "refusal": part.refusal}
    return {
        "id": "reply-1",
        "object": "chat.completion",
        "created": 1,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": part.finish_reason}],
        **_usage(part),
    }


def stream_body(request: Request, part: ServerReply) -> str:
    """Return the body of a reply streamed in pieces of a few letters."""
    head = {"id": "reply-1", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
    field_name, text = ("refusal", part.refusal) if part.refusal else ("content", part.text)
    deltas = [{"role": "assistant", field_name: text[i : i + 7]} for i in range(0, len(text), 7)]
    chunks: list[dict[str, Any]] = [
        head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": part.finish_reason}], **_usage(part)})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def _usage(part: ServerReply) -> dict[str, Any]:
    if part.tokens is None:
        return {}
    tokens_in, tokens_out = part.tokens
    return {"usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": sum(part.tokens)}}
