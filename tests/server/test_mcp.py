"""The tools of assistants, by the client of the SDK: over standard input, and over HTTP."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import clew
from clew.index import Index
from tests.server.serving import make_key, server_process
from tests.small_index import DOCUMENTS, make_index

T = TypeVar("T")
QUESTION = "Where was the commander of the Vega born?"
READING = {"search", "ask", "read", "connect", "entity", "about", "recall"}


def over_stdio(folder: Path, use: Callable[[Client], Awaitable[T]], mode: str = "read") -> T:
    """Return what a client gets of `clew serve --stdio` in another process."""
    arguments = ["-m", "clew", "serve", f"small={folder}", "--stdio", mode]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))

    async def run() -> T:
        async with Client(stdio_client(parameters)) as client:
            return await use(client)

    return asyncio.run(run())


def over_http(url: str, key: str, use: Callable[[Client], Awaitable[T]]) -> T:
    """Return what a client gets of a server's tools."""

    async def run() -> T:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            return await use(client)

    return asyncio.run(run())


async def call(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


async def use_all(client: Client) -> dict[str, Any]:
    """Return what each tool gives."""
    tools = await client.list_tools()
    refused = await client.call_tool("read", {"passage_id": "none"})
    wrong = await client.call_tool("search", {"question": "a", "k": "many"})
    return {
        "tools": {tool.name for tool in tools.tools},
        "typed": all(tool.output_schema for tool in tools.tools),
        "search": await call(client, "search", question=QUESTION, k=3),
        "ask": await call(client, "ask", question=QUESTION),
        "read": await call(client, "read", passage_id="palander"),
        "connect": await call(client, "connect", start="Vega (ship)", end="Karlskrona"),
        "entity": await call(client, "entity", name="louis palander"),
        "about": await call(client, "about", index="small"),
        "refused": (refused.is_error, refused.content[0].text),  # type: ignore[union-attr]
        "wrong": (wrong.is_error, wrong.content[0].text),  # type: ignore[union-attr]
    }


def check(found: dict[str, Any], small: Index) -> None:
    expected = small.search(QUESTION, 3)
    assert found["typed"]
    assert [p["id"] for p in found["search"]["passages"]] == [p.item.id for p in expected.passages]
    answer = small.ask(QUESTION)
    assert found["ask"]["answer"] == answer.text
    assert [q["quote"] for q in found["ask"]["quotes"]] == [c.quote for c in answer.citations]
    text = small.snapshot.texts[small.snapshot.position("palander")]
    assert found["read"]["text"] == text
    assert found["connect"]["paths"][0]["entities"] == ["Vega (ship)", "Louis Palander", "Karlskrona"]
    assert found["connect"]["paths"][0]["steps"][0]["quote"]
    assert found["entity"]["name"] == "Louis Palander"
    assert found["about"]["documents"] == len(DOCUMENTS)
    assert found["refused"][0]
    assert "there is no passage 'none' here" in found["refused"][1]
    assert found["wrong"][0]
    assert found["wrong"][1].startswith("search: k: ")
    assert "'many'" in found["wrong"][1]
    assert "pydantic" not in found["wrong"][1]
    assert "\n" not in found["wrong"][1]


def test_over_standard_input(plain_folder: Path, small: Index) -> None:
    found = over_stdio(plain_folder, use_all)
    assert found["tools"] == READING
    check(found, small)


@pytest.mark.slow
def test_over_http_behind_a_key(plain_folder: Path, small: Index, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    reader, narrow = make_key(keys), make_key(keys, indexes=["small"], where="lang = 'de'")

    async def read_only(client: Client) -> tuple[Any, Any]:
        hidden = await client.call_tool("read", {"passage_id": "palander", "index": "small"})
        added = await client.call_tool("add", {"text": "a", "index": "small"})
        return hidden, added

    with server_process(f"small={plain_folder}", "--keys", str(keys)) as (_, client):
        url = str(client.base_url)
        found = over_http(url, reader, use_all)
        check(found, small)
        hidden, added = over_http(url, narrow, read_only)
        assert hidden.is_error
        assert "there is no passage 'palander' here" in hidden.content[0].text
        assert added.is_error
        assert "this key may not write" in added.content[0].text
        assert client.post("/mcp", json={}).status_code == 401


async def remember_and_forget(client: Client) -> None:
    given = {"text": "My dog is called Rex.", "user": "arne", "time": "2024-04-02"}
    made = await call(client, "remember", **given)
    found = await call(client, "recall", question="Who has a dog?", user="arne")
    assert found["turns"] == [{"id": made["id"], "speaker": "arne", "time": "2024-04-02", "text": given["text"]}]
    assert not (await call(client, "recall", question="Who has a dog?", user="ilse"))["turns"]
    assert (await call(client, "forget", user="arne"))["turns"] == 1
    assert not (await call(client, "recall", question="Who has a dog?", user="arne"))["turns"]


@pytest.mark.slow
def test_tools_that_write_are_there_where_they_are_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    make_index(folder, DOCUMENTS[:3])

    async def write(client: Client) -> tuple[set[str], dict[str, Any], dict[str, Any], dict[str, Any]]:
        await remember_and_forget(client)
        names = {tool.name for tool in (await client.list_tools()).tools}
        added = await call(client, "add", text="Zorg was launched by Ada Quux.", title="Zorg", id="zorg")
        found = await call(client, "search", question="Who launched the Zorg?", k=1)
        return names, added, found, await call(client, "remove", id="zorg")

    names, added, found, removed = over_stdio(folder, write, "write")
    assert names == READING | {"add", "remove", "remember", "forget"}
    assert (added["status"], removed["status"]) == ("done", "done")
    assert found["passages"][0]["id"] == "zorg"
    assert "zorg" not in clew.open(folder).table.stored_documents()


@pytest.mark.parametrize("options", [["small"], ["small=a", "small=b"]])
def test_indexes_have_names(options: list[str]) -> None:
    from tests.faults.commands import run_clew

    assert run_clew("serve", "--stdio", "read", *options).code == 2
