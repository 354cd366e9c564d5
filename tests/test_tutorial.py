"""The tutorial and the notebooks do what they say: their commands and cells run, in order, in a folder of their own.

A `text` block of the tutorial after commands shows lines that they print, in their order, but for decimal figures.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
FENCE = re.compile(r"^```(?P<kind>sh|python|text)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)

FIGURE = re.compile(r"\d+\.\d+")


def make_path(folder: Path) -> dict[str, str]:
    """Return an environment in which `clew` and `python` are those of this test, as in an activated environment."""
    programs = folder / "programs"
    programs.mkdir()
    for name, arguments in (("clew", "-m clew"), ("python", "")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    others = {name: text for name, text in os.environ.items() if not name.startswith("CLEW_")}
    return {**others, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX shell")
def test_every_command_of_the_tutorial_runs_in_order(tmp_path: Path) -> None:
    environment = make_path(tmp_path)
    folder = tmp_path / "work"
    shutil.copytree(ROOT / "examples", folder / "examples")
    blocks = [(match["kind"], match["body"]) for match in FENCE.finditer(TUTORIAL.read_text(encoding="utf-8"))]
    blocks = blocks[[kind for kind, _ in blocks].index("sh") :]  # before it stands how to install
    printed, latest = "", ""
    for kind, body in blocks:
        if kind == "text":
            assert_shown_lines_are_printed(body, latest)
            continue
        command = ["python", "-c", body] if kind == "python" else ["bash", "-e", "-c", body]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{body}\n{done.stderr}"
        latest = done.stdout
        printed += latest
    assert len(blocks) >= 12
    for text in ("121 added", "121 unchanged", "Dulwich College", "Edward Alleyn", "Aberdeen", "removed 1 document"):
        assert text in printed


def assert_shown_lines_are_printed(shown: str, printed: str) -> None:
    """Check that each shown line but `...` is printed, after the one shown before it."""
    lines = iter(FIGURE.sub("#", printed).splitlines())
    for line in FIGURE.sub("#", shown).splitlines():
        assert line == "..." or line in lines, f"not printed, or not in this order: {line}"


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".", "notebooks"])  # Jupyter works in the folder of the notebook
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_in_order(notebook: Path, folder: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    script = tmp_path / "notebook.py"
    script.write_text(as_script(notebook), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "examples" / folder,
        env=make_path(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_no_output_and_no_magic(notebook: Path) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert not any(line.startswith(("%", "!")) for cell in code for line in cell["source"])
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])


def as_script(notebook: Path) -> str:
    """Return the cells of code of a notebook as one script; the guard is for processes that import it."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code") + "\n"
