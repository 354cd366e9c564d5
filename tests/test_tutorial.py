"""The tutorial and the notebooks do what they say: their commands and cells run, in order, in a folder of their own.

A `text` block of the tutorial after commands shows lines that they print, in their order, but for decimal figures.
"""

import contextlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.faults.commands import run_clew

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
FENCE = re.compile(r"^```(?P<kind>sh|python|text)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"\d+\.\d+")


def run_script(body: str, place: Path) -> tuple[str, dict[str, Any]]:
    """Run Python in this process, which has loaded what each would load anew; return what it prints, and its names."""
    place.write_text(body, encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        names = runpy.run_path(str(place), run_name="script")
    return printed.getvalue(), names


def run_line(line: str) -> str:
    """Run a line of the shell, one of `clew` in this process; return what it prints."""
    if line.startswith("clew "):
        done = run_clew(*shlex.split(line)[1:])
        assert done.code == 0, f"{line}\n{done.err}"
        return done.out
    return subprocess.run(["bash", "-e", "-c", line], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX shell")
def test_every_command_of_the_tutorial_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "work" / "examples")
    monkeypatch.chdir(tmp_path / "work")
    blocks = [(match["kind"], match["body"]) for match in FENCE.finditer(TUTORIAL.read_text(encoding="utf-8"))]
    blocks = blocks[[kind for kind, _ in blocks].index("sh") :]  # before it stands how to install
    printed, latest = "", ""
    for kind, body in blocks:
        if kind == "text":
            assert_shown_lines_are_printed(body, latest)
        elif kind == "python":
            latest, _ = run_script(body, tmp_path / "block.py")
        else:
            latest = "".join(map(run_line, body.splitlines()))
        printed += latest if kind != "text" else ""
    assert len(blocks) >= 12
    for text in ("121 added", "121 unchanged", "Dulwich College", "Edward Alleyn", "Aberdeen", "removed 1 document"):
        assert text in printed


def assert_shown_lines_are_printed(shown: str, printed: str) -> None:
    """Check that each shown line but `...` is printed, after the one shown before it."""
    lines = iter(FIGURE.sub("#", printed).splitlines())
    for line in FIGURE.sub("#", shown).splitlines():
        assert line == "..." or line in lines, f"not printed, or not in this order: {line}"


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_in_order(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples" / "notebooks")  # Jupyter works in the folder of the notebook
    printed, _ = run_script("\n\n".join(code_of(notebook)), tmp_path / "notebook.py")
    assert len(printed.splitlines()) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_finds_the_articles_from_their_folder(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples")
    _, names = run_script(code_of(notebook)[0], tmp_path / "notebook.py")
    assert len(names["index"]) > 100
    names["index"].close()
    names["folder"].cleanup()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_no_output_and_no_magic(notebook: Path) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert not any(line.startswith(("%", "!")) for cell in code for line in cell["source"])
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])


def code_of(notebook: Path) -> list[str]:
    """Return the cells of code of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
