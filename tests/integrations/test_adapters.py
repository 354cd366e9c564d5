"""All adapters: what they share, examples that run where a library is installed, and one line where it is not."""

import importlib
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import clew
from clew.integrations.passages import passage_fields, scored_fields
from clew.types import Passage, Place, PlaceStart, Scored
from tests.conftest import EXAMPLES
from tests.small_index import make_index

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
ADAPTERS = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}
PACKAGES = {**ADAPTERS, "pyterrier": "pyterrier"}


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


@pytest.mark.parametrize(("adapter", "package"), ADAPTERS.items())
def test_a_missing_library_is_named_with_its_extra(adapter: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"clew.integrations.{adapter}", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(clew.MissingPackageError, match=rf"{package}.*: run pip install 'clew\[{adapter}\]'"):
        importlib.import_module(f"clew.integrations.{adapter}")


def made(*places: PlaceStart, **metadata: object) -> Passage:
    return Passage("d#1", "d", "Vega", "One.\nTwo.", 10, 19, metadata, places)


def test_fields_say_where_a_passage_begins_in_its_source() -> None:
    places = (PlaceStart(0, Place(page=3, heading="Guide > Crew")), PlaceStart(5, Place(page=4)))
    own = {"passage_id": "d#1", "document_id": "d", "title": "Vega", "start": 10, "end": 19}
    assert passage_fields(made(*places, lang="en")) == {"lang": "en", "page": 3, "heading": "Guide > Crew", **own}
    assert scored_fields(Scored(made(PlaceStart(0, Place(slide=2))), 0.5)) == {"slide": 2, **own, "score": 0.5}


def test_a_source_without_places_has_none_and_its_metadata_stay() -> None:
    assert set(passage_fields(made())) == {"passage_id", "document_id", "title", "start", "end"}
    assert passage_fields(made(page=7))["page"] == 7
    assert passage_fields(made(PlaceStart(0, Place(page=3)), page=7, title="other"))["page"] == 3
    assert passage_fields(made(title="other"))["title"] == "Vega"
