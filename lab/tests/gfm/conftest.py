"""The fixtures of `tests.retrievers.gfm.conftest`."""

from tests.retrievers.gfm.conftest import encoder

__all__ = ["encoder"]
