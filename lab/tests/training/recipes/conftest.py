"""The fixtures of `tests.training.recipes.conftest`."""

from tests.training.recipes.conftest import data

__all__ = ["data"]
