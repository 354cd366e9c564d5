"""A real Chromium, and servers whose page it opens; skipped where either is missing."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.server.serving import server_process
from tests.small_index import DOCUMENTS, make_index

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Chromium without a window; it is closed after its module, since its driver runs an event loop in this thread."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """A new page; an error of a script, or something that the content policy blocks, fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(120_000)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
    yield opened
    context.close()
    assert not errors


@pytest.fixture(scope="module")
def site(plain_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server of the small index, `small`, one that takes documents, `new`, and one that is empty."""
    folder = tmp_path_factory.mktemp("site")
    make_index(folder / "new", DOCUMENTS[:3])
    make_index(folder / "empty", [])
    named = {"small": plain_folder, "new": folder / "new", "empty": folder / "empty"}
    with server_process(*(f"{name}={at}" for name, at in named.items())) as (_, client):
        yield str(client.base_url)
