"""The files of the page: served without a key, the vendored library as it was published, and no HTML made of text."""

import hashlib
import re

from fastapi.testclient import TestClient

from clew.server.http.routes.page import FOLDER, VIEWS


def test_every_view_and_all_that_it_loads_is_served(client: TestClient) -> None:
    for view in VIEWS:
        reply = client.get(view)
        assert reply.status_code == 200
        for path in re.findall(r'(?:src|href)="(/page/[^"]+)"', reply.text):
            assert client.get(path).status_code == 200, path
    for script in FOLDER.glob("js/*.js"):
        for path in re.findall(r'from "(\./[^"]+|/page/[^"]+)"', script.read_text(encoding="utf-8")):
            assert client.get(path if path.startswith("/") else f"/page/js/{path[2:]}").status_code == 200, path


def test_the_vendored_library_is_as_published() -> None:
    for line in (FOLDER / "vendor" / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((FOLDER / "vendor" / name).read_bytes()).hexdigest() == digest


def test_no_script_of_the_page_reads_text_as_html() -> None:
    for script in FOLDER.glob("js/*.js"):
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text), (
            script.name
        )
