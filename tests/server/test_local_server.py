"""A running server that commands of the same user ask: how it is found, proved and believed, and equal output."""

import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import clew
from clew.commands.warm_server import hash_search_settings, open_warm_server
from clew.index import Index
from clew.server.http.app import make_app, make_state
from clew.server.local_questions import (
    LocalQuestion,
    LocalResult,
    answer_question,
    decode_record,
    encode_result,
)
from clew.server.local_server import announce_server, find_server, forget_server, prove
from clew.server.open_indexes import OpenVersion
from clew.settings import Settings, load_settings
from clew.types import AgentStep, Answer, Evidence, Place, PlaceStart, Scored
from tests.faults.commands import run_clew
from tests.rendering.results import make_answer, make_evidence
from tests.server.serving import OPTIONS, server_process
from tests.small_index import make_index

QUESTION = "Where was the commander of the Vega born?"
TOKEN = "f" * 64
ADDRESS = ("127.0.0.1", 1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CLEW_SERVER", raising=False)
    return tmp_path / "cache"


def announced(cache: Path) -> list[Path]:
    return sorted((cache / "servers").glob("*"))


def test_a_server_is_found_while_it_runs_by_any_path_to_its_index(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with announce_server({"a": str(tmp_path / "there")}, ADDRESS, TOKEN, "hash"):
        found = find_server(str(tmp_path / "link"), "hash")
        assert found is not None
        assert (found.host, found.port, found.index, found.token) == (*ADDRESS, "a", TOKEN)
        assert find_server(str(tmp_path / "there"), "other settings") is None
        assert find_server(str(tmp_path / "elsewhere"), "hash") is None
        (file,) = announced(cache)
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert announced(cache) == []


def test_the_end_of_one_server_leaves_the_file_of_another(cache: Path, tmp_path: Path) -> None:
    with announce_server({"a": str(tmp_path)}, ADDRESS, "1" * 64, "hash"):
        with announce_server({"b": str(tmp_path)}, ADDRESS, "2" * 64, "hash"):
            pass
        assert announced(cache) == []
        with announce_server({"b": str(tmp_path)}, ADDRESS, "2" * 64, "hash"):
            found = find_server(str(tmp_path), "hash")
            assert found is not None
            forget_server(str(tmp_path), replace(found, token="1" * 64))
            assert find_server(str(tmp_path), "hash") == found


@pytest.mark.skipif(os.name != "posix", reason="there are no modes of files")
def test_what_others_could_have_written_is_not_believed(cache: Path, tmp_path: Path) -> None:
    with announce_server({"a": str(tmp_path)}, ADDRESS, TOKEN, "hash"):
        (file,) = announced(cache)
        for path in (file, file.parent):
            mode = path.stat().st_mode
            path.chmod(mode | 0o020)
            assert find_server(str(tmp_path), "hash") is None
            path.chmod(mode)
        copy = tmp_path / "copy.json"
        copy.write_bytes(file.read_bytes())
        copy.chmod(0o600)
        file.unlink()
        file.symlink_to(copy)
        assert find_server(str(tmp_path), "hash") is None
    (cache / "servers").chmod(0o777)
    with pytest.raises(PermissionError), announce_server({"a": str(tmp_path)}, ADDRESS, TOKEN, "hash"):
        pass


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"host": 5}', "\xff", "x" * 100_000])
def test_a_file_of_another_form_is_none(cache: Path, tmp_path: Path, text: str) -> None:
    with announce_server({"a": str(tmp_path)}, ADDRESS, TOKEN, "hash"):
        (file,) = announced(cache)
        file.write_text(text, encoding="latin-1")
        assert find_server(str(tmp_path), "hash") is None


def test_a_result_comes_back_whole() -> None:
    evidence = replace(
        make_evidence(), topics=("Vega",), steps=(AgentStep("q", ("a",), usage=clew.types.Usage(0.25, 1)),)
    )
    first = replace(evidence.passages[0].item, places=(PlaceStart(0, Place(page=3)), PlaceStart(9, Place(line=2))))
    evidence = replace(evidence, passages=(Scored(first, 0.5), *evidence.passages[1:]))
    answer = replace(make_answer(evidence), candidates=(Scored("Karlskrona", 0.1 + 0.2),), weak=True)
    for result in (LocalResult("bm25", evidence=evidence), LocalResult("gfm", answer=answer)):
        sent = json.loads(json.dumps(encode_result(result)))
        assert decode_record(LocalResult, sent) == result
    with pytest.raises((KeyError, TypeError)):
        decode_record(LocalQuestion, {"kind": "search"})


def timeless(found: Evidence) -> Evidence:
    return replace(found, usage=replace(found.usage, seconds=0.0))


@pytest.mark.parametrize("retriever", ["auto", "bm25", "frag"])
@pytest.mark.parametrize("where", [None, "lang = 'en'"])
@pytest.mark.parametrize("strict", [False, True])
def test_the_server_finds_what_the_index_does(
    small: Index, plain_folder: Path, retriever: str, where: str | None, strict: bool
) -> None:
    asked = LocalQuestion("search", QUESTION, retriever, 4, where, strict)
    result = answer_question(OpenVersion("small", clew.open(plain_folder)), asked)
    chosen = small.restrict(where) if strict and where else small
    expected = chosen.search(QUESTION, 4, retriever, None if strict else where)
    assert result.evidence is not None
    assert timeless(result.evidence) == timeless(expected)


@pytest.fixture
def local(plain_folder: Path) -> Iterator[TestClient]:
    state = make_state({"small": str(plain_folder)}, clew.open, OPTIONS)
    with TestClient(make_app(state, TOKEN), base_url="http://127.0.0.1") as client:
        yield client


def test_the_routes_ask_for_the_token(local: TestClient, small: Index) -> None:
    body: dict[str, Any] = asdict(LocalQuestion("ask", QUESTION, "bm25", 3))
    assert local.post("/local/questions?index=small", json=body).status_code == 403
    headers = {"Clew-Token": TOKEN}
    assert local.post("/local/questions?index=small", json={}, headers=headers).status_code == 400
    assert local.post("/local/questions?index=none", json=body, headers=headers).status_code == 404
    reply = local.post("/local/questions?index=small", json=body, headers=headers)
    answer: Answer = decode_record(LocalResult, reply.json()).answer
    expected = small.ask(QUESTION, 3, "bm25")
    assert (answer.text, answer.citations) == (expected.text, expected.citations)
    nonce = "0" * 32
    assert local.get(f"/local/proof?nonce={nonce}").json() == {"proof": prove(TOKEN, nonce)}
    assert TOKEN not in local.get("/openapi.json").text
    assert "/local" not in local.get("/openapi.json").text


def test_an_index_that_was_deleted_or_replaced_is_not_answered_from(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first, second = (
        clew.Document(id=name, title="A boat", text=f"{name} was built in Leith.") for name in ("Alba", "Bera")
    )
    make_index(folder, [first])
    headers, body = {"Clew-Token": TOKEN}, asdict(LocalQuestion("search", "Which boat was built in Leith?", "bm25", 3))
    state = make_state({"boats": str(folder)}, clew.open, OPTIONS)
    with TestClient(make_app(state, TOKEN), base_url="http://127.0.0.1") as client:

        def ask() -> tuple[int, list[str]]:
            reply = client.post("/local/questions?index=boats", json=body, headers=headers)
            if reply.status_code != 200:
                return reply.status_code, []
            evidence = decode_record(LocalResult, reply.json()).evidence
            return 200, [scored.item.document_id for scored in evidence.passages]

        assert ask() == (200, ["Alba"])
        shutil.rmtree(folder)
        assert ask()[0] >= 400
        make_index(folder, [second])  # of the same version as the first
        assert ask() in ((200, ["Bera"]), (503, []))
        assert ask()[1] != ["Alba"]


@contextmanager
def impostor(proof: str) -> Iterator[tuple[int, list[str]]]:
    """Listen in place of a server that has ended; yield the port, and what was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(proof.encode())

        def do_POST(self) -> None:
            asked.append(self.path)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("proof", ['{"proof": "0"}', "[]", "nonsense", '{"proof": null}'])
def test_who_cannot_prove_the_token_is_told_no_question(plain_folder: Path, proof: str) -> None:
    settings = load_settings()
    with (
        impostor(proof) as (port, asked),
        announce_server({"a": str(plain_folder)}, ("127.0.0.1", port), TOKEN, hash_search_settings(settings)),
    ):
        with open_warm_server(str(plain_folder), settings) as server:
            assert server is None
        done = run_clew("search", QUESTION, "--index", plain_folder, "--retriever", "bm25")
    assert (done.code, done.err) == (0, "")
    assert all(path.startswith("/local/proof?nonce=") for path in asked)


def test_a_stale_file_is_removed_and_the_command_goes_on(cache: Path, plain_folder: Path) -> None:
    with announce_server({"a": str(plain_folder)}, ADDRESS, TOKEN, hash_search_settings(load_settings())):
        done = run_clew("search", QUESTION, "--index", plain_folder, "--retriever", "bm25")
        assert (done.code, done.err) == (0, "")
        assert announced(cache) == []


def test_switched_off_or_with_other_settings_no_server_is_asked(plain_folder: Path) -> None:
    hashed = hash_search_settings(load_settings())
    assert hash_search_settings(Settings(k=9, retriever="bm25")) == hashed
    assert hash_search_settings(Settings(linker="embedding")) != hashed
    with impostor("{}") as (port, asked):
        with announce_server({"a": str(plain_folder)}, ("127.0.0.1", port), TOKEN, hashed):
            with open_warm_server(str(plain_folder), Settings(server="off")) as server:
                assert server is None
            own = ("search", QUESTION, "--index", plain_folder, "--retriever")
            for options in (("bm25", "--no-server"), ("bm25", "--device", "cpu"), ("gear:reader=local",)):
                assert run_clew(*own, *options).code == 0
            assert run_clew(*own, "bm25", "--rerank", "none").code == 0
        assert asked == []


def plain(out: str) -> str:
    return re.sub(r'"seconds": [\d.e-]+', "", out)


def test_commands_print_the_same_with_a_server_as_without(cache: Path, plain_folder: Path) -> None:
    """One process is started, since its signals and its end are what is tested."""
    with server_process(f"small={plain_folder}") as (process, _):
        for command in (
            ("search", QUESTION),
            ("search", QUESTION, "--json", "--where", "lang = 'en'"),
            ("search", QUESTION, "--where", "year = 'x'"),
            ("ask", QUESTION, "--json"),
            ("ask", QUESTION, "-k", "2"),
        ):
            arguments = (*command, "--index", plain_folder, "--retriever", "bm25")
            warm, own = run_clew(*arguments), run_clew(*arguments, "--no-server")
            assert f"asked clew serve, process {process.pid}" in warm.err
            assert own.err == ""
            assert plain(warm.out) == plain(own.out)
        script = b"Who commanded the Vega?\nand where was he born?\n:retriever bm25\n:sources\n"
        warm, own = (run_clew("chat", plain_folder, *more, stdin=script) for more in ((), ("--no-server",)))
        assert warm.err.count("asked clew serve") == 1
        assert plain(warm.out) == plain(own.out)
        wrong = ("search", QUESTION, "--index", plain_folder, "--where", "(")
        assert run_clew(*wrong) == run_clew(*wrong, "--no-server")
        assert len(announced(cache)) == 1
        with open_warm_server(str(plain_folder), load_settings()) as connected:
            assert connected is not None
            for _ in range(2):
                assert connected.ask(LocalQuestion("search", QUESTION, "bm25", 2)) is not None
                connected._connection.close()  # as the server does with one that is idle
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        assert announced(cache) == []


def test_a_server_with_keys_is_not_announced(cache: Path, plain_folder: Path, tmp_path: Path) -> None:
    run_clew("keys", "add", "--keys", tmp_path / "keys.json")
    with server_process(f"small={plain_folder}", "--keys", str(tmp_path / "keys.json")):
        assert announced(cache) == []
