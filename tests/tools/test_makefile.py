"""What `make clean` removes: the environment that `make` has installed into, wherever it is, and no other."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("src", "lab", "tests", "bench", "examples", "docs", ".venv", "environment"):
        (tmp_path / name).mkdir()
    for name in (".venv", "environment"):
        (tmp_path / name / "pyvenv.cfg").touch()
    return tmp_path


def test_clean_removes_the_environment_that_make_installed_into(clone: Path) -> None:
    for name in (".venv", "environment"):
        (clone / name / "installed").touch()
    subprocess.run(["make", "clean", "VENV=environment"], cwd=clone, check=True)
    assert not (clone / "environment").exists()
    assert (clone / ".venv").exists()


def test_clean_leaves_a_folder_that_make_did_not_install_into(clone: Path) -> None:
    subprocess.run(["make", "clean", "VENV=environment"], cwd=clone, check=True)
    assert (clone / "environment").exists()
