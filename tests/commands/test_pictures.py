"""`--svg` and `--html` of `clew search` and `clew ask`."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.commands.refusals import check_refused
from tests.faults.commands import run_clew
from tests.small_index import DOCUMENTS, make_index

QUESTION = "Where was the commander of the Vega born?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures") / "index"
    make_index(folder, DOCUMENTS[:6])
    return folder


@pytest.mark.parametrize("command", ["search", "ask"])
def test_files_are_written_beside_what_is_printed(command: str, folder: Path, tmp_path: Path) -> None:
    drawing, page = tmp_path / "a.svg", tmp_path / "a.html"
    common = (command, QUESTION, "--index", str(folder), "--retriever", "bm25")
    done = run_clew(*common, "--svg", str(drawing), "--html", str(page))
    assert (done.code, done.out) == (0, run_clew(*common).out)
    assert ET.fromstring(drawing.read_text(encoding="utf-8")).attrib["aria-label"].endswith(QUESTION)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert f"<h1>{QUESTION}</h1>" in text
    assert "Palander" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--svg", "no/folder/a.svg"), "--svg is 'no/folder/a.svg', and there is no folder no/folder"),
        (("--html", "."), "--html is '.', which is a folder"),
        (("--svg", "a", "--html", "a"), "--svg and --html are both 'a': name two files"),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_search(options: tuple[str, ...], message: str) -> None:
    check_refused(run_clew("search", QUESTION, "--index", "none-at-all", *options), message)
