"""What Windows and macOS lack is not needed: modules of POSIX, functions of `os`, and paths without a drive."""

import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest

import clew
from clew.indexing.extraction.registry import EXTRACTORS
from clew.retrievers.registry import parse_retriever
from clew.store.location import locate

ROOT = Path(__file__).parent.parent.parent
WINDOWS_INDEX = str(PureWindowsPath("D:", "/", "corpora", "my index"))


@pytest.mark.slow
def test_everything_is_imported_and_works_without_posix(tmp_path: Path) -> None:
    script = Path(__file__).parent / "as_windows.py"
    command = [sys.executable, "-W", "ignore", str(script), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Karlskrona" in done.stdout
    assert "clean: every passage reads back" in done.stdout


def test_an_index_on_a_drive_is_a_folder_and_no_address() -> None:
    assert not locate(WINDOWS_INDEX).remote
    assert locate("file:///srv/my%20index").table == "/srv/my index/passages.lance"


def test_a_drive_in_a_setting_is_no_separator() -> None:
    spec = parse_retriever(rf"gfm:weights={WINDOWS_INDEX}\w")
    assert isinstance(spec, clew.GFM)
    assert PureWindowsPath(str(spec.weights)) == PureWindowsPath(rf"{WINDOWS_INDEX}\w")
    kind, _, argument = rf"published:{WINDOWS_INDEX}\triples.jsonl".partition(":")
    assert kind in EXTRACTORS
    assert PureWindowsPath(argument).drive == "D:"
