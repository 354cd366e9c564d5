"""The search for unreachable objects around one question."""

import gc

import pytest

from clew.commands import pause_collection


@pytest.mark.parametrize("enabled", [True, False])
def test_a_pause_leaves_collection_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pause_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        gc.unfreeze()
        (gc.enable if before else gc.disable)()
