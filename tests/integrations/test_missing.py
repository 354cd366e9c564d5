"""An adapter whose library is not installed is one clear line, and nothing else of Clew needs the library."""

import importlib
import sys

import pytest

import clew

NEIGHBOURS = {
    "langchain": "langchain_core",
    "llamaindex": "llama_index",
    "haystack": "haystack",
}


@pytest.mark.parametrize(("adapter", "package"), NEIGHBOURS.items())
def test_a_missing_library_is_named_with_its_extra(adapter: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"clew.integrations.{adapter}", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(clew.MissingPackageError, match=rf"{package}.*: run pip install 'clew\[{adapter}\]'"):
        importlib.import_module(f"clew.integrations.{adapter}")
