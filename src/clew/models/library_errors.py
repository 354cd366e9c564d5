"""Exceptions of model libraries, mapped to `ProviderError`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clew.errors import ProviderError


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message; its repr where the message is empty."""
    return (str(error).strip() or repr(error)).splitlines()[0]


@contextmanager
def map_load_errors(explain: Callable[[str], str]) -> Iterator[None]:
    """Map what loading a model raises to a ProviderError; `explain` makes its message from the library's first line."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise ProviderError(explain(first_line(error))) from error
