"""The fixtures of `tests.training.conftest`."""

from tests.training.conftest import empty_index, polar

__all__ = ["empty_index", "polar"]
