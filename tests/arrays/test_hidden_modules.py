"""Modules that imports do not find for a while."""

import sys
import threading
from importlib import import_module

import pytest

from clew.arrays.hidden_modules import hide_modules

MODULE = "xml.dom.expatbuilder"  # nothing here loads it


@pytest.fixture(autouse=True)
def _unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)


def test_a_hidden_module_is_not_found_and_then_is() -> None:
    with hide_modules([MODULE]), pytest.raises(ModuleNotFoundError, match=MODULE) as raised:
        import_module(MODULE)
    assert raised.value.name == MODULE
    assert import_module(MODULE)


def test_a_module_that_is_loaded_stays() -> None:
    import_module(MODULE)
    with hide_modules([MODULE, "sys"]):
        assert import_module(MODULE)


def test_other_threads_find_it() -> None:
    found: list[object] = []
    with hide_modules([MODULE]):
        thread = threading.Thread(target=lambda: found.append(import_module(MODULE)))
        thread.start()
        thread.join()
    assert len(found) == 1
