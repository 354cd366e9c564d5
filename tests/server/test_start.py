"""The start of a server: what it refuses, before it begins with anything, and what it does not load."""

import socket
from pathlib import Path

import pytest

from clew.commands.serving import listen, page_address
from clew.server.records import NewDocument
from clew.server.uploads.spool import Spool
from tests.commands.refusals import check_refused
from tests.faults.commands import run_clew
from tests.faults.python_process import run_python
from tests.small_index import DOCUMENTS, make_index


def test_a_location_without_an_index_is_refused(plain_folder: Path, tmp_path: Path) -> None:
    refused = run_clew("serve", f"small={plain_folder}", f"polar={tmp_path / 'none'}", "--port", "0")
    check_refused(refused, "there is no index there")
    assert len(refused.err.strip().splitlines()) == 1
    assert not (tmp_path / "none").exists()


def test_a_taken_port_is_refused_before_a_job_is_taken_up(tmp_path: Path) -> None:
    make_index(tmp_path / "index", DOCUMENTS[:1])
    spool = Spool(tmp_path / "index" / "uploads", "own")
    job = spool.accept_texts("", [NewDocument(id="a", text="One.")])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run_clew("serve", f"own={tmp_path / 'index'}", "--port", str(port))
    assert (refused.code, f"127.0.0.1:{port}" in refused.err, "--port" in refused.err) == (2, True, True)
    assert spool.find(job.id) == job


@pytest.mark.parametrize(
    ("host", "page"),
    [("127.0.0.1", "http://127.0.0.1:80/"), ("::1", "http://[::1]:80/"), ("0.0.0.0", "http://localhost:80/")],
)
def test_the_address_of_the_page_is_one_for_a_browser(host: str, page: str) -> None:
    assert page_address(host, 80) == page


def test_all_addresses_of_a_name_have_one_port() -> None:
    sockets = listen("localhost", 0)
    try:
        assert len({made.getsockname()[1] for made in sockets}) == 1
        for made in sockets:
            socket.create_connection(made.getsockname()[:2], timeout=5).close()
    finally:
        for made in sockets:
            made.close()


@pytest.mark.parametrize(
    ("program", "absent"),
    [
        (
            "from clew.commands.app import main\nsys.argv[1:] = ['search', 'Vega', '--index', place]",
            "fastapi starlette uvicorn mcp torch pandas",
        ),
        ("import clew.server.http.app\nmain = sys.exit", "mcp torch pandas"),
    ],
    ids=["search", "serve"],
)
def test_what_is_not_loaded(program: str, absent: str, plain_folder: Path) -> None:
    text = f"""
import sys
place = {str(plain_folder)!r}
{program}
try:
    main()
except SystemExit:
    pass
print([name for name in {absent.split()} if name in sys.modules])
"""
    assert run_python(text).splitlines()[-1] == "[]"
