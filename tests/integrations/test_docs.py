"""The examples of docs/integrations.md run where their libraries are installed."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES
from tests.small_index import make_index

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
PACKAGES = {
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "haystack": "haystack",
    "pyterrier": "pyterrier",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("docs")
    make_index(made / "my-index", ()).add([EXAMPLES / "polar"])
    return made


@pytest.mark.parametrize("number", range(4))
def test_an_example_runs(number: int, folder: Path) -> None:
    adapter = next(name for name in PACKAGES if f".integrations.{name} " in BLOCKS[number])
    if find_spec(PACKAGES[adapter]) is None:
        pytest.skip(f"{adapter} is not installed; make test-neighbours installs it")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HAYSTACK_TELEMETRY_ENABLED": "False"}
    command = [sys.executable, "-c", BLOCKS[number]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
