"""Servers under test: the application in this process, and the command in another one."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from fastapi.testclient import TestClient

import clew
from clew.server.http.app import make_app, make_state
from clew.server.http.guard import Guard
from clew.server.http.state import ServerState
from clew.server.keys import KeyFile
from clew.server.options import ServerOptions

OPTIONS = ServerOptions(poll=0.0)


@contextmanager
def serving(
    locations: Mapping[str, Path], options: ServerOptions = OPTIONS, keys: Path | None = None, key: str = ""
) -> Iterator[TestClient]:
    """Run the application over some indexes; requests carry a key if one is given."""
    state = make_state({name: str(at) for name, at in locations.items()}, clew.open, options, keys)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with TestClient(make_app(state), base_url="http://localhost", headers=headers) as client:
        yield client


def state_of(client: TestClient) -> ServerState:
    """Return the parts of the server of a client."""
    state: ServerState = guard_of(client).app.state.clew
    return state


def guard_of(client: TestClient) -> Guard:
    """Return the application of a client."""
    assert isinstance(client.app, Guard)
    return client.app


def with_options(**values: Any) -> ServerOptions:
    """Return the options of tests with other values."""
    return replace(OPTIONS, **values)


def wait_for_job(client: TestClient | httpx.Client, index: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job once it is over."""
    for _ in range(1_200):
        found: dict[str, Any] = client.get(f"/v1/{index}/jobs/{job['id']}").json()
        if found["status"] in ("done", "failed", "cancelled"):
            return found
        time.sleep(0.05)
    raise AssertionError(f"the job is still {found['status']}")


def make_key(file: Path, **rights: Any) -> str:
    """Return a new key."""
    return KeyFile(file).add(**rights)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def server_process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run `clew serve` in another process until the block ends; yield it and a client."""
    port = free_port()
    command = [sys.executable, "-m", "clew", "serve", *arguments, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ.copy())
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        try:
            wait_until_up(process, client)
            yield process, client
        finally:
            process.kill()
            process.communicate()


def wait_until_up(process: "subprocess.Popen[str]", client: httpx.Client) -> None:
    """Return once a server answers."""
    for _ in range(1_200):
        assert process.poll() is None, process.communicate()[1]
        try:
            if client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


def read_events(text: str) -> list[tuple[str, str]]:
    """Return the events of a stream, each with its data."""
    pattern = re.compile(r"^event: (?P<name>\w+)\ndata: (?P<data>.*)$", re.MULTILINE)
    return [(match["name"], match["data"]) for match in pattern.finditer(text)]
